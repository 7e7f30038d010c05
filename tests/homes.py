"""Homes whose catalogs are where the option --catalog has them: in a file, or each in a database."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hybrid_pageindex.config.settings import Settings, load_settings
from tests import postgres

VARIABLE = "PAGEINDEX_POSTGRES_URL"


def settings_of(home: Path, **given: Any) -> Settings:
    """Those of a process that begins there, with some given."""
    return replace(load_settings(home), **given)


@dataclass(frozen=True)
class OwnHome:
    """A home with a catalog of its own, which several tests may look at or have copies of."""

    path: Path
    url: str  # of its catalog's database; "": a file

    def settings(self, **given: Any) -> Settings:
        return settings_of(self.path, postgres_url=self.url, **given)

    def copied(self, path: Path) -> OwnHome:
        """Nobody may be connected to this one's database meanwhile."""
        shutil.copytree(self.path, path)
        return OwnHome(path, self.url and postgres.new_database(self.url, f"TEMPLATE {self.url.rpartition('/')[2]}"))

    def chosen(self, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Its path, when the test's engines and processes take its database for theirs."""
        monkeypatch.setitem(os.environ, VARIABLE, self.url)
        return self.path
