"""Describe pages with a vision model: summary, key terms, figures, tables, and corrections of scans.

The model sees one page at a time, with the title, the section, and the beginnings of the neighbouring pages.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from pydantic import BaseModel, StringConstraints, ValidationError

from hybrid_core.errors import ChatError, DocumentError, ReplyError
from hybrid_core.llm.budget import cut
from hybrid_core.llm.client.chat_model import ChatModel, Session
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.store.cache import Cache
from hybrid_core.text.prose import first_sentence
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Page, Section
from hybrid_core.types.usage import Usage

_TITLE = 120  # characters


class PagePlace(NamedTuple):
    """The context of a page that a model is told, as lines of text.

    ``own`` names the document and the section path. ``neighbours`` are the beginnings of the pages before and after it.
    They are not part of the cache key, so the neighbours of a changed page are not described again.
    """

    own: str = ""
    neighbours: str = ""

    def __str__(self) -> str:
        return f"{self.own}\n{self.neighbours}".strip()


def place_of_page(title: str, pages: Sequence[Page], sections: Sequence[Section], number: int) -> PagePlace:
    """Return the context of a page (from 1)."""
    # Without a page number: otherwise an inserted page would make all later pages be described again.
    lines = [f"document: {_short_title(title)}"]
    on = [section for section in sections if section.start_page <= number <= section.end_page and not section.synthetic]
    if on:
        path: list[str] = []
        by_id = {section.node_id: section for section in sections}
        step: Section | None = max(on, key=lambda section: section.level)
        while step is not None:
            path.insert(0, _short_title(step.title))
            step = by_id.get(step.parent_id or "")
        lines.append(f"section: {' › '.join(path)}")
    neighbours = [
        f"page {name}: {begins}"
        for name, at in (("before", number - 1), ("after", number + 1))
        if 1 <= at <= len(pages) and (begins := _begins(pages[at - 1], sections))
    ]
    return PagePlace("\n".join(lines), "\n".join(neighbours))


def _begins(page: Page, sections: Sequence[Section]) -> str:
    """Return the title of the section that begins on a page, or the page's first line if none begins there."""
    titled = [section.title for section in sections if section.start_page == page.number and not section.synthetic]
    first = next((line for line in page.text.splitlines() if line.strip()), "")
    return _short_title(titled[0] if titled else first)


def _short_title(text: str) -> str:
    return " ".join(text.split())[:_TITLE]


PAGE_PROMPT = "page-description"
_REFUSAL_KIND = "page-refused"  # kind of the cache entries for pages that a model does not describe
_AHEAD = 4  # pages drawn ahead of the model
_TEXT_TOKENS = 4_000  # tokens of a page's text in the prompt
_REPLY, _REPLY_WITH_TEXT = 1_500, 6_000  # tokens
_SUMMARY, _LINE, _TERM, _TEXT = 900, 1_200, 60, 60_000  # maximum characters that are stored
_TERMS, _LINES = 12, 12
_SENTENCE = 240  # maximum characters of a page that may consist of one sentence
# minimum pages with text for finding common words, and the share of pages on which such words occur
_FEW, _MOST = 4, 0.6
_TEXT_REQUEST, _SCAN_REQUEST, _PLAIN_REQUEST = "its text is wanted", "it was read from a scan", "it is known"
_CORRECTIONS = 40  # maximum per page

Drawn = Callable[[int], "Future[object]"]


class Correction(BaseModel):
    """A passage of a scan's text, and the text that the picture shows instead."""

    written: str
    shown: str


class PageSaid(BaseModel):
    """The model's reply to the prompt ``page-description``: the description of one page."""

    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    key_terms: list[str] = []
    figures: list[str] = []
    tables: list[str] = []
    text: str = ""
    corrections: list[Correction] = []


@dataclass(frozen=True, slots=True)
class PageDescriptions:
    """All pages of a document, with new descriptions where the model gave one.

    The other fields are page numbers. ``failed`` and ``refused`` map them to reasons; ``refused`` pages are not sent to
    this model again. ``read`` pages got their text from the image; ``corrected`` pages had OCR errors fixed.
    """

    pages: tuple[Page, ...]
    described: tuple[int, ...]
    read: tuple[int, ...]
    corrected: tuple[int, ...]
    failed: Mapping[int, str]
    refused: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ChosenPage:
    """A page (from 1) to describe, with its context.

    ``scan`` is True if its text was read from its image, so that a model may correct it.
    """

    number: int
    place: PagePlace
    scan: bool


