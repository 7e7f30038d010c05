"""Find lines that may be headings, join wrapped ones, and score how clearly each stands out from body text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from hybrid_core.types.documents import Line
from indexers.outline.heading import closed_up
from indexers.outline.numbering import CHAPTERS, STRONG, Numbering, bare_number, compact, numbering, split_number
from indexers.outline.toc import OPEN_END, opens_contents
from indexers.outline.view import CELL, DocumentView, PageView, Unit, spacing, tabular

Style = tuple[float, int, str]  # size, 4 bold + 2 capitals + 1 italic, font

WEAK = 0.2  # prominent, but long or ends like a sentence: a heading only if the section has no others


@dataclass(frozen=True, slots=True)
class Prominence:
    """The prominence of a line, that is, how clearly it stands out: ``score`` from 0 (body text) to 1.

    ``plain`` is True if only its numbering, font or position differs from body text.
    """

    score: float
    plain: bool = False


_NONE = Prominence(0.0)


_SMALL_CAPITALS = 0.62  # of the body size: the size of small capitals in body text


def look(unit: Unit) -> Style:
    """Return the look of a line: (font size, bold and italic, font name). Capitals do not count."""
    font = unit.font.split("+")[-1].replace(",", "-")
    return round(unit.size * 2) / 2, 4 * unit.bold + unit.italic, font


def style(unit: Unit, title: str, number: Numbering | None) -> Style:
    size, weight, font = look(unit)
    return size, weight + 2 * _capitals(title[number.end if number else 0 :], 6), font


def prominence(
    run: tuple[Unit, ...],
    title: str,
    number: Numbering | None,
    body: Line,
    gap: float,
    above: float,
    below: float,
    width: float,
) -> Prominence:
    """Return how clearly a possible heading, the consecutive lines ``run``, stands out from body text.

    All lengths are in points. ``gap`` is the usual distance between the tops of body lines. ``above`` and ``below`` are
    the white space around the run, and ``width`` is the width of the page.
    """
    first = run[0]
    ratio = first.size / body.size if body.size else 1.0
    bold, italic = first.bold and not body.bold, first.italic and not body.italic
    capitals = _capitals(title, 4)
    larger = ratio >= 1.08
    other_font = first.font.split("-")[0].split("+")[-1][:6] != body.font.split("-")[0].split("+")[-1][:6]
    strong = number is not None and number.kind in STRONG
    plain = not (larger or bold or italic or capitals)
    leading = gap - body.size
    if sum(len(CELL.findall(unit.text)) for unit in run) > (1 if number else 0):
        return _NONE
    isolated = above > max(1.5 * leading, 0.35 * body.size)
    small_capitals = _capitals(title[number.end if number else 0 :], 4) and isolated and below > 1.3 * leading
    smallest = _SMALL_CAPITALS if small_capitals else 0.8 if bold and capitals else 0.88
    if ratio < smallest or (ratio < 0.97 and not (bold or capitals)):
        return _NONE
    short = bold and len(run) == 1 and first.x1 - first.x0 < 0.5 * width and title[-1] not in ".:"
    if not (isolated or ratio > 1.25 or short or (number and (bold or capitals))):
        return _NONE
    if title[-1] in ",;。，；" or (title[0].islower() and ratio < 1.25 and number is None):
        return _NONE
    if plain and not _numbered_plainly(run, title, number, strong, other_font, below > 1.3 * leading, width):
        return _NONE
    if (title[-1] == "." and number is None and len(title) > 60) or (len(title) > 130 and not larger and not strong):
        return Prominence(WEAK, plain)
    score = 0.25 + min(0.4, max(0.0, ratio - 1.0)) + 0.25 * bold + 0.1 * italic + 0.15 * capitals
    score += 0.2 * (number is not None) + 0.2 * strong + 0.1 * (below > 1.3 * leading)
    return Prominence(min(1.0, score), plain)


def _numbered_plainly(
    run: tuple[Unit, ...],
    title: str,
    number: Numbering | None,
    strong: bool,
    other_font: bool,
    space_below: bool,
    width: float,
) -> bool:
    """Return whether consecutive lines in the style of body text may be a heading.

    They must be numbered or in another font, set apart, and not a sentence.
    """
    if not space_below or not (number or other_font):
        return False
    if len(run) == 1 and run[0].x1 - run[0].x0 > 0.75 * width and title[-1] in ".,":
        return False
    if number is None:
        return True
    begins = title[number.end : number.end + 1]
    if strong:
        if begins.islower() and title[: number.end].rstrip()[-1].isalnum():  # "Section 5 applies"
            return False
        words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
        return len(words) <= 3 or sum(word[0].isupper() for word in words) >= 0.6 * len(words)
    return title[-1] not in ".:;" and len(title) <= 120 and (begins.isupper() or begins.lower() == begins.upper())


def _capitals(text: str, min_letters: int) -> bool:
    letters = [c for c in text if c.isalpha()]
    if len(letters) < min_letters or letters[0].lower() == letters[0].upper():
        return False
    return sum(map(str.isupper, letters)) >= 0.9 * len(letters)


_MOST_LINES, _MOST_LETTERS = 5, 320
_OUTSIDE_PROMINENCE = 0.25  # prominence of a heading found by other evidence
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|chart|exhibit|graph|map|plate|sources?|photo|image|diagram|box|scheme|图|表|圖)\s*[\d:.–—-]"
    r"|(?:figure|table)\s+[a-z]?\d|(?:notes?|sources?):|\*|[•●▪■–—-]\s|https?:|www\.|isbn|doi|©|\(continued\)|page \d"
    r"|\([^()]*\)\W*$",
    re.IGNORECASE,
)
_THEOREM = re.compile(
    r"(?:theorem|lemma|proposition|corollary|definition|conjecture|remark|notation|axiom"
    r"|satz|hilfssatz|korollar|bemerkung|vermutung|behauptung|folgerung|invariante"
    r"|théorème|lemme|corollaire|définition|remarque|teorema|lema|corolario|definición|proposición|observación"
    r"|corollario|definizione|proposizione|osservazione|corolário|definição|proposição|observação"
    r"|теорема|лемма|следствие|определение|предложение|замечание|twierdzenie|lemat|definicja|wniosek|stelling|definitie"
    r")\s+(?:[A-Z]\.)?\d[\d.]*(?!\w)|(?:定理|引理|推论|定义|命题|補題|定義|命題|정리|보조정리|정의)\s*\d[\d.]*(?!\w)"
    r"|(?:proof|beweis|démonstration|preuve|dimostrazione|demostración|demonstração|доказательство|dowód|证明|証明)\W*$",
    re.IGNORECASE,
)  # statements of mathematics, which authors do not list as sections
_REMARK_WORDS = frozenset(
    "note hint hints tip tips warning warnings caution cautions important danger attention notice remark "
    "hinweis achtung warnung vorsicht tipp tipps wichtig gefahr anmerkung "
    "remarque avertissement conseil astuce "
    "nota aviso advertencia precaución consejo sugerencia importante peligro atención "
    "avvertenza avvertenze attenzione suggerimento avviso pericolo atenção cuidado dica "
    "opmerking waarschuwing uwaga ostrzeżenie wskazówka poznámka upozornění varování "
    "примечание внимание предупреждение совет важно "
    "注 注意 警告 提示 备注 重要 危险 備考 注記 ヒント 重要項目 メモ 참고 주의 경고 중요 팁 ".split()
)  # labels of remarks between the lines of a section
_REMARKS = 3  # from so many equal labels on, they are remarks
_DECORATION = " -–—_=*|"
_LEADER = re.compile(r"[.·…]{4,}|(?:\s[.·…]){4,}")
_NOTE_MARK = re.compile(r"(?<=[^\W\d])\d{1,3}$")
_DATE = re.compile(
    r"(?:as (?:of|at)|(?:for the )?(?:fiscal )?(?:years?|quarters?|months?|weeks?|periods?)(?: then)? ended)?\W*"
    r"(?:\w{3,9}\.? \d{1,2},? (?:19|20)\d\d|\d{1,2}\.? \w{3,9},? (?:19|20)\d\d|(?:19|20)\d\d)\W*(?:and|,|to)?\W*",
    re.IGNORECASE,
)
_RUN_IN = re.compile(
    r"(?:(?:Section|SECTION|Article|ARTICLE|Clause)\s+)?"
    r"(?:\d{1,2}\.\d{1,2}(?:\.\d{1,2})?\.?|\d{1,2}[.)]|[IVX]{1,5}\.|[A-Z]\.|\([a-z]\))\s+"
    r"(?P<words>[A-Z][\w’'/,&;() -]{2,70}?)(?:\.(?=\s+[“\"A-Z(]|$)|:(?=\s)|\s[—–](?=\s))"
)
_BRACKETS = re.compile(r"\([^()]*\)")
REMARK = re.compile(r"\([^()]*\)\W*")
_UPPER_PART = 0.25  # share of a page
# lines at the top of a page; maximum characters of a name; minimum titles below it
_UPPER, _NAME, _PAGES_OF_NAME = 4, 80, 3
_ROW = re.compile(r"(\D.*?)[\s.·…]+\d{1,4}")
_SET_APART = re.compile(r"([A-Z]) {2,}(?=[A-Z])")
_INTEGER = re.compile(r"\D*\d+[^\da-zA-Z]*")  # of "Chapter 3" and "第3章", but not "Chapter 2.1" or "Chapter 12a"
_ATTACHED = re.compile(r"(?:exhibit|annex|appendix|schedule|attachment)\s+(?:\d[\w.()-]*|[A-Z])", re.IGNORECASE)
_RUN_IN_HAN = re.compile(r"第[零〇一二三四五六七八九十百千\d]+[条條](?:之[一二三四五六七八九十]+)?(?=\s)")


@dataclass(frozen=True, slots=True)
class PossibleHeading:
    """A line, or several, that may be a heading: the lines with the indexes ``unit`` to ``last`` of the page."""

    title: str
    page: int
    unit: int
    last: int
    style: Style
    number: Numbering | None
    prominence: float  # how much it stands out, 0 to 1
    plain: bool  # only its numbering, font or position differs from body text
    rise: float = 0.0  # relative size above body text, 0 if similar; negative for small capitals
    follows: bool = False  # directly below a larger candidate
    above: float = 0.0  # white space in points above it
    below: float = 0.0
    named: bool = False  # directly below a name in the same style that is at the top of several pages

    @property
    def sentence(self) -> bool:
        """Return whether the heading looks like a sentence: lower-case words that end with a full stop or colon."""
        words = self.title[self.number.end if self.number else 0 :].split()
        small = sum(word[0].islower() and len(word) > 3 for word in words)
        return self.title[-1] in ".:" and small >= 2 and 2 * small >= len([word for word in words if len(word) > 3])

    @property
    def counted(self) -> bool:
        """Return whether the heading begins with a plain integer, such as "3"."""
        return self.number is not None and self.number.kind.startswith("integer")

    @property
    def labelled(self) -> bool:
        """Return whether the heading is a chapter whose number is a line of its own above the title."""
        return self.number is not None and self.number.kind in CHAPTERS and self.title[:1].isdigit()

    @property
    def bold(self) -> bool:
        return bool(self.style[1] & 4)

    @property
    def capitals(self) -> bool:
        return bool(self.style[1] & 2)

    @property
    def size(self) -> float:
        return self.style[0]

    @property
    def look(self) -> Style:
        """Return the style without the use of capitals."""
        return self.style[0], self.style[1] & 5, self.style[2]


def candidates(doc: DocumentView, skip: frozenset[int] = frozenset()) -> list[PossibleHeading]:
    """Return the lines that may be headings, in reading order.

    On pages of printed contents (``skip``), only the titles of these contents may be. Repeated labels of remarks, such
    as "Warning", are left out.
    """
    if doc.body is None:
        return []
    possible: list[PossibleHeading] = []
    listed, names = frozenset(_listed(doc, skip)), names_above(doc)
    for page in doc.pages:
        if page.units:
            body = page.body or doc.body
            gap = doc.gap * (body.size / doc.body.size if doc.body.size else 1.0)
            on_page = _on_page(page, body, gap, listed, names)
            possible += (c for c in on_page if opens_contents(c.title)) if page.page.number in skip else on_page
    labels = [c.title.lower().strip(" :.!") for c in possible]
    counted = Counter(label for label in labels if label in _REMARK_WORDS)
    return [c for c, label in zip(possible, labels, strict=True) if counted[label] < _REMARKS]


def _listed(doc: DocumentView, contents: frozenset[int]) -> Iterator[str]:
    """Yield titles from printed contents: from rows with a page number that follow another such row."""
    for page in doc.pages:
        if page.page.number in contents:
            rows = [_ROW.fullmatch(unit.text) for unit in page.units]
            yield from (compact(row[1]) for above, row in pairwise(rows) if above and row)


def names_above(doc: DocumentView) -> frozenset[str]:
    """Return names, such as that of a company, that are above different titles on several pages in the same style.

    Running heads in the upper part of several pages are included: the first page may have them as a normal line.
    """
    below: defaultdict[str, set[str]] = defaultdict(set)
    heads: Counter[str] = Counter()
    for page in doc.pages:
        for unit, after in pairwise(page.units[:_UPPER]):
            if look(unit) == look(after) and 0 < after.y0 - unit.y0 < 3 * unit.size and len(unit.text) < _NAME:
                below[compact(unit.text)].add(compact(after.text))
        lines = [page.page.lines[index] for index in page.running]
        top = _UPPER_PART * (page.page.height or 1.0)
        heads.update({compact(line.text) for line in lines if line.y0 < top and len(line.text) < _NAME})
    names = {name for name, titles in below.items() if len(titles) >= _PAGES_OF_NAME}
    return frozenset(name for name in names | {head for head, pages in heads.items() if pages > 1} if name)


def _named(page: PageView, at: int, names: frozenset[str]) -> bool:
    """Return whether a line is directly below a repeated name or a running head in the same style."""
    unit = page.units[at]
    if at > _UPPER or unit.y0 > _UPPER_PART * (page.page.height or 1.0):
        return False
    above = [
        index
        for index, line in enumerate(page.page.lines)
        if 0 < unit.y0 - line.y0 < 3 * unit.size
        and line.x0 < unit.x1
        and line.x1 > unit.x0
        and (line.size, line.font, line.bold) == (unit.size, unit.font, unit.bold)
    ]
    return any(index in page.running or compact(page.page.lines[index].text) in names for index in above)


def _on_page(
    page: PageView, body: Line, gap: float, listed: frozenset[str], names: frozenset[str]
) -> list[PossibleHeading]:
    units = page.units
    above, below = spacing(units)
    in_table = tabular(units)
    right = max(unit.x1 for unit in units)
    possible: list[PossibleHeading] = []
    i = 0
    while i < len(units):
        end = _run(units, i, body.size, gap, right)
        if end > i + 1 and i < _UPPER and compact(units[i].text) in names:
            i += 1  # the name belongs to several pages
        while end > i + 1 and REMARK.fullmatch(units[end - 1].text):
            end -= 1
        if begun := [at for at in range(i + 1, end) if compact(units[at].text) in listed]:
            end = begun[0]  # it is a separate entry of the contents
        label = _label(units, i)
        end = i + 2 if label else end
        begins = run_in(units[i].text)
        if begins and not _stands_alone(units[i], below[end - 1], body, gap):
            ended = i == 0 or units[i - 1].text[-1] in ".;:)!?]。；：" or above[i] > 0.3 * body.size
            if ended and units[i].size > 0.97 * body.size:
                number = numbering(begins)
                c = PossibleHeading(
                    begins, page.page.number, i, i, style(units[i], begins, number), number, 0.4, plain=True,
                    above=above[i], below=below[i],
                )  # fmt: skip
                possible.append(c)
        elif end - i <= _MOST_LINES:
            run = units[i:end]
            title = label or _join_title(run)
            number = numbering(title) or _letter(run[0].text)
            large = run[0].size > 1.2 * body.size or (number is not None and number.kind in STRONG)
            attached = i == 0 and _ATTACHED.fullmatch(title) is not None
            if (attached or _plausible(title, number)) and (large or not any(in_table[i:end])):
                stands = prominence(run, title, number, body, gap, above[i], below[end - 1], page.page.width)
                if stands.score > 0:
                    ratio = run[0].size / body.size if body.size else 1.0
                    c = PossibleHeading(
                        title,
                        page.page.number,
                        i,
                        end - 1,
                        style(run[0], title, number),
                        number,
                        stands.score,
                        stands.plain,
                        rise=_rise(ratio),
                        above=above[i],
                        below=below[end - 1],
                        named=_named(page, i, names),
                    )
                    _add(possible, c, above[i])
        i = end
    return possible


def possible_heading(page: PageView, first: int, last: int, body: Line) -> PossibleHeading | None:
    """Return the lines ``first`` to ``last`` as a possible heading, None if they cannot be a title.

    It is for headings that were found by other means than typography.
    """
    run = page.units[first : last + 1]
    title = _join_title(run)
    number = numbering(title) or _letter(run[0].text)
    if not _plausible(title, number):
        return None
    ratio = run[0].size / body.size if body.size else 1.0
    return PossibleHeading(
        title, page.page.number, first, last, style(run[0], title, number), number, _OUTSIDE_PROMINENCE, plain=True,
        rise=_rise(ratio),
    )  # fmt: skip


def _rise(ratio: float) -> float:
    return ratio - 1 if ratio > 1.06 or ratio < 0.8 else 0.0


def _add(possible: list[PossibleHeading], c: PossibleHeading, above: float) -> None:
    """Add a candidate to the list. Below a bare number such as "Article VI", its words become the number's title."""
    last = possible[-1] if possible else None
    if last is not None and last.last == c.unit - 1:
        number = bare_number(last.title)
        if number and c.number is None and above < (5 if c.size >= last.size else 3) * c.size:
            possible[-1] = _titled(last, number, c)
            return
        c = replace(c, follows=last.size > c.size + 0.4)
    possible.append(c)


