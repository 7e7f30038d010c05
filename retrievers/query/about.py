"""Questions about a document as a whole: what it is about, a summary, its key findings, its conclusions.

Some say so in words of their own («summary of …»). Others only name a document and ask for nothing in it: «What does
the survey deal with?», «Walk me through the survey», «The survey in two sentences».
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from hybrid_core.text.tokens import tokenise

Wanted = Literal["summary", "findings", "conclusion", "abstract"]
"""What of a document says it: any summary of it, what it found, what it concludes, its abstract."""

_FINDINGS = r"(?:findings?|points?|takeaways?|take-aways?|messages?|insights?|results?|highlights|arguments?|ideas?)"
_SAID: dict[Wanted, str] = {
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
def _wanted() -> re.Pattern[str]:
    """Compiled when a question may want this: that takes longer than a search."""
    return re.compile("|".join(f"(?P<{wanted}>{said})" for wanted, said in _SAID.items()), re.IGNORECASE)


def wants_whole(question: str) -> tuple[Wanted, str] | None:
    """What of a whole document a question wants, and the question without the words that say so; None where its words
    ask for no such thing. Whether anything else is asked for is told by what is left."""
    folded = question.lower()
    match = _wanted().search(question) if any(hint in folded for hint in _HINTS) else None
    if match is None or match.lastgroup is None:
        return None
    wanted: Wanted = next(name for name in _SAID if name == match.lastgroup)
    return wanted, _wanted().sub(_hollow, question)


def _hollow(match: re.Match[str]) -> str:
    """Of «what is the paper about» «the paper» stays."""
    return re.sub(r"(?i)\b(?:what|about|is|it)\b", " ", match[0]) if match[0].lower().startswith("what") else " . "


_ASKS = (
    r"\b(?:what(?:['’]?s)?|tell|explain|describe|walk|introduce|boil|break|sum|give|show|brief|read"
    r"|was|wovon|worum|worüber|wor[üu]m|womit|erkl[äa]r\w*|beschreib\w*|fass\w*|gib|zeig\w*|stell\w*|erz[äa]hl\w*"
    r"|que|quoi|qu['’]est-ce|explique\w*|d[ée]cri\w*|pr[ée]sente\w*|qu[ée]|describ\w*|expl[íi]ca\w*)\b"
    r"|\bin\s+(?:\w+\s+){1,3}(?:words?|sentences?|paragraphs?|lines?|minutes?|terms|s[äa]tzen|worten?)\b"
    r"|什么|哪些|介绍|讲|说|谈|解释|描述"
)
# A question of when, who, where or how much asks for something in the document.
_ASKS_FOR_ONE = (
    r"^\W*(?:who|whose|whom|when|where|which|how|why|is|are|was\s+there|did|do|can|wer|wann|wo|wie|welche\w*|qui|quand|o[ùu]"
    r"|quel\w*|qui[ée]n|cu[áa]ndo|d[óo]nde|谁|何时|哪里|为什么|如何)\b"
)
# «What does … cover?»: what stands between names the document, though other words than its own may.
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
    """Whether a question would ask for a document as a whole if it asked for nothing in it."""
    asks, for_one, _ = _asking()
    return asks.search(question) is not None and for_one.search(question) is None


def ends_in_saying(question: str) -> bool:
    """«What does … deal with?»"""
    return _asking()[2].search(question) is not None


def without_saying(terms: Iterable[str]) -> list[str]:
    """The terms but those by which a question asks what something says."""
    return [term for term in terms if term not in _SAYS]


def without_saying_chinese(text: str) -> str:
    return _SAYS_CHINESE.sub(" ", text)
