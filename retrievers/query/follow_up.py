"""Whether a question of a conversation stands alone, and what it means by the words of the one before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybrid_core.text.languages import common, language_of
from hybrid_core.text.names import has_cjk
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import tokenise
from retrievers.query.content_words import content_words, without_frame

_BACK = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|hers?|this|these|those|one|ones|there"
    r"|former|latter|above|aforementioned|same|both|previous(?:ly)?|earlier|else|instead)\b"
    r"|(?:^|\b(?:about|of|for|to|in|by|than|with|like|after|before|from|is|was|were|are|does|did|do|has|had|why|how"
    r"|explain|mean|compare))\s+that\b(?!\s+(?:the|a|an|is|are|was|were)\b)"
    r"|\b(?:do|did|stop|undo|change|cancel|avoid|repeat|of|for|with)?\s*\bthat\s*[?.!]*$|\b(?:since|between|by|until|before|after)\s+then\b"
    r"|\b(?:dabei|dafür|dagegen|daraus|darauf|darüber|davon|dazu|daran|darin|dadurch|diese[rsnm]?|dies|jene[rsnm]?|dort|damals"
    r"|ebenso|stattdessen|beide[rsn]?|derselbe|dieselbe|dasselbe)\b|(?<!, )\b(?:damit|dessen|deren)\b"
    r"|^(?:[^\s,]+\s+){0,4}(?:er|sie|ihn|ihm|ihr(?:e[rsnm]?)?|seine[rsnm]?)\b"
    r"|\b(?:ist|sind|war|wird|kann|setzt|gilt|heißt|bedeutet|regelt|kostet|dauert|ändert|warum|wann|wie|wo|was)\s+(?:das|es|die|der)"
    r"(?=\s*(?:[?.!]|$|\s(?:(?-i:[a-zäöüß]+(?:t|en))|voraus|vor|aus|an|ab|geregelt|möglich|zulässig|so|auch|nicht|dann|denn)\s*[?.!]*$))"
    r"|\b(?:cela|ça|celui-ci|celle-ci|ceux-ci|eso|esto|ello|ellos|ellas|aquello|lo\s+mismo)\b"
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
_OF_SEVERAL = re.compile(
    r"\bthe\s+(?:most|least|best|worst|other|others|main|highest|lowest|biggest|largest|smallest|strongest|weakest|longest)\b"
    r"|^\s*(?:which|who|what)\s+of\s+the\b|^\s*which\s+(?!is\b|are\b|was\b|were\b)\w+",
    re.IGNORECASE,
)  # what stands out among others, which are those of the question before
_OF_WHAT = re.compile(r"\s*(?:how\s+(?:many|much|long|often|far|old|big|large|high)|when|where|who)\b", re.IGNORECASE)
_FEW = 2  # words of a question that says too little to be searched for
_CHANGES = frozenset(
    tokenise(
        "change changed increase increased decrease decreased rise rose risen fall fell fallen drop dropped grow grew"
        " grown growth decline declined improve improved worsen worsened higher lower more less end beginning start"
        " close since"
        " ändern geändert steigen gestiegen sinken gesunken ende anfang höher niedriger mehr weniger"
    )
)  # what is asked of anything: the question before says of what
_SHORT = 4  # words of a question without a verb («Inventories?»), which leaves out what was said before
_WORD = re.compile(r"[^\s,;:?!()\[\]«»\"“”]+")


def points_back(question: str, before: str = "") -> bool:
    """Whether it may mean something that was said before: by a word, by how it begins, or by what it leaves out.

    It leaves names out where the question ``before`` says whom it is about, and this one neither whom nor when.
    """
    if _OPENS.match(question) or _BACK.search(question) or not content_words(question):
        return True
    if not _ASKS.search(question) and len(question.split()) <= _SHORT:
        return True
    if not before or has_cjk(before) or language_of(before) != "English":
        return False
    if not _OF_SEVERAL.search(question) and not (_OF_WHAT.match(question) and len(content_words(question)) <= _FEW):
        return False
    return bool(_named(before)) and not _named(question) and next(find_periods(question), None) is None


def with_words_before(question: str, before: str) -> str:
    """The question with the words of the one before it: its names and times, unless new ones are said, and what it asks
    for where the new one asks for nothing of its own, or only says of whom.
    """
    left = without_frame(before)
    if next(find_periods(question), None) is not None:
        for mention in sorted(find_periods(left), key=lambda one: -one.start):
            left = f"{left[: mention.start]} {left[mention.end :]}"
    language = language_of(before)
    words = [word for word in _WORD.findall(left) if language == "English" or not common(word, language)]
    words = list(_with_whole_names(words, before))
    if set(content_words(question)) - _CHANGES and not has_cjk(before) and language != "German":
        own = _WORD.findall(without_frame(question))
        names_alone = not question.startswith(own[0]) and all(map(_names, own)) if own else False
        chosen = [word for word in words if word[0].isdigit() or _names(word) is not names_alone]
        words = chosen if names_alone else chosen or words
    folded = question.casefold()
    new = [word for word in words if (word not in question if _names(word) else word.casefold() not in folded)]
    return " ".join([question.strip(), *new])


def _with_whole_names(words: Sequence[str], before: str) -> Iterator[str]:
    """Yield words, each with a common one before it that belongs to its name («Best Buy»)."""
    written = _WORD.findall(before)
    for word in words:
        at = written.index(word) if word in written else 0
        if at > 1 and _names(word) and _names(written[at - 1]) and written[at - 1] not in words:
            yield written[at - 1]
        yield word


def _named(question: str) -> list[str]:
    """The words that are written as names are, but for the first one."""
    return [word for word in _WORD.findall(question)[1:] if _names(word) and not word.isdigit()]


def _names(word: str) -> bool:
    """Whether a word inside a sentence is written as names are."""
    return word[0].isupper()
