"""Headings by their look: lines that stand out from the body text, grouped by style, styles ranked into levels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from hybrid_core.types import Line
from indexers.outline.numbering import Numbering, as_letter, compact, numbering
from indexers.outline.toc_pages import opens_contents
from indexers.outline.view import DocumentView, PageView, Unit

MAX_TITLE = 220
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|chart|exhibit|graph|map|plate|source|sources|photo|image|diagram|box|scheme|图|表|圖)\s*[\d:.–—-]"
    r"|(?:figure|table)\s+[a-z]?\d|notes?:|sources?:|\*|[•●▪■–—-]\s|https?:|www\.|isbn|doi|©|\(continued\)|page \d|\([^()]*\)\W*$",
    re.IGNORECASE,
)
_LEADER = re.compile(r"[.·…]{4,}|(?:\s[.·…]){4,}")
_NOTE_MARK = re.compile(r"(?<=[^\W\d])\d{1,3}$")
_CELL = re.compile(r" {2}")
_FIGURES = re.compile(r" {2}.*\d|^\$? ?[\d,.()%–—-]+$")
_DATE = re.compile(
    r"(?:as (?:of|at)|(?:for the )?(?:fiscal )?(?:years?|quarters?|months?|weeks?|periods?)(?: then)? ended)?\W*"
    r"(?:\w{3,9}\.? \d{1,2},? (?:19|20)\d\d|\d{1,2}\.? \w{3,9},? (?:19|20)\d\d|(?:19|20)\d\d)\W*(?:and|,|to)?\W*",
    re.IGNORECASE,
)
_RUN_IN = re.compile(
    r"(?:(?:Section|SECTION|Article|ARTICLE|Clause)\s+)?(?:\d{1,2}\.\d{1,2}(?:\.\d{1,2})?\.?|\d{1,2}[.)]|[IVX]{1,5}\.|[A-Z]\.|\([a-z]\))\s+"
    r"(?P<words>[A-Z][\w’'/,&;() -]{2,70}?)(?:\.(?=\s+[“\"A-Z(])|:(?=\s)|\s[—–](?=\s))",
)
STRONG_NUMBER = frozenset(["part", "book", "volume", "chapter", "article", "item", "note", "appendix", "annex", "schedule", "section", "teil", "kapitel"])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A heading by its look. ``rank``: its style's place, 0 the most prominent."""

    title: str
    page: int
    unit: int
    last: int  # its last unit, where it wraps over several lines
    style: tuple[float, int, str]  # size, 4 bold + 2 capitals + 1 italic, font
    number: Numbering | None
    standing: float  # how much it stands out, 0 to 1
    plain: bool  # only its numbering, font or place tells it from body text
    rise: float  # how much larger than body text it is set, 0 where about as large
    follows: bool  # stands right below another, larger heading

    @property
    def size(self) -> float:
        return self.style[0]

    @property
    def look(self) -> tuple[float, int, str]:
        """The style without capitals: what can be counted over all lines."""
        return self.style[0], self.style[1] & 5, self.style[2]


def candidates(doc: DocumentView, skip: frozenset[int] = frozenset()) -> list[Candidate]:
    """All lines that may be headings, in reading order; of pages in ``skip`` (printed contents) only their own heads."""
    if doc.body is None:
        return []
    found: list[Candidate] = []
    for page in doc.pages:
        if page.units:
            on_page = _on_page(page, doc.body, doc.gap)
            found += (c for c in on_page if opens_contents(c.title)) if page.page.number in skip else on_page
    return found


