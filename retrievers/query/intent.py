"""Recognise whether a question is about a whole document, about several pages, or about the previous question.

Questions about a whole document say so ("summary of …"), or name a document and nothing in it: "What does the survey
deal with?", "Walk me through the survey", "The survey in two sentences".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from hybrid_core.text.names import has_cjk
from hybrid_core.text.periods import find_periods
from hybrid_core.text.prose import common, language_of
from hybrid_core.text.tokens import tokenise
from retrievers.query.question import read_question
from retrievers.query.words import compares, content_words, without_frame

Wanted = Literal["summary", "findings", "conclusion", "abstract"]
"""The kind of overview of a document that a question asks for: any summary, its findings, its conclusion, or its
abstract.
"""

_FINDINGS = r"(?:findings?|points?|takeaways?|take-aways?|messages?|insights?|results?|highlights|arguments?|ideas?)"
_PATTERNS: dict[Wanted, str] = {
    "abstract": r"\babstract\s+(?:of|from)\b|\b(?:the|its)\s+abstract\b|摘要",
    "conclusion": r"\bconclusions?\b|\bconclud(?:e|es|ed|ing)\b|\bschlussfolgerung(?:en)?\b|\bfazit\b"
    r"|\bconclusi[óo]n(?:es)?\b|结论",
    "findings": rf"\b(?:key|main|most\s+important|principal|major|central)\s+{_FINDINGS}\b|\btake-?aways?\b"
    r"|\bwichtigste[nrs]?\s+(?:erkenntnisse|ergebnisse|punkte)\b|\bkernaussagen\b"
    r"|\bprincipa(?:ux|les)\s+(?:r[ée]sultats|conclusions|resultados|conclusiones|hallazgos)\b|\bpoints\s+cl[ée]s\b"
    r"|主要(?:发现|结论|观点)|要点",
    "summary": r"\bwhat\b.{0,200}\babout\b\s*\W*$|\bwhat\s+(?:is|are|was)\b.{1,200}:\s*what\s+is\s+it\s+about"
    r"|\bsummar(?:y|ies|i[sz]e[sd]?|i[sz]ing)\b|\boverview\b|\btl;?\s?dr\b|\bgist\b|\bin\s+(?:short|brief|a\s+nutshell)\b"
    r"|\b(?:purpose|subject|topic|scope)\s+of\b|\bsynopsis\b|\boutline\s+of\b"
    r"|\bworum\s+geht\b|\bzusammenfass\w*|\bworüber\b|\b[üu]berblick\b"
    r"|\bde\s+quoi\b.{0,80}\b(?:parle|s['’]agit|traite)\w*|\br[ée]sum[ée]\w*|\baper[çc]u\b"
    r"|\bde\s+qu[ée]\s+(?:trata|habla|va)\b|\bresum(?:en|e|ir)\b"
    r"|(?:主要)?(?:讲|说|谈|写|介绍)(?:了|的是)?(?:些)?什么|主要内容|大意|概述|总结|概括|概要|简介",
}
_HINTS = (
    "abstract", "conclu", "schlussfolgerung", "fazit", "finding", "points", "takeaway", "take-away", "messages",
    "insights", "results", "highlights", "arguments", "ideas", "erkenntnisse", "ergebnisse", "punkte",
    "kernaussagen", "résultats", "resultats", "hallazgos", "resultados", "about", "summar", "overview", "tl;",
    "tldr", "tl dr", "gist", "in short", "in brief", "nutshell", "purpose", "subject", "topic", "scope",
    "synopsis", "outline", "worum", "zusammenfass", "worüber", "überblick", "uberblick", "de quoi", "résum",
    "resum", "aperçu", "apercu", "de qué", "de que", "摘要", "结论", "主要", "要点", "什么",
    "大意", "概", "总结", "简介",
)  # fmt: skip


@lru_cache(maxsize=1)
def _whole_pattern() -> re.Pattern[str]:
    """Return the pattern of questions about a whole document.

    It is compiled only when needed, because this takes longer than a search.
    """
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()), re.IGNORECASE)


def wants_whole(question: str) -> tuple[Wanted, str] | None:
    """Return the kind of overview that a question asks for, and the remaining question, or None.

    The remaining question lacks the words that ask for an overview. The caller checks whether it asks for something
    more specific.
    """
    folded = question.lower()
    match = _whole_pattern().search(question) if any(hint in folded for hint in _HINTS) else None
    if match is None or match.lastgroup is None:
        return None
    kind: Wanted = next(name for name in _PATTERNS if name == match.lastgroup)
    return kind, _whole_pattern().sub(_hollow, question)


def _hollow(match: re.Match[str]) -> str:
    """Return the text that replaces a match of the pattern: words of it that may name a document.

    For "what is the paper about" this is "the paper".
    """
    return re.sub(r"(?i)\b(?:what|about|is|it)\b", " ", match[0]) if match[0].lower().startswith("what") else " . "


_ASKS = (
    r"\b(?:what(?:['’]?s)?|tell|explain|describe|walk|introduce|boil|break|sum|give|show|brief|read"
    r"|was|wovon|worum|worüber|wor[üu]m|womit|erkl[äa]r\w*|beschreib\w*|fass\w*|gib|zeig\w*|stell\w*|erz[äa]hl\w*"
    r"|que|quoi|qu['’]est-ce|explique\w*|d[ée]cri\w*|pr[ée]sente\w*|qu[ée]|describ\w*|expl[íi]ca\w*)\b"
    r"|\bin\s+(?:\w+\s+){1,3}(?:words?|sentences?|paragraphs?|lines?|minutes?|terms|s[äa]tzen|worten?)\b"
    r"|什么|哪些|介绍|讲|说|谈|解释|描述"
)
# Questions of when, who, where or how much ask for something inside a document.
_ASKS_FOR_ONE = (
    r"^\W*(?:who|whose|whom|when|where|which|how|why|is|are|was\s+there|did|do|can|wer|wann|wo|wie|welche\w*|qui|quand|o[ùu]"
    r"|quel\w*|qui[ée]n|cu[áa]ndo|d[óo]nde|谁|何时|哪里|为什么|如何)\b"
)
# "What does … cover?": the words between name the document, perhaps in other words than its own.
_ENDS = (
    r"\b(?:deals?\s+with|cover(?:s|ed)?|contain(?:s|ed)?|includes?|say(?:s|ing)?|tell(?:s|ing)?(?:\s+us)?|discuss(?:es|ed)?"
    r"|describe[sd]?|treat(?:s|ed)?|address(?:es|ed)?|regulate[sd]?|govern(?:s|ed)?|set(?:s|ting)?\s+out|entails?|present(?:s|ed)?"
    r"|argue[sd]?|teach(?:es)?)\W*(?:(?:roughly|briefly|basically|essentially|mainly|exactly|in\s+(?:\w+\s+){1,3}\w+)\W*)?$"
)
_SAYS = frozenset(
    tokenise(
        """
        deal deals dealt cover contain include discuss describe treat address concern present argue regulate govern set
        entail say said tell telling us mean state announce provide content contents topic theme subject matter gist
        essence substance big picture main key central idea point thrust message core learn teach introduce intro
        introduction walk boil break sum summed try trying go going read reading roughly briefly basically essentially
        mainly exactly simple simply plain plainly english easy language terms words word sentence paragraph line
        minute nutshell few one two three four five kind sort type know understand heard brief quick quickly short
        shortly all let please dummies layman five purpose use used stand stands whole general generally
        handelt handeln handel geht gehen behandelt behandeln regelt regeln enthält enthalten steht stehen drin darin
        inhalt inhalte thema themen einblick kurz kurze kurzen kurzer knapp grob zusammen zusammenfassen fasse fassen
        erkläre erkläre erklären erzähle erzähl beschreibe beschreiben sagt sagen stelle vor wesentliche wesentlichen
        wichtigste wichtigsten satz sätzen worten wort einfachen einfach
        der die das den dem des ein eine einen einem einer eines im in an am auf aus bei für mit nach von vom zu zum zur
        es um und ist sind mir mich uns ich bitte über was wovon worum worüber
        dokument dokuments bericht berichts jahresbericht buch vertrag studie artikel aufsatz papier präsentation gesetz
        folien handbuch leitfaden
        traite parle contient dit contenu sujet présente décris explique le la les un une des du de dans sur il est que
        quoi ce cet cette moi nous bref document rapport livre contrat étude
        trata habla contiene dice contenido tema describe explica el los las una unos del en sobre es qué me nos breve
        documento informe libro contrato estudio
        """
    )
)
_SAYS_CHINESE = re.compile(
    "规定|内容|涉及|涵盖|包括|包含|主要|大概|大致|简单|简要|简短|关于|有关|讨论|论述|讲述|阐述|叙述|核心|要旨|主旨|主题|宗旨"
    "|干什么|做什么|一句话|几句话|快速|了解|读懂|描述|方面|东西|怎么回事"
)


@lru_cache(maxsize=1)
def _asking() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(_ASKS, re.IGNORECASE),
        re.compile(_ASKS_FOR_ONE, re.IGNORECASE),
        re.compile(_ENDS, re.IGNORECASE),
    )


def may_ask_what_it_says(question: str) -> bool:
    """Return whether a question may ask what a document says ("What does the survey deal with?").

    The caller checks that the question names nothing inside the document.
    """
    asks, for_one, _ = _asking()
    return asks.search(question) is not None and for_one.search(question) is None


def ends_in_saying(question: str) -> bool:
    """Return whether a question ends in a verb such as "deal with" in "What does … deal with?"."""
    return _asking()[2].search(question) is not None


def without_saying(terms: Iterable[str]) -> list[str]:
    """Return the terms without verbs such as "say" or "deal with"."""
    return [term for term in terms if term not in _SAYS]


def without_saying_chinese(text: str) -> str:
    return _SAYS_CHINESE.sub(" ", text)


MOST = 12
_LIST_RESULTS, _COMPARISON_RESULTS = 8, 4


def pages_wanted(question: str, usual: int) -> int:
    """Return the number of result pages that a question needs: at least ``usual``, at most MOST.

    Lists, comparisons and page ranges need more pages than other questions.
    """
    count = usual
    parsed = read_question(question)
    if compares(question) or len(parsed.years) > 1 or len(parsed.quarters) > 1:
        count = max(count, _COMPARISON_RESULTS)
    if _list().search(question):
        count = max(count, _LIST_RESULTS)
    for match in _range().finditer(question):
        first, last = (int(number) for number in match.groups() if number)
        count = max(count, last - first + 1)
    return min(MOST, count)


@lru_cache(maxsize=1)
def _range() -> re.Pattern[str]:
    """Return the pattern of page ranges. It is compiled only when a model may be called."""
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
_QUESTION_WORD = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|will|would|should"
    r"|has|have|had|list|name|give|show|tell|explain|describe|compare|summari[sz]e)\b|[\u3400-\u9fff]",
    re.IGNORECASE,
)
_OF_SEVERAL = re.compile(
    r"\bthe\s+(?:most|least|best|worst|other|others|main|highest|lowest|biggest|largest|smallest|strongest|weakest|longest)\b"
    r"|^\s*(?:which|who|what)\s+of\s+the\b|^\s*which\s+(?!is\b|are\b|was\b|were\b)\w+",
    re.IGNORECASE,
)  # phrases that select from several things in the previous question
_OF_WHAT = re.compile(r"\s*(?:how\s+(?:many|much|long|often|far|old|big|large|high)|when|where|who)\b", re.IGNORECASE)
_FEW = 2  # maximum content words of a question that is too short for a search
_CHANGES = frozenset(
    tokenise(
        "change changed increase increased decrease decreased rise rose risen fall fell fallen drop dropped grow grew"
        " grown growth decline declined improve improved worsen worsened higher lower more less end beginning start"
        " close since"
        " ändern geändert steigen gestiegen sinken gesunken ende anfang höher niedriger mehr weniger"
    )
)  # words that can be asked about anything that the previous question named
_SHORT = 4  # maximum words of a question without a verb ("Inventories?") that depends on the previous one
_WORD = re.compile(r"[^\s,;:?!()\[\]«»\"“”]+")


def points_back(question: str, before: str = "") -> bool:
    """Return whether a question may refer to the previous question, ``before``.

    It may do so by a pronoun, a beginning such as "And", a short form without question word, or an omitted name or
    time.
    """
    if _OPENS.match(question) or _BACK.search(question) or not content_words(question):
        return True
    if not _QUESTION_WORD.search(question) and len(question.split()) <= _SHORT:
        return True
    if not before or has_cjk(before) or language_of(before) != "English":
        return False
    if not _OF_SEVERAL.search(question) and not (_OF_WHAT.match(question) and len(content_words(question)) <= _FEW):
        return False
    return bool(_name_words(before)) and not _name_words(question) and next(find_periods(question), None) is None


def with_words_before(question: str, before: str) -> str:
    """Return a question completed with words of the previous question, ``before``.

    The names and times of the previous question are added unless the new question has its own. Its subject is added if
    the new question has none.
    """
    left = without_frame(before)
    if next(find_periods(question), None) is not None:
        for mention in sorted(find_periods(left), key=lambda mention: -mention.start):
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
    """Yield the words, each after the capitalised word before it in ``before`` if both form a name.

    "Buy" becomes "Best", "Buy", because "Best" alone is a common word.
    """
    written = _WORD.findall(before)
    for word in words:
        at = written.index(word) if word in written else 0
        if at > 1 and _names(word) and _names(written[at - 1]) and written[at - 1] not in words:
            yield written[at - 1]
        yield word


def _name_words(question: str) -> list[str]:
    """Return the capitalised words of a question except the first word."""
    return [word for word in _WORD.findall(question)[1:] if _names(word) and not word.isdigit()]


def _names(word: str) -> bool:
    """Return whether a word is written like a name, with a capital letter. It must not begin a sentence."""
    return word[0].isupper()
