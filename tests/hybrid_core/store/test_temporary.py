"""Folders outside the home: of this user alone, and on a disk that has room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybrid_core.errors import DiskFullError
from hybrid_core.store.home import temporary_folder, working_folder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only temporary folder that there is."""
    monkeypatch.setattr("hybrid_core.store.home._USUAL", ())
    for name in ("TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_it_is_open_to_this_user_alone(place: Path) -> None:
    folder = temporary_folder(1, "A copy")
    assert folder.parent == place and folder.stat().st_mode & 0o777 == 0o700
    assert temporary_folder(1, "A copy") == folder


@pytest.mark.parametrize("trap", ["link", "open", "file"])
def test_what_somebody_else_may_have_laid_there_is_not_used(trap: str, place: Path, tmp_path: Path) -> None:
    trapped = place / f"hybrid-pageindex-{os.geteuid()}"
    if trap == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        trapped.symlink_to(tmp_path / "elsewhere")
    elif trap == "open":
        trapped.mkdir()
        trapped.chmod(0o777)
    else:
        trapped.write_text("x")
    with pytest.raises(DiskFullError, match=r"A copy needs 1 MB in a temporary folder, .*variable TMPDIR"):
        temporary_folder(1, "A copy")


def test_where_none_has_room_the_size_and_the_places_are_named(place: Path) -> None:
    with pytest.raises(DiskFullError) as raised:
        temporary_folder(1 << 60, "A copy")
    assert f"needs {2**40 + 1} MB" in raised.value.message and f"{place} (" in raised.value.message


def test_work_stays_in_a_home_that_has_room(place: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert working_folder(home / "tmp", 1, "A copy") == home / "tmp"
    with pytest.raises(DiskFullError):
        working_folder(home / "tmp", 1 << 60, "A copy")
