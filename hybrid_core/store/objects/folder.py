"""Files in a folder of the home."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from hybrid_core.store.home import make_folder
from hybrid_core.store.objects.objects import Distant, Made, Used


class Folder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, name: str) -> Path:
        return self.folder / name[:2] / name

    def upload(self, name: str, file: Path) -> None:
        """There is nobody to upload it to."""

    def keep(self, name: str, file: Path) -> None:
        target = self.place(name)
        if not target.exists():
            make_folder(target.parent)
            file.chmod(stat.S_IRUSR)  # programs that show it must not change it
            file.replace(target)

    def confirm(self, name: str, file: Path) -> None:
        """Who deletes it does so in a transaction too."""

    def drop(self, name: str) -> None:
        self.place(name).unlink(missing_ok=True)

    def delete(self, names: Collection[str], used: Used) -> None:
        """They have been dropped."""

    def fetch(self, name: str) -> Path:
        return self.place(name)

    def distant(self, name: str) -> Distant | None:
        return None

    def names(self) -> Iterable[str]:
        return [file.name for file in self.folder.glob("*/*")]

    def link(self, name: str, seconds: int) -> str | None:
        return None

    def made(self, kind: Made, key: str) -> bytes | None:
        return None

    def keep_made(self, kind: Made, key: str, value: bytes) -> None:
        """The cache of this home has it."""