def _titled(label: PossibleHeading, number: Numbering, title: PossibleHeading) -> PossibleHeading:
    """Return a label and the title below it as one heading with the look of the larger.

    The word for a chapter is left out before an integer: "3 Results".
    """
    plain = number.kind in CHAPTERS and _INTEGER.fullmatch(label.title)
    written = str(number.value[0]) if plain else label.title
    number = replace(number, end=len(written) + 1)
    larger = max(label, title, key=lambda line: line.size)
    return replace(
        label, title=f"{written} {title.title}", number=number, last=title.last, below=title.below,
        style=larger.style, rise=larger.rise,
    )  # fmt: skip


def run_in(text: str) -> str:
    """Return the heading at the start of a numbered paragraph, "" if there is none.

    The heading of "4.2 Late Payment. The buyer …" is "4.2 Late Payment".
    """
    if len(text) > 24 and (match := _RUN_IN_HAN.match(text)):
        return match.group()
    match = _RUN_IN.match(text)
    if match is None:
        return ""
    words = [word for word in match["words"].split() if len(word) > 3 and word[0].isalpha()]
    return match.group().strip().rstrip(".:—–- ") if words and all(word[0].isupper() for word in words) else ""


def _stands_alone(unit: Unit, below: float, body: Line, gap: float) -> bool:
    """Return whether a line in another style than body text is separated from the text below by white space.

    In this case the whole line is a title. If not, it may contain the beginning of a paragraph.
    """
    other = (unit.bold and not body.bold) or (unit.italic and not body.italic) or unit.size > 1.08 * body.size
    return other and below > max(1.3 * (gap - body.size), 0.35 * body.size)


