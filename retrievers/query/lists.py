"""Questions for documents, not for a passage: «which documents talk about …», «list the endorsement agreements»."""

from __future__ import annotations

import re
from functools import lru_cache

_HINTS = (
    "document", "paper", "report", "contract", "agreement", "filing", "file", "book", "article", "statute",
    "law", "release", "presentation", "deck", "manual", "guide", "stud", "survey", "slide", "letter", "minutes",
    "memo", "polic", "mail", "10-k", "10k", "10-q", "10q", "8-k", "8k", "dokument", "bericht", "vertr",
    "gesetz", "rapport", "contrat", "lois", "informe", "leyes", "法", "文件", "文档", "合同", "协议",
    "报告", "论文", "书",
)  # fmt: skip
_PLURAL = (
    r"(?:documents|papers|reports|contracts|agreements|filings|files|books|articles|statutes|laws|releases|presentations"
    r"|decks|manuals|guides|studies|surveys|slides|letters|minutes|memos|policies|notebooks|mails|e-?mails"
    r"|10-?[kq]s|8-?ks|dokumente|berichte|vertr[äa]ge|gesetze|rapports|contrats|lois|documentos|informes|contratos|leyes)"
)


@lru_cache(maxsize=1)
def _list() -> re.Pattern[str]:
    """Compiled when a question may want documents: that takes longer than a search."""
    return re.compile(
        rf"^\W*(?:(?:which|what|list|name|show|find|give|are|is)\b(?:\s+(?:me|us|there|any|all|the|of|our|my|every)){{0,4}}"
        rf"\s+)?(?:[\w&-]+\s+){{0,3}}?{_PLURAL}\b"
        r"|^\W*(?:which|what)\s+(?:document|paper|report|contract|agreement|filing|file|book|law|presentation|release)\s+"
        r"(?:talks?|speaks?|deals?|discusses|mentions|covers|says|tells|is\s+about|has|contains|describes)\b"
        r"|^\W*(?:welche|quels|quelles|qu[ée]|cu[áa]les)\s+(?:\w+\s+){0,2}?(?:dokumente?|berichte?|vertr[äa]ge?|gesetze?|rapports?"
        r"|documents?|contrats?|lois|documentos?|informes?|contratos?|leyes)\b"
        r"|(?:哪些|哪几[部份个篇]|有哪些|列出).{0,6}(?:法律|法规|文件|文档|合同|协议|报告|论文|书)",
        re.IGNORECASE,
    )


def asks_for_documents(question: str) -> bool:
    """Whether a question wants to know which documents there are."""
    folded = question.lower()
    return any(hint in folded for hint in _HINTS) and _list().search(question) is not None
