"""Questions for documents, not for a passage: «which documents talk about …», «list the endorsement agreements»."""

from __future__ import annotations

import re

_PLURAL = (
    r"(?:documents|papers|reports|contracts|agreements|filings|files|books|articles|statutes|laws|releases|presentations"
    r"|decks|manuals|guides|studies|surveys|slides|letters|minutes|memos|policies|notebooks|mails|e-?mails"
    r"|10-?[kq]s|8-?ks|dokumente|berichte|vertr[äa]ge|gesetze|rapports|contrats|lois|documentos|informes|contratos|leyes)"
)
_LIST = re.compile(
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
    return _LIST.search(question) is not None
