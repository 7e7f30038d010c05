"""Write conversations as Markdown or JSON, and the documents that they cite as BibTeX or CSL JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from hybrid_core.types.conversations import Citation, Conversation, ConversationMessage
from hybrid_pageindex.conversations.turns import escaped

Format = Literal["markdown", "json", "bibtex", "csl"]
_MARK = re.compile(r"\[\[source:(\d+)\]\]")
_STATES = {"changed": "the document has changed since", "gone": "the document was removed"}


def exported(conversation: Conversation, path: Sequence[ConversationMessage], format: Format) -> str:
    """Return a conversation as Markdown or JSON, or the documents that it cites as BibTeX or CSL JSON."""
    if format == "json":
        shape = {"conversation": conversation.to_dict(), "messages": [message.to_dict() for message in path]}
        return json.dumps(shape, ensure_ascii=False, indent=2) + "\n"
    if format in ("bibtex", "csl"):
        works = cited_works([citation for message in path for citation in message.citations if citation.cited])
        return to_bibtex(works) if format == "bibtex" else to_csl(works)
    parts = [f"# {escaped(conversation.title or 'Conversation')}", f"*{_at(conversation.created_at)}*"]
    for message in path:
        if message.role == "user":
            parts.append(f"## {escaped(' '.join(message.text.split()))}")
            continue
        parts.append(_MARK.sub(r"[\1]", message.text) if message.text else "*No answer.*")
        if message.cause:
            parts.append(f"*{escaped(message.cause)}*")
        parts += [f"*{escaped(remark)}*" for remark in _remarks(message)]
        sources = [citation for citation in message.citations if citation.cited or not message.text]
        if sources:
            parts.append("\n".join(map(_citation_line, sources)))
    return "\n\n".join(parts) + "\n"


def _remarks(message: ConversationMessage) -> list[str]:
    """Return warnings about an answer: it is incomplete or missing, has weak evidence, or makes unsupported claims."""
    result = message.result
    ends = {
        "cancelled": "The answer was stopped before it was complete.",
        "interrupted": "The answer is incomplete, because the server ended.",
    }
    evidence = {"weak": "The evidence is weak.", "none": "The sources do not seem to contain the answer."}
    remarks = [ends.get(message.status, "")]
    if message.status == "complete":
        if result.outcome == "no_model":
            remarks.append("No language model is set up, so these are the pages that fit best.")
        elif result.outcome not in ("", "answered"):
            remarks.append(str(result.why) or "No answer was written; these pages fit best.")
        remarks.append(evidence.get(result.evidence, ""))
    remarks += [f"Not supported by the sources: {text} ({why})" for text, why in result.unsupported]
    return [remark for remark in remarks if remark]


def _citation_line(citation: Citation) -> str:
    label = f" ({citation.label})" if citation.label and citation.label != str(citation.page) else ""
    where = " › ".join((f"page {citation.page}{label}", *citation.section_path))
    state = f" *({_STATES[citation.state]})*" if citation.state in _STATES else ""
    name = citation.doc_name
    if citation.doc_title and citation.doc_title != name:
        name = f"{citation.doc_title} ({name})"
    return f"[{citation.number}] {escaped(name)}, {escaped(where)}{state}: {escaped(citation.quote)}  "


def _at(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True, slots=True)
class CitedWork:
    """A cited document with the pages that are cited, in order. ``key`` is unique among the works of an export."""

    key: str
    title: str
    file: str
    pages: tuple[int, ...]


def cited_works(citations: Iterable[Citation]) -> list[CitedWork]:
    """Return one work for each document, in the order of its first citation."""
    pages: dict[tuple[str, str], set[int]] = {}
    first: dict[tuple[str, str], Citation] = {}
    for citation in citations:
        document = (citation.library, citation.doc_id)
        first.setdefault(document, citation)
        pages.setdefault(document, set()).add(citation.page)
    works: list[CitedWork] = []
    keys: set[str] = set()
    for document, citation in first.items():
        title = citation.doc_title or citation.doc_name
        name = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        stem = "-".join(re.findall(r"[a-z0-9]+", name.lower())[:5]) or "document"
        key = next(key for number in range(1, len(first) + 2) if (key := _numbered(stem, number)) not in keys)
        keys.add(key)
        works.append(CitedWork(key, title, citation.doc_name, tuple(sorted(pages[document]))))
    return works


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"


_BIBTEX_ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_"}
)


def to_bibtex(works: Sequence[CitedWork]) -> str:
    """Return works as BibTeX entries. Pages and the file name are in the note."""
    entries = []
    for work in works:
        title, file = (" ".join(text.split()).translate(_BIBTEX_ESCAPES) for text in (work.title, work.file))
        pages = ", ".join(map(str, work.pages))
        entries.append(f"@misc{{{work.key},\n  title = {{{{{title}}}}},\n  note = {{{file}, p. {pages}}}\n}}\n")
    return "\n".join(entries)


def to_csl(works: Sequence[CitedWork]) -> str:
    """Return works as CSL JSON."""
    items = [
        {
            "id": work.key, "type": "document", "title": " ".join(work.title.split()),
            "page": ", ".join(map(str, work.pages)), "note": work.file,
        }
        for work in works
    ]  # fmt: skip
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"