def _label(units: tuple[Unit, ...], at: int) -> str:
    """Return the number of a chapter whose word and number are two lines ("CHAPTER", "THREE"), "" for other lines.

    A number in words becomes digits. Several numbers below a word are a table column: "Item", "1", "2".
    """
    word, of, after = (*(unit.text.strip() for unit in units[at : at + 3]), "", "")[:3]
    number = split_number(word, of)
    if number is None or split_number(word, after):
        return ""
    return f"{word} {of if len(of) < 3 or not of.isalpha() else number.value[0]}"


def _run(units: tuple[Unit, ...], start: int, body: float, gap: float, right: float) -> int:
    """Return the index after the lines from ``start`` in one style: a wrapped title, or a paragraph.

    A title in the size of body text is wrapped only where its next word does not fit before the margin ``right``.
    """
    end = start + 1
    while end < len(units):
        last, unit = units[end - 1], units[end]
        same = abs(unit.size - last.size) < 0.3
        if unit.size < 1.25 * body or unit.font[:4] != last.font[:4]:
            same = same and unit.bold == last.bold and unit.italic == last.italic
        like_body = 0.94 * body < unit.size < 1.06 * body and not unit.bold
        max_gap = 1.22 * gap if like_body else 1.75 * max(last.size, 6)
        if not same or not 0 < unit.y0 - last.y0 < max_gap or unit.x0 >= last.x1 or unit.x1 <= last.x0:
            break
        number = numbering(unit.text)
        if number is not None and not number.kind.startswith("integer"):
            break
        if not like_body and unit.size < 1.25 * body and _ends(last, unit, right):
            break
        end += 1
    return end


