"""Content lines of iCalendar (RFC 5545) and vCard (RFC 6350), which share a syntax: fields inside components."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from indexers.formats.decode import codec_of

_FIELD = re.compile(r"(?:(?P<group>[\w-]+)\.)?(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<rest>[;:].*)", re.S)
_PARAMETER = re.compile(r""";\s*([A-Za-z0-9-]+)(?:=((?:"[^"\n]*"|[^;:"\n])*))?""")
_FOLD = re.compile(r"\n[ \t]")
_ESCAPED = re.compile(r"\\([nN,;:\\])")
_SPLIT = {sign: re.compile(rf"(?<!\\){sign}") for sign in ",;"}
_DEEPEST = 20
_LONGEST_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a calendar or card. ``parameters`` have upper-case names. The value is "" if it has none."""

    name: str
    value: str
    parameters: dict[str, str]
    group: str = ""

    @property
    def text(self) -> str:
        return unescaped(self.value)

    def parts(self, sign: str) -> list[str]:
        """Return the values separated by ``sign``, a comma or a semicolon."""
        return [unescaped(part).strip() for part in _SPLIT[sign].split(self.value)]


@dataclass(slots=True)
class Component:
    """A component with its fields and inner components. ``others`` are lines that are not fields."""

    name: str
    fields: list[Field] = field(default_factory=list)
    inner: list[Component] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def all(self, *names: str) -> list[Field]:
        return [entry for name in names for entry in self.fields if entry.name == name]

    def text(self, *names: str) -> str:
        """Return the first non-empty value of fields with these names, "" if there is none."""
        return next((entry.text.strip() for entry in self.all(*names) if entry.value.strip()), "")


def read_components(text: str) -> tuple[Component, bool]:
    """Return the components of a file below a nameless root, and whether each component is complete."""
    root = Component("")
    stack = [root]
    for line in _unfolded(text):
        entry = _read_field(line)
        name = entry.value.strip().upper() if entry is not None else ""
        if entry is None:
            if line.strip():
                stack[-1].others.append(line.strip())
        elif entry.name == "BEGIN":
            component = Component(name)
            stack[-1].inner.append(component)
            if len(stack) < _DEEPEST:
                stack.append(component)
        elif entry.name == "END":
            while len(stack) > 1 and any(component.name == name for component in stack[1:]):
                if stack.pop().name == name:
                    break
        else:
            stack[-1].fields.append(entry)
    return root, len(stack) == 1


def unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value)


def _unfolded(text: str) -> Iterator[str]:
    """Yield unfolded lines, including quoted-printable lines that continue on the next line."""
    waiting = ""
    for line in _FOLD.sub("", text).split("\n"):
        whole = waiting + line
        if whole.endswith("=") and len(whole) < _LONGEST_LINE and "QUOTED-PRINTABLE" in whole[:200].upper():
            waiting = whole[:-1]
            continue
        yield whole
        waiting = ""
    if waiting:
        yield waiting


def _read_field(line: str) -> Field | None:
    match = _FIELD.fullmatch(line.strip())
    if match is None:
        return None
    rest, at = match["rest"], 0
    parameters: dict[str, str] = {}
    while at < len(rest) and (parameter := _PARAMETER.match(rest, at)) is not None:
        parameters[parameter[1].upper()] = (parameter[2] or "").replace('"', "").strip()
        at = parameter.end()
    if rest[at : at + 1] != ":":
        return None
    value = rest[at + 1 :]
    if parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in parameters:
        data = quopri.decodestring(value.encode("utf-8", "surrogateescape"))
        value = data.decode(codec_of(parameters.get("CHARSET", "")) or "utf-8", "replace").replace("\r\n", "\n")
    return Field(match["name"].upper(), value, parameters, match["group"] or "")
