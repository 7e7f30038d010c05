"""A format whose files are read as far as a gate, and on once a test opens it.

So a test holds a file in the middle for as long as it looks, however fast or busy the machine is, and nobody computes
meanwhile. It comes as any package's format does, so that the processes that tests start know it too; this module is
that package, which is why it imports nothing of the tests.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.format import FileInfo, Format
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import GROUP

SUFFIX = ".gated"
PAGES = 250  # in three tasks; only the worker that has the one in the middle is held
_GATE = 150  # the page that is read once the gate is open
_NAME = "gated_files"


def install(packages: Path) -> None:
    """Make a folder one that, on the path of a process, brings it the format."""
    shutil.copyfile(__file__, packages / f"{_NAME}.py")
    info = packages / f"{_NAME}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ngated = {_NAME}:GATED\n")


def write(path: Path, gate: Path, topic: str) -> Path:
    """A file that is read to its end once the file ``gate`` is there."""
    path.write_text(f"{gate}\n{topic}\n")
    return path


class GatedFile:
    pages = PAGES

    def __init__(self, path: Path, _password: str | None, _limits: ParseLimits) -> None:
        gate, self._topic = path.read_text().split("\n")[:2]
        self._gate = Path(gate)

    def info(self) -> FileInfo:
        return FileInfo(PAGES, bookmarks=(), metadata={}, warnings=(), headings=())

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage]:
        for number in numbers:
            while number == _GATE and not self._gate.exists():
                time.sleep(0.02)
            yield ParsedPage(number, lines=(Line(f"What is said of the {self._topic} on page {number}."),))
            on_page(number)

    def close(self) -> None:
        pass


GATED = Format("gated", "gated file", (SUFFIX,), version="gated-1", open=GatedFile)