def _on_page(page: PageView, body: Line, gap: float) -> list[Candidate]:
    units = page.units
    above, below = _spacing(units)
    tabular = _tabular(units)
    found: list[Candidate] = []
    i = 0
    while i < len(units):
        end = _run(units, i, body.size, gap)
        if end - i > 4 or run_in(units[i].text):
            ended = i == 0 or units[i - 1].text[-1] in ".;:)!?]" or above[i] > 0.3 * body.size
            if (title := run_in(units[i].text)) and units[i].size > 0.97 * body.size and ended:
                style = _style(units[i], title, numbering(title))
                found.append(Candidate(title, page.page.number, i, i, style, numbering(title), 0.4, True, 0.0, False))
            i = end
            continue
        run = units[i:end]
        title = _title(run)
        number = numbering(title)
        large = run[0].size > 1.2 * body.size or (number is not None and number.kind in STRONG_NUMBER)
        if _plausible(title, number) and (large or not any(tabular[i:end])):
            standing, plain = _standing(run, title, number, body, gap, above[i], below[end - 1], page.page.width)
            if standing > 0:
                style = _style(run[0], title, number)
                last = found[-1] if found else None
                follows = last is not None and last.last == i - 1 and last.size > style[0] + 0.4
                ratio = run[0].size / body.size if body.size else 1.0
                rise = ratio - 1 if ratio > 1.06 else 0.0
                c = Candidate(title, page.page.number, i, end - 1, style, number, standing, plain, rise, follows)
                if last is not None and number is None and last.last == i - 1 and _only_number(last) and above[i] < 3 * run[0].size:
                    found[-1] = replace(last, title=f"{last.title} {title}", last=end - 1)
                else:
                    found.append(c)
        i = end
    return found


def _only_number(c: Candidate) -> bool:
    """Whether a heading says only "Article VI" or "Chapter 3", its words standing on the next line."""
    return c.number is not None and c.number.kind in STRONG_NUMBER and c.number.end >= len(c.title)


def run_in(text: str) -> str:
    """The heading a numbered paragraph begins with ("4.2 Late Payment. The buyer …"), "" where it begins with none."""
    match = _RUN_IN.match(text)
    if match is None:
        return ""
    words = [word for word in match["words"].split() if len(word) > 3]
    return match.group().strip().rstrip(".:—–- ") if words and all(word[0].isupper() or not word[0].isalpha() for word in words) else ""


def _run(units: tuple[Unit, ...], start: int, body: float, gap: float) -> int:
    """Where the run of lines ends that continue this one in the same style (a wrapped title, or a paragraph)."""
    end = start + 1
    while end < len(units):
        last, unit = units[end - 1], units[end]
        same = abs(unit.size - last.size) < 0.3
        if unit.size < 1.25 * body or unit.font[:4] != last.font[:4]:
            same = same and unit.bold == last.bold and unit.italic == last.italic
        most = 1.22 * gap if 0.94 * body < unit.size < 1.06 * body and not unit.bold else 1.75 * max(last.size, 6)
        close = 0 < unit.y0 - last.y0 < most and unit.x0 < last.x1 and unit.x1 > last.x0
        if not (same and close):
            break
        number = numbering(unit.text)
        if number is not None and not number.kind.startswith("integer"):
            break
        end += 1
    return end


def _title(run: tuple[Unit, ...]) -> str:
    text = run[0].text
    for unit in run[1:]:
        text = text[:-1] + unit.text if text.endswith("-") and unit.text[:1].islower() else f"{text} {unit.text}"
    return _NOTE_MARK.sub("", " ".join(text.split()))


def _plausible(title: str, number: Numbering | None) -> bool:
    if not 2 <= len(title) <= MAX_TITLE or _LEADER.search(title) or _CAPTION.match(title) or _DATE.fullmatch(title):
        return False
    rest = title[number.end :] if number else title
    letters = sum(map(str.isalpha, rest))
    if letters < 2 and not (number and number.kind in STRONG_NUMBER):
        return False
    return letters >= 0.5 * len(rest.replace(" ", ""))


