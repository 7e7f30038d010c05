"""How many pages answer a question: few for most, more for a list, a count, a comparison or a stretch of pages."""

from __future__ import annotations

import re
from functools import lru_cache

from retrievers.query.content_words import compares
from retrievers.query.question import read_question

MOST = 12
_LISTED, _COMPARED = 8, 4


def pages_wanted(question: str, usual: int) -> int:
    """``usual`` or more, MOST at most."""
    wanted = usual
    asked = read_question(question)
    if compares(question) or len(asked.years) > 1 or len(asked.quarters) > 1:
        wanted = max(wanted, _COMPARED)
    if _list().search(question):
        wanted = max(wanted, _LISTED)
    for match in _range().finditer(question):
        first, last = (int(number) for number in match.groups() if number)
        wanted = max(wanted, last - first + 1)
    return min(MOST, wanted)


@lru_cache(maxsize=1)
def _range() -> re.Pattern[str]:
    """Compiled when a model may be asked."""
    called = r"(?:pages?|pp?\.|slides?|seiten?|folien?|p[áa]ginas?|diapositiv\w*)"
    number = r"(\d{1,4})"
    between = r"\s*(?:[-–—~]|to|through|until|and|bis|und|à|au|et|a|hasta|y|至|到)\s*"
    chinese = rf"第\s*{number}\s*页?{between}第?\s*{number}\s*页"
    return re.compile(rf"{called}\s*{number}{between}{called}?\s*{number}\b|{chinese}", re.IGNORECASE)


@lru_cache(maxsize=1)
def _list() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:list|enumerate|name|give|show|identify)\s+(?:me\s+|us\s+)?(?:all|every|each|the\s+(?:names|different|various)|\d+)\b"
        r"|\b(?:what|which)\s+are\s+(?:all|the\s+(?:names|different|various|main|\d+))\b|^\W*list\b|^\W*enumerate\b"
        r"|\bhow\s+many\s+(?:\w+\s+){0,2}(?:figures?|tables?|charts?|graphs?|diagrams?|pictures?|photos?|images?|maps?|pages|slides"
        r"|sections?|chapters?|times|examples?|documents?)\b"
        r"|\b(?:throughout|across)\s+the\s+(?:whole\s+|entire\s+)?(?:document|report|paper|deck|file|book)\b"
        r"|\b(?:alle|sämtliche|toutes?\s+les|tous\s+les|todos\s+los|todas\s+las)\b|列出|列举|所有|全部|多少[张个幅]",
        re.IGNORECASE,
    )
