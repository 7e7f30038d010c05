"""Subtitles (WebVTT, SRT, SubStation Alpha, SBV) as sentences, each with the time at which it begins."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import DocumentError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part
from indexers.formats.limits import ParseLimits

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[.,:]\d{1,3})?"
_CUE = re.compile(rf"\s*{_TIME}\s*(?:--?>|,)\s*{_TIME}(?:\s|$)")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]*>|\{\\[^{}]*\}")
_NUMBER = re.compile(r"\s*\d{1,6}\s*")
_ENDED = (".", "!", "?", "。", "！", "？", "…")
_LONGEST = 600  # maximum characters of joined cues
_SCRIPT = re.compile(r"^\s*\[(?:Script Info|Events)\]", re.M | re.I)
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}")
_BREAK = re.compile(r"\\[Nn]")

_Cue = tuple[str, str, list[str]]  # start time, speaker, lines


def read_subtitles(path: Path, limits: ParseLimits) -> Flow:
    """Read subtitles. Raise DocumentError if no line has a time."""
    text, warnings = read_text(path)
    cues = _script_cues(text) if _SCRIPT.search(text[:2_000]) is not None else _read_cues(text)
    blocks = list(_sentences(cues))
    if not blocks and not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise DocumentError("the file is not a subtitle file (no line has a start and an end time).", file=path)
    return Flow(iter([Part(blocks)]), {}, warnings)


def _sentences(cues: Iterator[_Cue]) -> Iterator[Block]:
    """Join cues into sentences. A paragraph ends after a sentence, when it is long, or when the speaker changes."""
    sentence, begun, speaker = "", "", ""
    for time, name, cue in _new_words(cues):
        voice = _VOICE.search(cue)
        words = _strip_tags(cue)
        now = f"{voice[1].strip()}: " if voice else f"{name}: " if name else ""
        if sentence and (sentence.endswith(_ENDED) or len(sentence) > _LONGEST or now != speaker):
            yield Paragraph(f"[{begun}] {sentence}", begun)
            sentence = ""
        if words:
            sentence, begun = (f"{sentence} {words}", begun) if sentence else (now + words, time)
        speaker = now
    if sentence:
        yield Paragraph(f"[{begun}] {sentence}", begun)


def _new_words(cues: Iterator[_Cue]) -> Iterator[tuple[str, str, str]]:
    """Yield (time, speaker, words) of each cue with new words. Rolling captions repeat lines of the previous cue."""
    before: list[str] = []
    for time, name, lines in cues:
        plain = list(map(_strip_tags, lines))
        again = next((n for n in range(min(len(before), len(lines)), 0, -1) if before[-n:] == plain[:n]), 0)
        if not again and before and " " in before[-1] and plain[0].startswith(f"{before[-1]} "):
            lines = [plain[0][len(before[-1]) :].strip(), *lines[1:]]  # a line that grows word by word
        before = plain
        if len(lines) > again:
            yield time, name, " ".join(lines[again:])


def _strip_tags(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _read_cues(text: str) -> Iterator[_Cue]:
    """Yield the cues of WebVTT, SRT and SBV.

    A cue ends at the start of the next one. In WebVTT a blank line ends it too, since remarks and styles may follow.
    """
    time = ""
    has_blocks = text.lstrip("\ufeff").startswith("WEBVTT")
    spoken: list[str] = []
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if cue := _CUE.match(line):
            if time and spoken:
                yield time, "", spoken
            time, spoken = _written_time(cue), []
        elif line.strip() and time and not (_NUMBER.fullmatch(line) and _CUE.match(after)):
            spoken.append(line.strip())
        if has_blocks and time and spoken and not line.strip():
            yield time, "", spoken
            time, spoken = "", []
    if time and spoken:
        yield time, "", spoken


def _script_cues(text: str) -> Iterator[_Cue]:
    """Yield the cues of SubStation Alpha: lines of fields, of which the last has the words and may contain commas."""
    names = "layer start end style name marginl marginr marginv effect text".split()
    events = False
    for line in text.split("\n"):
        kind, _, fields = line.partition(":")
        if line.lstrip().startswith("["):
            events = line.strip().lower() == "[events]"
        elif events and kind.strip().lower() == "format":
            names = [name.strip().lower() for name in fields.split(",")]
        elif events and kind.strip().lower() == "dialogue":
            values = dict(zip(names, (value.strip() for value in fields.split(",", len(names) - 1)), strict=False))
            begun = re.match(_TIME, values.get("start", ""))
            words = values.get("text", "")
            if begun and words and _DRAWING.search(words) is None:
                name = values.get("name") or values.get("actor") or ""
                yield _written_time(begun), name, [part.replace("\\h", " ") for part in _BREAK.split(words)]


def _written_time(begun: re.Match[str]) -> str:
    return f"{int(begun[1] or 0):02}:{int(begun[2]):02}:{begun[3]}"