def _tabular(units: tuple[Unit, ...]) -> list[bool]:
    """Which units are cells or labels of a table: figures or short text beside them, or table rows around them."""
    rows = [bool(_CELL.search(unit.text) and _FIGURES.search(unit.text)) for unit in units]
    out = list(rows)
    lefts = Counter(round(unit.x0 / 5) for unit in units if len(unit.text) > 30)
    columns = {left + d for left, count in lefts.items() if count >= 5 for d in (-1, 0, 1)}
    order = sorted(range(len(units)), key=lambda i: units[i].y0 + units[i].y1)
    for at, i in enumerate(order):
        unit = units[i]
        for j in order[at + 1 : at + 5]:
            other = units[j]
            if min(unit.y1, other.y1) - max(unit.y0, other.y0) < 0.5 * min(unit.y1 - unit.y0, other.y1 - other.y0):
                break
            if not (other.x0 > unit.x1 + 2 or unit.x0 > other.x1 + 2):
                continue
            if round(unit.x0 / 5) in columns and round(other.x0 / 5) in columns and not (rows[i] or rows[j]):
                continue  # two columns of text
            if (len(other.text) < 28 or _CELL.search(other.text)) and (len(unit.text) < 60 or _CELL.search(unit.text)):
                out[i] = out[j] = True
            elif len(unit.text) < 28:
                out[i] = True
            elif len(other.text) < 28:
                out[j] = True
    for before, i, after in zip(order, order[1:], order[2:], strict=False):
        unit = units[i]
        close = units[after].y0 - unit.y1 < 1.5 * unit.size and unit.y0 - units[before].y1 < 1.5 * unit.size
        if close and out[before] and (out[after] or len(units[after].text) < 40):
            out[i] = True
    return out


def _spacing(units: tuple[Unit, ...]) -> tuple[list[float], list[float]]:
    """White space above and below each unit, to the nearest unit that shares its column."""
    above = [1e3] * len(units)
    below = [1e3] * len(units)
    order = sorted(range(len(units)), key=lambda i: units[i].y0)
    for at, i in enumerate(order):
        unit = units[i]
        for j in reversed(order[max(0, at - 6) : at]):
            other = units[j]
            if other.x0 < unit.x1 and other.x1 > unit.x0:
                space = unit.y0 - other.y1
                above[i] = min(above[i], space)
                below[j] = min(below[j], space)
                break
    return above, below


def _standing(
    run: tuple[Unit, ...], title: str, number: Numbering | None, body: Line, gap: float, above: float, below: float, width: float
) -> tuple[float, bool]:
    """How clearly a run stands out from body text, and whether only its numbering or font tells it.

    0 where it does not, or is a table row or a paragraph.
    """
    none = 0.0, False
    first = run[0]
    ratio = first.size / body.size if body.size else 1.0
    letters = [c for c in title if c.isalpha()]
    upper = sum(map(str.isupper, letters))
    caps = upper >= 0.9 * len(letters) and len(letters) > 3 and letters[0].lower() != letters[0].upper()
    bold = first.bold and not body.bold
    italic = first.italic and not body.italic
    larger = ratio >= 1.08
    other_font = first.font.split("-")[0].split("+")[-1][:6] != body.font.split("-")[0].split("+")[-1][:6]
    strong = number is not None and number.kind in STRONG_NUMBER
    cells = sum(len(_CELL.findall(unit.text)) for unit in run)
    if cells > (1 if number else 0):
        return none
    if ratio < (0.8 if bold and caps else 0.88) or (ratio < 0.97 and not (bold or caps)):
        return none
    space = gap - body.size  # between the lines of a paragraph
    isolated = above > max(space * 1.5, 0.35 * body.size)
    if not isolated and not (larger and ratio > 1.25) and not (number and (bold or caps)):
        return none
    if title[-1] in ",;" or (title[-1] == "." and number is None and len(title) > 60):
        return none
    if title[0].islower() and ratio < 1.25 and number is None:
        return none
    if not (larger or bold or italic or caps or strong or other_font or number):
        return none
    if len(title) > 130 and not larger:
        return none
    plain = not (larger or bold or italic or caps)
    if plain:
        if number is None and not other_font:
            return none
        if below <= space * 1.3 or (first.x1 - first.x0 > 0.75 * width and len(run) == 1 and title[-1] in ".,"):
            return none
        words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
        if strong and len(words) > 3 and sum(word[0].isupper() for word in words) < 0.6 * len(words):
            return none
        if number is not None and not strong and (title[-1] in ".:;" or len(title) > 120 or not title[number.end : number.end + 1].isupper()):
            return none
    standing = 0.25 + min(0.4, max(0.0, ratio - 1.0)) + 0.25 * bold + 0.1 * italic + 0.15 * caps + 0.2 * (number is not None) + 0.2 * strong
    if below > space * 1.3:
        standing += 0.1
    return min(1.0, standing), plain


