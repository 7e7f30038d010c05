"""Read settings from the configuration file of a home (data folder) and from environment variables."""

from __future__ import annotations

import difflib
import logging
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import create_model
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from hybrid_core.errors import UsageError
from hybrid_core.store.home import close_to_others
from hybrid_pageindex.config.checking import KNOWN, checked, kinds
from hybrid_pageindex.config.fields import PREFIX

_FILE = "_FILE"
_READ_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTERED_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH
_warned_files: set[Path] = set()  # files with a warning that their permissions could not be restricted
_log = logging.getLogger(__name__)


class _Base(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", protected_namespaces=())


_Sources = create_model("_Sources", __base__=_Base, **kinds(), scoring=(dict[str, Any], {}))


class _Variables(EnvSettingsSource):
    """A settings source that reads a mapping of variables instead of the environment of this process."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._given = variables
        super().__init__(_Sources)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._given.items()}


def read(file: Path | None, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings in a file (None for no file) and in variables, which take precedence over the file.

    Raise UsageError for an unreadable file, an unknown setting or an invalid value.
    """
    values: dict[str, Any] = {}
    variables = _with_secrets(variables)
    if file is not None:
        values = _read_yaml(file)
        _all_known((f"{file}: {key}", str(key)) for key in values)
        _keep_secret(file, values)
    _all_known((key, key.removeprefix(PREFIX).lower().partition("__")[0]) for key in variables)
    try:
        values_set = _Variables(variables)()
    except SettingsError as error:
        raise UsageError(
            f"The environment variable {PREFIX}SCORING is not valid JSON.", 'Write JSON like {"pages.k1": 1.2}.'
        ) from error
    places = {key: f"{file}: {key}" for key in values} | {key: PREFIX + key.upper() for key in values_set}
    return checked(values | values_set, places)


def _with_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Replace each variable ``PAGEINDEX_…_FILE`` by the secret variable without ``_FILE``, read from the file it names.

    For example, ``PAGEINDEX_HTTP_TOKEN_FILE`` becomes ``PAGEINDEX_HTTP_TOKEN``. Raise UsageError if both are set, or if
    the file is empty or cannot be read.
    """
    resolved = dict(variables)
    for key, path in variables.items():
        setting = key.removesuffix(_FILE)
        field = KNOWN.get(setting.removeprefix(PREFIX).lower())
        if setting == key or field is None or field.repr:
            continue
        if setting in variables:
            raise UsageError(f"Both {setting} and {key} are set.", "Leave one of the two settings out.")
        try:
            resolved[setting] = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not a text file"
            raise UsageError(
                f"{key}: the secret file {path} cannot be read ({why}).", "Name a file that contains the secret."
            ) from error
        del resolved[key]
        if not resolved[setting]:
            raise UsageError(f"{key}: the secret file {path} is empty.", "Name a file that contains the secret.")
    return resolved


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        return YamlConfigSettingsSource(_Sources, file).yaml_data
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: the settings file is not valid YAML ({' '.join(str(error).split())}).") from error
    except (TypeError, ValueError):
        raise UsageError(f"{file}: the settings file must contain lines of the form 'key: value'.") from None


def _all_known(keys: Iterable[tuple[str, str]]) -> None:
    """Raise UsageError for the first unknown setting.

    ``keys`` are pairs: the name shown in the error, and the setting.
    """
    for where, key in keys:
        if key not in KNOWN:
            near = difflib.get_close_matches(key, KNOWN, n=1, cutoff=0.5)
            if where.startswith(PREFIX):
                near = [PREFIX + name.upper() for name in near]
            advice = f"Did you mean {near[0]}?" if near else f"The settings are: {', '.join(KNOWN)}."
            raise UsageError(f"The setting {where} does not exist.", advice)


def _keep_secret(file: Path, values: Mapping[str, Any]) -> None:
    """Remove other users' access to a settings file that contains a secret, and log one warning."""
    secrets = [name for name in values if not KNOWN[name].repr]
    try:
        mode = file.stat().st_mode
        if not secrets or not mode & _READ_BY_OTHERS or not file.parent.stat().st_mode & _ENTERED_BY_OTHERS:
            return
    except OSError:  # deleted meanwhile
        return
    before = stat.S_IMODE(mode)
    close_to_others(file)
    if file.stat().st_mode & _READ_BY_OTHERS:
        if file in _warned_files:
            return
        done = f"Run chmod 600 {file}, and change"
    else:
        done = "Only you can read it now; change"
    _warned_files.add(file)
    _log.warning(
        "%s holds %s and could be read by other users of this machine (mode %o). %s what they may have read.",
        file, " and ".join(secrets), before, done,
    )  # fmt: skip
