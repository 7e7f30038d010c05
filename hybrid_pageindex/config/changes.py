"""Change settings of a running server, and write them to the configuration file of its home (data folder).

Only the owner of the server may change models, their addresses and keys. Storage settings and machine limits cannot be
changed at run time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.store.home import make_file
from hybrid_core.system import replace_file
from hybrid_core.types.requests import choices
from hybrid_pageindex.config.checking import checked
from hybrid_pageindex.config.experts import PACKS
from hybrid_pageindex.config.fields import PREFIX, AllSettings
from hybrid_pageindex.config.settings import CONFIG_FILE, Settings

CHANGEABLE = frozenset({
    "top_k", "effort", "expert", "fusion", "mmr", "route", "strategy", "answer_tokens", "answer_evidence", "vision",
    "enrich", "ocr", "ocr_languages", "monthly_spending", "monthly_tokens",
})  # fmt: skip
OF_OWNER = frozenset({
    *(f"{kind}_{what}" for kind in ("llm", "vlm") for what in ("provider", "model", "base_url", "api_key")),
    "embedding_model", "embedding_base_url", "embedding_api_key", "model_prices", "fetch_web",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting for display. A secret has the ``value`` "". ``given`` tells whether the value differs from the default.

    ``fixed`` says why it cannot be changed, "" if it can.
    """

    name: str
    value: Any
    default: Any
    help: str
    choices: tuple[str, ...]
    fixed: str
    given: bool


def shown(settings: Settings, *, owner: bool = False) -> list[SettingView]:
    """Return all settings for display, except ``scoring`` and the server's own secrets."""
    return [
        SettingView(
            field.name, "" if not field.repr else _plain_value(getattr(settings, field.name)),
            _plain_value(field.default),
            field.metadata["help"], choices(field), _fixed(field.name, owner),
            getattr(settings, field.name) != field.default,
        )
        for field in fields(AllSettings)
        if field.name != "scoring" and (field.repr or field.name in OF_OWNER)
    ]  # fmt: skip


def changed(settings: Settings, changes: Mapping[str, Any], *, owner: bool = False) -> Settings:
    """Write changed settings to the home's configuration file, and return the new settings.

    Raise UsageError for an invalid value or a setting that may not be changed, StoreError if the file cannot be
    written.
    """
    for name in changes:
        if why := _fixed(name, owner):
            raise UsageError(
                f"The setting {name[:100]} cannot be changed over this interface: {why}",
                "Change the setting on the machine where the server is started.",
            )
    expert = changes.get("expert")
    if expert is not None and expert not in ("auto", "none") and not {*str(expert).split(",")} <= {*PACKS}:
        raise UsageError(
            f"The pack of expert knowledge '{str(expert)[:100]}' does not exist.",
            f"Choose auto, none, or packs: {', '.join(PACKS)}.",
        )
    values = checked(dict(changes))
    settings_now = replace(settings, **values)
    _write_config(settings.storage_path / CONFIG_FILE, {name: _plain_value(value) for name, value in values.items()})
    return settings_now


def _fixed(name: str, owner: bool) -> str:
    if name not in {field.name for field in fields(AllSettings)}:
        return "this setting does not exist."
    if name in OF_OWNER and not owner:
        return "it decides where data are sent, so only the person who starts the server may change it."
    if name not in CHANGEABLE | OF_OWNER:
        return "it decides what this machine runs or where data are sent, so only its configuration file may change it."
    return (
        f"the variable {PREFIX}{name.upper()} sets it and takes precedence."
        if os.environ.get(PREFIX + name.upper())
        else ""
    )


def _plain_value(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _write_config(file: Path, values: Mapping[str, Any]) -> None:
    """Replace or append settings in a configuration file. All other lines and comments stay.

    Write the whole file or nothing. Raise StoreError if the file cannot be written.
    """
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for name, value in values.items():
            line = yaml.safe_dump({name: value}, allow_unicode=True).strip()
            place = re.compile(rf"^{name}[ \t]*:.*$(?:\n[ \t]+.*$)*", re.MULTILINE)
            if place.search(text):
                text = place.sub(lambda _, line=line: line, text, count=1)  # type: ignore[misc]
            else:
                text = f"{text.rstrip()}\n{line}\n".lstrip()
        make_file(draft)
        draft.write_text(text, encoding="utf-8")
        replace_file(draft, file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError(f"{file}: cannot be written ({error.strerror}).", "Check the folder's permissions.") from error
