"""The pages that were found, set out where no model answers from them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybrid_core.types.answers import Answer, Source
from retrievers.pages import snippet
from retrievers.pages.windows import PassageTerms
from retrievers.query.question import read_question

_LINES = 120  # tokens of a page's lines
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def passages(answer: Answer, searched: str) -> str:
    """Markdown: why there is no answer, then each page with its place and the lines that fit best."""
    if not answer.sources:
        return escaped(answer.why or "Nothing was found.")
    asked = read_question(searched)
    terms = PassageTerms(dict.fromkeys(asked.terms, 1.0))
    parts = [f"{escaped(_first_upper(answer.why))}:" if answer.why else "These pages fit best:"]
    parts += [_page(source, terms, numeric=asked.numeric) for source in answer.sources]
    if answer.evidence.hint:
        parts.append(escaped(answer.evidence.hint))
    return "\n\n".join(parts)


def _page(source: Source, terms: PassageTerms, *, numeric: bool) -> str:
    label = f" ({source.label})" if source.label and source.label != str(source.page) else ""
    where = " › ".join(source.section_path)
    head = f"**{escaped(source.doc_name)}, page {source.page}{escaped(label)}** [[source:{source.number}]]"
    lines = snippet.excerpt(source.text, terms, _LINES, numeric=numeric) if source.text else source.snippet
    quoted = [f"> {escaped(line)}" for line in _told(lines.splitlines() or [source.snippet])]
    return "\n".join([f"{source.number}. {head}", f"   {escaped(where)}", "", *(f"   {one}  " for one in quoted)])


def _told(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".:")


def escaped(text: str) -> str:
    """What a document says is no markup of ours."""
    return _MARKUP.sub(r"\\\1", text)
