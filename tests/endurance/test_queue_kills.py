"""Workers and commands over one queue, killed hundreds of times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doubles.scripted_server import scripted_server
from tests.interfaces.killing import AT_ONCE, Killing, answer, mixed_folder

pytestmark = pytest.mark.endurance

_KILLS = 300


def test_three_hundred_kills_lose_nothing(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with scripted_server(answer) as model:
        killing = Killing(tmp_path / "home", mixed_folder(tmp_path / "files"), model, seed=1)
        killing.run(_KILLS)
        killing.finish()
        record_property("kill -9, times", dict(killing.killed))
        record_property("calls of a model, and how many were made again", (len(model.requests), killing.repeated()))
        assert killing.killed.total() > _KILLS / 2 and killing.repeated() <= AT_ONCE * killing.killed.total()
