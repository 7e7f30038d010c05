"""WebVTT and SRT -> what is said, with the time as its place."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import DocumentError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part
from indexers.formats.limits import ParseLimits

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]*>|\{\\[^{}]*\}")
_ENDED = (".", "!", "?", "。", "！", "？", "…")
_LONGEST = 600  # characters of cues that are put together


def read_subtitles(path: Path, limits: ParseLimits) -> Flow:
    """Raises DocumentError where no line says a time."""
    text, warnings = read_text(path)
    blocks = list(_sentences(text))
    if not blocks and not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise DocumentError(f"{path}: not subtitles (no line in it says from when to when).")
    return Flow(iter([Part(blocks)]), {}, warnings)


def _sentences(text: str) -> Iterator[Block]:
    """Cues put together to sentences, or to what one person says."""
    held, begun, speaker = "", "", ""
    for time, said in _cues(text):
        voice = _VOICE.search(said)
        words = _plain(said)
        now = f"{voice[1].strip()}: " if voice else ""
        if held and (held.endswith(_ENDED) or len(held) > _LONGEST or now != speaker):
            yield Paragraph(f"[{begun}] {held}", begun)
            held = ""
        if words:
            held, begun = (f"{held} {words}", begun) if held else (now + words, time)
        speaker = now
    if held:
        yield Paragraph(f"[{begun}] {held}", begun)


def _cues(text: str) -> Iterator[tuple[str, str]]:
    """Yield the time of each cue and what it adds: captions that roll show the lines of the one before again."""
    before: list[str] = []
    for time, lines in _shown(text):
        plain = list(map(_plain, lines))
        again = next((n for n in range(min(len(before), len(lines)), 0, -1) if before[-n:] == plain[:n]), 0)
        if not again and before and " " in before[-1] and plain[0].startswith(f"{before[-1]} "):
            lines = [plain[0][len(before[-1]) :].strip(), *lines[1:]]  # a line that grows word by word
        before = plain
        if len(lines) > again:
            yield time, " ".join(lines[again:])


def _plain(said: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", said)).split())


def _shown(text: str) -> Iterator[tuple[str, list[str]]]:
    time = ""
    held: list[str] = []
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if cue := _CUE.match(line):
            time, held = f"{int(cue[1] or 0):02}:{int(cue[2]):02}:{cue[3]}", []
        elif line.strip() and time and not (_CUE.match(after) and not held):
            held.append(line.strip())
        if time and held and (not line.strip() or not after.strip()):
            yield time, held
            time, held = "", []
    if time and held:
        yield time, held
