"""Whether a question of a conversation stands alone, and what it means by the words of the one before it."""

from __future__ import annotations

import re

from hybrid_core.text.names import has_cjk
from hybrid_core.text.periods import find_periods
from retrievers.query.content_words import content_words, without_frame

_BACK = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|hers?|this|these|those|one|ones|there"
    r"|former|latter|above|aforementioned|same|both|previous(?:ly)?|earlier|else|instead)\b"
    r"|(?:^|\b(?:about|of|for|to|in|by|than|with|like|after|before|from|is|was|were|are|does|did|do|has|had|why|how"
    r"|explain|mean|compare))\s+that\b(?!\s+(?:the|a|an|is|are|was|were)\b)"
    r"|\bthe\s+(?:company|firm|group|organi[sz]ation|author|report|document|paper|contract|agreement|parties|answer)\b"
    r"|它|他们|她们|他的|她的|这个|那个|这些|那些|这里|那里|该|其中|其(?=[^他它实])|此|上述|前者|后者|同样|呢[？?]?\s*$",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"^\s*(?:and|but|or|so|then|also|plus|why|what\s+about|how\s+about|what\s+else|how\s+so|more|go\s+on|continue"
    r"|yes|yeah|yep|no|ok(?:ay)?|sure|please|und|oder|aber|warum|et|ou|mais|pourquoi|y|pero|por\s+qué"
    r"|那|那么|还有|另外|为什么|继续|好的?|是的?)(?=[\s,.?!，。？！]|$|[\u3400-\u9fff])",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|will|would|should"
    r"|has|have|had|list|name|give|show|tell|explain|describe|compare|summari[sz]e)\b|[\u3400-\u9fff]",
    re.IGNORECASE,
)
_SHORT = 4  # words of a question without a verb («Inventories?»), which leaves out what was said before
_WORD = re.compile(r"[^\s,;:?!()\[\]«»\"“”]+")


def points_back(question: str) -> bool:
    """Whether it may mean something that was said before: by a word, by how it begins, or by what it leaves out."""
    if _OPENS.match(question) or _BACK.search(question) or not content_words(question):
        return True
    return not _ASKS.search(question) and len(question.split()) <= _SHORT


def with_words_before(question: str, before: str) -> str:
    """The question with the words of the one before it: its names and times, unless new ones are said, and what it asks
    for where the new one asks for nothing of its own, or only says of whom.
    """
    left = without_frame(before)
    if next(find_periods(question), None) is not None:
        for mention in sorted(find_periods(left), key=lambda one: -one.start):
            left = f"{left[: mention.start]} {left[mention.end :]}"
    words = _WORD.findall(left)
    if content_words(question) and not has_cjk(before):
        own = _WORD.findall(without_frame(question))
        names_alone = not question.startswith(own[0]) and all(map(_names, own)) if own else False
        chosen = [word for word in words if word[0].isdigit() or _names(word) is not names_alone]
        words = chosen or words
    said = question.casefold()
    return " ".join([question.strip(), *(word for word in words if word.casefold() not in said)])


def _names(word: str) -> bool:
    """Whether a word inside a sentence is written as names are."""
    return word[0].isupper()