def _ends(last: Unit, unit: Unit, right: float) -> bool:
    """Return whether a title ends with the line ``last``: it has room for the first word of ``unit`` below it."""
    if abs(last.x0 - unit.x0) > 2 or not unit.text[0].isupper() or OPEN_END.search(last.text):
        return False
    word = unit.text.split(maxsplit=1)[0]
    letter = (last.x1 - last.x0) / len(last.text)
    return last.x1 + letter * (len(word) + 3) < right and 2 * (last.x1 - last.x0) < right - last.x0


def _letter(text: str) -> Numbering | None:
    """Return the letter of an appendix as its numbering, None if no white space separates it from the title."""
    match = _SET_APART.match(text)
    return Numbering("letter-upper", (ord(match[1]) - 64,), 2) if match else None


def _join_title(run: tuple[Unit, ...]) -> str:
    text = closed_up(run[0].text)
    for unit in run[1:]:
        more = closed_up(unit.text)
        text = text[:-1] + more if text.endswith("-") and more[:1].islower() else f"{text} {more}"
    return _NOTE_MARK.sub("", " ".join(text.split()).strip(_DECORATION))


def _plausible(title: str, number: Numbering | None) -> bool:
    """Return whether a text can be a title.

    It must have words and a suitable length, and must not be a caption, a theorem, a row of dots or a date.
    """
    if _THEOREM.match(title):
        return False
    if not 2 <= len(title) <= _MOST_LETTERS or _LEADER.search(title) or _CAPTION.match(title) or _DATE.fullmatch(title):
        return False
    rest = _BRACKETS.sub("", title[number.end :]) if number else title
    letters = sum(map(str.isalpha, rest))
    if letters < 2 and not (number and number.kind in STRONG):
        return False
    return letters >= 0.5 * len(rest.replace(" ", ""))