def describe_pages(
    model: ChatModel,
    scope: CallScope,
    pages: Sequence[Page],
    chosen: Sequence[ChosenPage],
    drawn: Drawn,
    at_once: Executor,
    on_page: Callable[[], None],
) -> PageDescriptions:
    """Describe the ``chosen`` pages with a model, in the threads of ``at_once``.

    ``drawn`` starts drawing a page and returns a future of its images. A DocumentError from the future counts as a
    failed page; other errors, such as Cancelled, are raised.
    """
    by_number = {page.number: page for page in pages}
    ahead = _Ahead(drawn, [page.number for page in chosen])
    scans = {page.number for page in chosen if page.scan}
    session = Session(model, scope)
    running = {at_once.submit(_described, session, by_number[page.number], ahead, page): page.number for page in chosen}
    replies: dict[int, PageSaid] = {}
    failed: dict[int, str] = {}
    refused: dict[int, str] = {}
    try:
        for future in as_completed(running):
            number = running[future]
            try:
                replies[number] = future.result()
            except _RefusedError as refusal:
                refused[number] = str(refusal)
            except (ChatError, DocumentError) as error:
                failed[number] = error.message
            on_page()
    finally:
        for future in running:
            future.cancel()
        ahead.close()
    read = tuple(sorted(n for n, page in replies.items() if _textless(by_number[n]) and page.text.strip()))
    common = _Common(pages)
    changed = tuple(
        _with(page, replies[page.number], common, page.number in scans) if page.number in replies else page
        for page in pages
    )
    corrected = tuple(
        after.number
        for before, after in zip(pages, changed, strict=True)
        if before.text != after.text and after.number not in read
    )
    return PageDescriptions(
        changed, tuple(sorted(replies)), read, corrected, dict(sorted(failed.items())), dict(sorted(refused.items()))
    )


def forget_refusals(cache: Cache) -> None:
    """Delete the cached refusals of models, so that they are asked again at the next indexing of the pages."""
    cache.clear(f"part/{_REFUSAL_KIND}/")


class _RefusedError(Exception):
    """A model refused to describe a page, or its reply was unusable twice. This outcome is cached."""


class _Ahead:
    """A few page images, drawn in advance while the model works on earlier pages. Their number is limited to save
    memory.
    """

    def __init__(self, drawn: Drawn, numbers: Sequence[int]) -> None:
        self._drawn, self._waiting = drawn, deque(numbers)
        self._begun: dict[int, Future[object]] = {}
        self._lock = threading.Lock()
        with self._lock:
            self._begin()

    def take(self, number: int) -> Future[object]:
        """Return the drawn images of a page. Each page can be taken once."""
        with self._lock:
            if number not in self._begun:
                self._waiting.remove(number)
                self._begun[number] = self._drawn(number)
            future = self._begun.pop(number)
            self._begin()
        return future

    def close(self) -> None:
        with self._lock:
            self._waiting.clear()
            for future in self._begun.values():
                future.cancel()

    def _begin(self) -> None:
        while self._waiting and len(self._begun) < _AHEAD:
            number = self._waiting.popleft()
            self._begun[number] = self._drawn(number)


def _textless(page: Page) -> bool:
    return page.needs_ocr or not page.text.strip()


