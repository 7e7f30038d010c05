"""Questions about a document as a whole: what it is about, a summary, its key findings, its conclusions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

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
