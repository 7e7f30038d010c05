"""How clearly a line stands out from body text: size, weight, capitals, numbering, font and white space."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_core.types.documents import Line
from indexers.outline.geometry import CELL
from indexers.outline.numbering import STRONG, Numbering
from indexers.outline.view import Unit

Style = tuple[float, int, str]  # size, 4 bold + 2 capitals + 1 italic, font

WEAK = 0.2  # stands out, but is long or ends like a sentence: a heading only where a section has no others


@dataclass(frozen=True, slots=True)
class Prominence:
    """``score`` from 0 (body text) to 1. ``plain``: only its numbering, font or place tells it from body text."""

    score: float
    plain: bool = False


_NONE = Prominence(0.0)


def look(unit: Unit) -> Style:
    """A unit's style without capitals: what can be counted over all lines."""
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
    """How clearly the lines of a possible heading stand out.

    ``gap``: usual distance between the tops of body lines; ``above`` and ``below``: white space
    around the run; ``width``: of the page; all in points.
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
    if ratio < (0.8 if bold and capitals else 0.88) or (ratio < 0.97 and not (bold or capitals)):
        return _NONE
    isolated = above > max(1.5 * leading, 0.35 * body.size)
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
    """Whether a line in body type may be a heading: numbered (or in another font), set apart, not a sentence."""
    if not space_below or not (number or other_font):
        return False
    if len(run) == 1 and run[0].x1 - run[0].x0 > 0.75 * width and title[-1] in ".,":
        return False
    if number is None:
        return True
    if strong:
        words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
        return len(words) <= 3 or sum(word[0].isupper() for word in words) >= 0.6 * len(words)
    begins = title[number.end : number.end + 1]
    return title[-1] not in ".:;" and len(title) <= 120 and (begins.isupper() or begins.lower() == begins.upper())


def _capitals(text: str, least: int) -> bool:
    letters = [c for c in text if c.isalpha()]
    if len(letters) < least or letters[0].lower() == letters[0].upper():
        return False
    return sum(map(str.isupper, letters)) >= 0.9 * len(letters)
