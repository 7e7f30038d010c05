"""Questions about «this document» that say too little to tell which one."""

from __future__ import annotations

import re

from retrievers.query.content_words import content_words
from retrievers.query.references import references

_THIS = re.compile(
    r"\b(?:this|the given|the present|diese[smrn]?|ce|cette|este|esta)\s+"
    r"(?:documents?|dokuments?|reports?|bericht\w*|papers?|files?|datei|pdf|books?|buch\w*|slides?|deck|presentation|"
    r"brochure|manual|article|filing|guide|leaflet|document[oe]?|rapport|informe|libro)\b"
    r"|(?:本|这份|这个|该)(?:文档|文件|报告|论文|书|手册|幻灯片)",
    re.IGNORECASE,
)
_TELLING = 2  # so many words of its own tell the document apart after all


def unnamed_document(question: str) -> bool:
    """Whether it asks about «this document», or a place by its number, and says nearly nothing else: any document of a
    library may be meant.
    """
    places = [one for one in references(question) if one.kind != "part"]
    if not places and _THIS.search(question) is None:
        return False
    left = _THIS.sub(" ", question)
    for one in places:
        left = left.replace(one.written, " ")
    return len([word for word in content_words(left) if word not in _PLACED]) < _TELLING


_PLACED = frozenset({"show", "shown", "written", "write", "titl", "title", "first", "last", "number", "content"})
