"""The page's files as they are sent: without comments and indentation, which only their authors need."""

from __future__ import annotations

import json
import re

_STRING = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_CODE = re.compile(rf"(?P<text>{_STRING})|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<blank>\s+)|[\w$]+|.", re.DOTALL)
_APART = frozenset(",;:(){}[]=?&|<>!")  # what a blank beside it says nothing of
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
_GAP = r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)"
_STYLE = re.compile(rf"({_STRING})|{_GAP}*([{{}};,]){_GAP}*|{_GAP}+", re.DOTALL)
_BEFORE_REGEX = frozenset("return typeof case in of delete void throw new else do await yield".split())


def minify(kind: str, text: str) -> str:
    """``kind`` is a suffix; what it does not know stays as it is."""
    if kind == ".js":
        return _script(text)
    if kind == ".css":
        return _STYLE.sub(lambda found: found[1] or found[2] or " ", text).strip()
    if kind == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return text


def _script(text: str) -> str:
    """The same program. Line ends stay where they may end a statement; a regular expression is told from a division
    by what stands before it."""
    made: list[str] = []
    depths: list[int] = []  # braces open in each ${…} that is being read
    at, last, gap = 0, "", ""
    while at < len(text):
        found = _CODE.match(text, at)
        assert found is not None
        part, end = found[0], found.end()
        if found["comment"] or found["blank"]:
            gap = "\n" if "\n" in gap + part else " "
            at = end
            continue
        if part == "`" or (part == "}" and depths and not depths[-1]):
            if part == "}":
                depths.pop()
            end = _end_of_template(text, at + 1)
            part = re.sub(r"\n[ \t]+", "\n", text[at:end])
            if part.endswith("${"):
                depths.append(0)
        elif part == "/" and _operand_follows(last) and (regex := _REGEX.match(text, at)):
            part, end = regex[0], regex.end()
        elif depths and part in "{}":
            depths[-1] += 1 if part == "{" else -1
        if gap and last and _needed(gap, last[-1], part[0]):
            made.append(gap)
        made.append(part)
        at, last, gap = end, part, ""
    return "".join(made) + "\n"


def _needed(gap: str, before: str, after: str) -> bool:
    if gap == "\n":
        return before not in "{([,;" and after not in "})],;"
    return before not in _APART and after not in _APART


def _end_of_template(text: str, start: int) -> int:
    """After the next "`" or "${" of a template that is read from ``start``."""
    found = _TEMPLATE.match(text, start)
    assert found is not None
    return min(found.end() + (2 if text.startswith("${", found.end()) else 1), len(text))


def _operand_follows(last: str) -> bool:
    if last in _BEFORE_REGEX or not last:
        return True
    return not (last[-1] in ")]}\"'`$_/" or last[-1].isalnum())
