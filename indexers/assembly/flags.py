"""Flags of sections (tables, code, commands, configuration, figures), and gaps that a document leaves open.

Flags come from the shape of lines, not from the words of any field. Gaps are blanks to fill in, missing parts and
tables that the text refers to, and headings without text. Only clear cases are reported.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from hybrid_core.text.commands import is_command
from hybrid_core.text.identifiers import part_number
from hybrid_core.types.documents import Line, ParsedPage, Section
from hybrid_core.types.notes import Note
from indexers.assembly.chunks import own_ranges

FLAGS = ("has_table", "has_code", "has_command", "has_config", "has_figure")

_CELL_GAP = "  "
_MONOSPACED = re.compile(r"mono|courier|consol|menlo|inconsolata|typewriter|cmtt|fixed", re.I)
_CODE_ENDS = "{};:("
_CODE_LINE = re.compile(
    r".*[{};]\s*$|\s*(?:def|class|import|return|function|public|private|var|let|const|if|for|while)\b.*[:({;]\s*$", re.S
)
_CODE_SIGN = re.compile(r"=>|::|->|\(\)|==|!=|&&|\|\|")
_LISTING_ROLES = ("code", "plain")
_SETTING = re.compile(r"^\s*(?:-\s+)?[\"']?[A-Za-z_][\w.-]*[\"']?\s*(?:=|:)\s*\S*\s*[,{\[]?$|^\s*\[[\w.-]+\]\s*$")
CAPTION = re.compile(r"^\s*(?:fig(?:ure|\.)?|exhibit|chart|diagram|abb(?:ildung|\.)?|图|圖)\s*[A-Z]?\d", re.I)


def find_flags(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> list[tuple[str, ...]]:
    """Return the flags of each section, such as "table" or "code", in the order of ``FLAGS``.

    Only the section's text before its first subsection is examined.
    """
    # An image on most pages is a logo or a scan, not a figure of some section.
    everywhere = len(pages) > 3 and sum(page.images > 0 for page in pages) > len(pages) / 2
    flags_of = []
    for _, (first, start), (last, end) in own_ranges(sections):
        lines: list[Line] = []
        images = 0
        for number in range(first, last + 1):
            page = pages[number - 1]
            offset = 0
            for line in page.lines:
                inside = (number > first or offset >= start) and (number < last or end is None or offset < end)
                if inside:
                    lines.append(line)
                offset += len(line.text) + 1
            images += page.images if number > first or start == 0 else 0
        marked = bool(lines and lines[0].role not in ("", "hidden", "comment"))
        flags = _told_by_markup(lines) if marked else _told_by_look(lines, images > 0 and not everywhere)
        flags_of.append(tuple(flag for flag in FLAGS if flags[flag]))
    return flags_of


def _told_by_look(lines: Sequence[Line], pictured: bool) -> dict[str, bool]:
    return {
        "has_table": _has_table(lines),
        "has_code": _has_code(lines),
        "has_command": any(is_command(line.text) for line in lines),
        "has_config": _has_config(lines),
        "has_figure": pictured or any(CAPTION.match(line.text) for line in lines),
    }


def _told_by_markup(lines: Sequence[Line]) -> dict[str, bool]:
    roles = {line.role for line in lines}
    return {
        "has_table": "table" in roles,
        "has_code": not roles.isdisjoint(("code", "command", "config")),
        "has_command": "command" in roles
        or any(line.role in _LISTING_ROLES and _is_prompted(line.text) for line in lines),
        "has_config": "config" in roles,
        "has_figure": "image" in roles or any(line.role == "text" and CAPTION.match(line.text) for line in lines),
    }


def _is_prompted(text: str) -> bool:
    """Return whether a line of a code listing is a command to type in a shell.

    Lines that begin with "#", "%" or ">" are not: in code these signs have other meanings.
    """
    return text.lstrip()[:1] not in "#%>" and is_command(text, listing=True)


def _has_table(lines: Sequence[Line]) -> bool:
    """Return whether three consecutive rows have several cells."""
    rows = [line.text.count(_CELL_GAP) >= 1 for line in lines]
    return any(a and b and c for a, b, c in zip(rows, rows[1:], rows[2:], strict=False))


def _has_code(lines: Sequence[Line]) -> bool:
    """Return whether a section contains code.

    Two consecutive lines must look like code, one of them monospaced. Without monospaced type, four consecutive lines
    are needed.
    """
    like = [_is_code(line.text) for line in lines]
    pairs = [at for at, (a, b) in enumerate(pairwise(like)) if a and b]
    if any(_MONOSPACED.search(line.font) for at in pairs for line in lines[at : at + 2]):
        return True
    return any(like[at + 2 : at + 4] == [True, True] for at in pairs)


def _is_code(text: str) -> bool:
    ends = text.rstrip()[-1:] in _CODE_ENDS  # checked first, because it is fast and few lines pass
    return bool((ends and _CODE_LINE.match(text)) or _CODE_SIGN.search(text))


def _has_config(lines: Sequence[Line]) -> bool:
    """Return whether three consecutive lines in one column are "key: value" or "key = value"."""
    run = 0
    for before, line in pairwise([None, *lines]):
        setting = line is not None and _CELL_GAP not in line.text and bool(_SETTING.match(line.text))
        near = before is not None and line is not None and abs(before.x0 - line.x0) < 60
        run = (run + 1 if near else 1) if setting else 0
        if run >= 3:
            return True
    return False


_MOST = 6  # maximum gaps of one section
# Lower-case signs of blanks to fill in. Most pages contain none of them, so the slower patterns are not tried.
_OPEN_SIGNS = ("tbd", "tba", "tbc", "to be ", "to\nbe ", "to be\n", "[●", "[•", "[*", "[__", "[insert", "[to", "[x",
               "festzulegen", "déterminer", "compléter", "determinar", "待")  # fmt: skip
_PART_SIGNS = ("appendix", "annex", "exhibit", "schedule", "attachment", "anhang", "anlage", "anexo")
_CAPTION_SIGNS = ("table", "figure", "fig.")
_OPEN = re.compile(
    r"\bTB[DAC]\b|\[(?:[●•]|(?:\*\s?){1,6}|_{2,}|(?i:insert\b[^\]\n]{0,60}|to\s+come)|[xX]{2,4})\]"
    r"|noch\s+festzulegen\b|à\s+(?:déterminer|compléter)\b|por\s+determinar\b|待(?:定|补充|完善)(?=[\s，。；）)】]|$)"
)
# "Delivery: to be provided" leaves something open, "services to be provided" does not.
_TO_BE = re.compile(
    r"[Tt][Oo]\s+[Bb][Ee]\s+(?i:determined|announced|confirmed"
    r"|(?P<common>completed|provided|supplied|inserted|added|advised))(?=\s*(?:[.;:)\]|]|\n|$|  ))"
)
_PART = (
    r"(?P<word>[AaEeSs](?i:ppendix|nnexe?|xhibit|chedule|ttachment|nhang|nlage|nexo))\s{1,3}"
    r"(?P<number>[A-Z](?:[-.]?\d{1,2})?|\d{1,2}(?:\.\d{1,2})?|[IVX]{2,5})(?![\w-]|\.\d)"
)
_HEADS = r"(?=\s?[.:|–—-]|[^\S\n]*$|[^\S\n]+[A-Z(\[])"  # a heading or caption, no sentence
# The headings of appendices often leave the word out: "A.1 Proofs", "B. Survey", and as titles of sections "A Proofs".
_PART_BARE = re.compile(
    r"^[^\w\n]{0,4}(?P<number>(?P<whole>[A-Z])\.(?:\d{1,2}(?:\.\d{1,2})*\.?)?)[^\S\n]+[A-Z]", re.MULTILINE
)
_TITLE_BARE = re.compile(r"(?P<number>[A-Z])[.:]?\s+[A-Z]\w")
_PART_NAMED, _PART_BEGINS = re.compile(_PART), re.compile(rf"^[^\w\n]{{0,4}}{_PART}{_HEADS}", re.MULTILINE)
_REFERRING = re.compile(
    r"(?:\bsee(?:\s+also)?|\brefer(?:red)?\s+to(?:\s+in)?|\b(?:set\s+(?:forth|out)|described|listed|specified|shown"
    r"|contained|provided|detailed|given)\s+(?:in|on)|\battached(?:\s+hereto)?(?:\s+(?:as|in))?|\bsiehe|\bvoir|\bvéase)"
    r"\s+(?:the\s+|attached\s+)?\Z",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\s{0,3}(?:\([^)]{0,40}\)\s?)?(?:,?\s*(?:to|of|in)\s+(?:the|our|its|such|that|a|an|[A-Z])\b)")
_CAPTION = r"(?P<word>[TtFf](?i:able|igure|ig\.))\s{1,2}(?P<number>\d{1,2}(?:[.-]\d{1,2})?)(?![\w%]|[.,]\d)"
_CAPTION_NAMED = re.compile(rf"\b{_CAPTION}")
_CAPTION_BEGINS = re.compile(rf"^[^\w\n]{{0,4}}{_CAPTION}{_HEADS}", re.MULTILINE)
_TABLE_BELOW = re.compile(r"\b(?:the\s+)?(?:following\s+table|table\s+below)\b|下表", re.IGNORECASE)
_CAPTIONS = 2  # minimum captions of a kind before a missing one is reported
_BEFORE, _QUOTE = 45, 60  # characters
_ALONE = ":([–—|\n"  # signs that may precede a reference that stands alone


def find_gaps(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> list[tuple[Note, ...]]:
    """Return the gaps of each section, such as blanks to fill in, as notes with page numbers."""
    open_texts, part_texts, caption_texts = _having((_OPEN_SIGNS, _PART_SIGNS, _CAPTION_SIGNS), pages)
    gaps: list[dict[Note, None]] = [{} for _ in sections]
    starts = [(section.start_page, section.anchor) for section in sections]
    read = not any(page.needs_ocr or page.pictures for page in pages)
    told_of_texts = [*_left_open(open_texts)]
    if part_texts:
        told_of_texts += _missing_parts(part_texts, _numbered_alone(sections, pages))
    if read:
        told_of_texts += _captions(caption_texts, pages)
    for page, offset, gap in told_of_texts:
        at = bisect_right(starts, (page, offset)) - 1
        if at >= 0:
            gaps[at].setdefault(gap)
    for at, gap in _without_text(sections, pages):
        gaps[at].setdefault(gap)
    return [tuple(gap)[:_MOST] for gap in gaps]


def gaps_warning(sections: Sequence[Section]) -> list[Note]:
    """Return a list with one line that summarises the gaps of a document, or an empty list if it has no gaps."""
    gaps = [gap for section in sections for gap in section.gaps]
    if not gaps:
        return []
    if len(gaps) > 2:
        return [Note("warning.left-open-more", gaps=gaps[:2], more=len(gaps) - 2)]
    return [Note("warning.left-open", gaps=gaps)]


def _having(kinds: Sequence[Sequence[str]], pages: Sequence[ParsedPage]) -> list[list[tuple[int, str]]]:
    """Return for each kind of gap the pages that contain one of its signs, as (page from 1, text).

    Texts of other pages are not stored, to save memory for large documents.
    """
    texts: list[list[tuple[int, str]]] = [[] for _ in kinds]
    for number, page in enumerate(pages, 1):
        text = page.text
        small = text.lower()
        for matches, signs in zip(texts, kinds, strict=True):
            if any(sign in small for sign in signs):
                matches.append((number, text))
    return texts


def _left_open(texts: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, Note]]:
    reported = set[str]()  # running heads repeat them
    for page, text in texts:
        to_be = (m for m in _TO_BE.finditer(text) if not m["common"] or text[: m.start()].rstrip(" ")[-1:] in _ALONE)
        for match in sorted((*_OPEN.finditer(text), *to_be), key=lambda one: one.start()):
            start = text.rfind("\n", 0, match.end() - 1) + 1
            line = " ".join(text[max(start, match.start() - _QUOTE) : match.end()].split())
            quote = line[-_QUOTE:]
            if quote not in reported:
                reported.add(quote)
                left_out = Note("gap.left-out", quote=quote, page=page) if "*" in match[0] else None
                yield page, match.start(), left_out or Note("gap.to-fill-in", quote=quote, page=page)


def _numbered_alone(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> set[str]:
    """Return the numbers of appendices whose headings omit the word, such as "A.1 Proofs" for "Appendix A.1"."""
    titles = (_TITLE_BARE.match(section.title) for section in sections)
    lines = [(match["number"], match["whole"]) for page in pages for match in _PART_BARE.finditer(page.text)]
    return {part_number(match["number"]) for match in titles if match} | {
        part_number(number) for numbers in lines for number in numbers
    }


def _missing_parts(texts: Sequence[tuple[int, str]], bare: Collection[str]) -> Iterator[tuple[int, int, Note]]:
    present = {part_number(m["number"]) for _, text in texts for m in _PART_BEGINS.finditer(text)}.union(bare)
    for page, text in texts:
        for match in _PART_NAMED.finditer(text):
            if part_number(match["number"]) in present or _ELSEWHERE.match(text, match.end()):
                continue
            if _REFERRING.search(text[max(0, match.start() - _BEFORE) : match.start()]):
                name = f"{match['word'].capitalize()} {match['number']}"
                yield page, match.start(), Note("gap.part", part=name, page=page)


def _captions(texts: Sequence[tuple[int, str]], pages: Sequence[ParsedPage]) -> Iterator[tuple[int, int, Note]]:
    captions: dict[str, set[str]] = {}
    for _, text in texts:
        for match in _CAPTION_BEGINS.finditer(text):
            captions.setdefault(_caption_kind(match), set()).add(part_number(match["number"]))
    for page, text in texts:
        for match in _CAPTION_NAMED.finditer(text):
            numbers = captions.get(_caption_kind(match), set())
            number = part_number(match["number"])
            if len(numbers) < _CAPTIONS or number in numbers or _ELSEWHERE.match(text, match.end()):
                continue
            if _role(pages[page - 1], match.start()) != "table":  # a table cell may refer to another document
                name = f"{_caption_kind(match).capitalize()} {match['number']}"
                yield page, match.start(), Note("gap.caption", caption=name, page=page)


def _role(page: ParsedPage, offset: int) -> str:
    """Return the role (text, code, table and so on) of the line at a character offset of the page."""
    end = -1
    for line in page.lines:
        end += len(line.text) + 1
        if offset <= end:
            return line.role
    return ""


def _caption_kind(match: re.Match[str]) -> str:
    return "table" if match["word"].lower() == "table" else "figure"


def _without_text(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> Iterator[tuple[int, Note]]:
    """Yield (section index, note) for headings without text, and for announced tables that are missing.

    Only headings from the file's own markup are examined.
    """
    parents = {section.parent_id for section in sections}
    for at, (section, (first, start), (last, end)) in enumerate(own_ranges(sections)):
        if section.source != "markup" or section.synthetic or section.node_id in parents:
            continue
        lines = []
        for number in range(first, last + 1):
            offset = 0
            for line in pages[number - 1].lines:
                if (number > first or offset >= start) and (number < last or end is None or offset < end):
                    lines.append(line)
                offset += len(line.text) + 1
        body = [line for line in lines if line.role != "heading" and line.text.strip()]
        if not body and not any(pages[number - 1].pictures for number in range(first, last + 1)):
            yield at, Note("gap.no-text", title=section.title[:_QUOTE], page=first)
        announced = any(_TABLE_BELOW.search(line.text) for line in body if line.role in ("text", ""))
        if announced and not any(line.role in ("table", "image", "code") for line in body):
            yield at, Note("gap.table", page=first)