class _Common:
    """A test of whether a term occurs on most pages of a document, and so does not describe a single page."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._texts = [page.text.casefold() for page in pages if page.text.strip()]

    def __call__(self, term: str) -> bool:
        if len(self._texts) < _FEW:
            return False
        folded = term.casefold()
        return sum(folded in text for text in self._texts) > _MOST * len(self._texts)


def _described(session: Session, page: Page, ahead: _Ahead, chosen: ChosenPage) -> PageSaid:
    """Return the model's description of a page, cached or new.

    Raise _RefusedError, ChatError or DocumentError.
    """
    images = ahead.take(page.number).result()
    if not isinstance(images, tuple):
        raise TypeError(f"drawing a page returned {type(images).__name__} instead of images")
    text = cut(page.visible, _TEXT_TOKENS)
    place = chosen.place
    request = _TEXT_REQUEST if _textless(page) else _SCAN_REQUEST if chosen.scan else _PLAIN_REQUEST
    key = session.key(PAGE_PROMPT, request, place.own, text, *images, kind="page")
    refused_key = session.key(PAGE_PROMPT, request, place.own, text, *images, kind=_REFUSAL_KIND)
    if (cached := session.peek(key)) is not None:
        with contextlib.suppress(ValidationError):  # cached with an older schema
            reply = PageSaid.model_validate_json(cached)
            session.scope.add(Usage(cached=1))
            return reply
    if (why := session.peek(refused_key)) is not None:
        raise _RefusedError(why)
    tokens = _REPLY_WITH_TEXT if request == _TEXT_REQUEST else _REPLY
    values = {"place": str(place), "wanted": request, "page": text}
    try:
        reply = session.ask(PAGE_PROMPT, PageSaid, values, tokens=tokens, images=images)
    except ChatError as error:
        if error.failure != "refusal" and not isinstance(error, ReplyError):
            raise
        session.put(refused_key, error.message)
        raise _RefusedError(error.message) from error
    session.put(key, reply.model_dump_json())
    return reply


def _with(page: Page, reply: PageSaid, common: Callable[[str], bool], scan: bool) -> Page:
    """Return the page with the contents of the model's reply added.

    Readable text is never replaced; text of a scan is corrected.
    """
    seen = [f"Figure: {line}" for line_text in reply.figures[:_LINES] if (line := _shorten_line(line_text, _LINE))]
    seen += [f"Table: {line}" for line_text in reply.tables[:_LINES] if (line := _shorten_line(line_text, _LINE))]
    summary = _shorten_line(reply.summary, _SUMMARY)
    if not seen and _one_sentence(reply.text if _textless(page) else page.text):
        summary = first_sentence(summary)
    named = dict.fromkeys(filter(None, (_shorten_line(term, _TERM) for term in reply.key_terms)))
    terms = "; ".join([term for term in named if not common(term)][:_TERMS])
    described = "\n".join(filter(None, (terms, *seen)))
    text = "\n".join(map(_clean_row, reply.text[:_TEXT].splitlines()))
    if scan and not _textless(page):
        put_right, changes = _corrected(page.text, reply.corrections)
        described = "\n".join(filter(None, (described, *changes)))
        return replace(page, text=put_right, summary=summary, described=described)
    if not _textless(page) or not text.strip():
        return replace(page, summary=summary, described=described)
    page = replace(page, text=text.strip("\n"), boxes=(), ocr=True, needs_ocr=False)
    return replace(page, summary=summary, described=described)


def _one_sentence(text: str) -> bool:
    """Return whether a text consists of at most one sentence."""
    sentence = " ".join(text.split())
    return 0 < len(sentence) <= _SENTENCE and first_sentence(sentence) == sentence


def _corrected(text: str, corrections: Sequence[Correction]) -> tuple[str, list[str]]:
    """Return a text with each correction applied once, and a line of text about each change.

    Line breaks do not change.
    """
    changes = []
    for correction in corrections[:_CORRECTIONS]:
        written, shown = correction.written.strip(), _shorten_line(correction.shown, _TERM * 2)
        whole = re.compile(rf"(?<!\w){re.escape(written)}(?!\w)")
        if not written or not shown or written == shown or "\n" in written or len(whole.findall(text)) != 1:
            continue
        text = whole.sub(lambda _, shown=shown: shown, text)  # type: ignore[misc]
        changes.append(f"Corrected from the picture: {shown} (the scan's text: {written})")
    return text, changes


def _clean_row(line: str) -> str:
    """Return a line of text, with cells of Markdown rows separated as in parsed tables."""
    cells = [clean(cell).strip() for cell in line.strip().strip("|").split("|")]
    return "" if all(set(cell) <= {"-", ":"} for cell in cells) else "  ".join(cells)


def _shorten_line(text: str, limit: int) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