def _look(unit: Unit) -> tuple[float, int, str]:
    return round(unit.size * 2) / 2, 4 * unit.bold + unit.italic, unit.font.split("+")[-1].replace(",", "-")


def _style(unit: Unit, title: str, number: Numbering | None) -> tuple[float, int, str]:
    letters = [c for c in title[number.end if number else 0 :] if c.isalpha()]
    caps = sum(map(str.isupper, letters)) >= 0.9 * len(letters) and len(letters) > 5
    size, look, font = _look(unit)
    return size, look + 2 * caps, font


def settle(found: list[Candidate], doc: DocumentView) -> list[Candidate]:
    """Candidates that hold up once all are known: no repeated table heads, no style that is mostly something else."""
    if doc.body is None:
        return []
    body = doc.body.size
    texts = Counter(compact(c.title) for c in found)
    per_page = Counter(c.page for c in found)
    lines = Counter(_look(unit) for page in doc.pages for unit in page.units)
    used: Counter[tuple[float, int, str]] = Counter()
    counts: Counter[tuple[float, int, str]] = Counter()
    follow: Counter[tuple[float, int, str]] = Counter()
    for c in found:
        used[c.look] += c.last - c.unit + 1
        if c.number is None:
            counts[c.look] += 1
            follow[c.look] += c.follows
    supported = _in_sequence(found)
    limit = max(6, len(doc.pages) // 12)
    kept = []
    for i, c in enumerate(found):
        ratio = c.size / body if body else 1.0
        if opens_contents(c.title):
            kept.append(c)
            continue
        if c.number is not None:
            if c.number.kind in STRONG_NUMBER or supported[i] or (not c.plain and ratio > 1.15):
                kept.append(c)
                continue
            if c.plain:
                continue
        if texts[compact(c.title)] > limit:
            continue
        if per_page[c.page] > 14 and c.standing < 0.6:
            continue
        share = used[c.look] / lines[c.look] if lines[c.look] else 1.0
        if share < (0.08 if ratio > 1.15 else 0.3 if c.style[1] & 4 else 0.55):
            continue
        if counts[c.look] and follow[c.look] >= 0.7 * counts[c.look]:
            continue
        if counts[c.look] < 3 and ratio < 1.25:
            continue
        kept.append(c)
    return kept


def _in_sequence(found: list[Candidate]) -> list[bool]:
    """For each numbered candidate whether the one before or after it in its numbering stands nearby."""
    out = [False] * len(found)
    open_at: dict[tuple[str, int], tuple[int, int]] = {}  # (scheme, depth) -> (last value, index)
    for i, c in enumerate(found):
        for number in (c.number, as_letter(c.title)):
            if number is None:
                continue
            key = number.kind, len(number.value)
            value, at = open_at.get(key, (0, -1))
            same_parent = at < 0 or found[at].number is None or len(number.value) < 2
            if not same_parent:
                before = found[at].number
                same_parent = before is not None and before.value[:-1] == number.value[:-1]
            if at >= 0 and same_parent and number.value[-1] == value + 1:
                out[i] = out[at] = True
            if number.value[-1] == 1 or out[i] or at < 0:
                open_at[key] = (number.value[-1], i)
    return out
