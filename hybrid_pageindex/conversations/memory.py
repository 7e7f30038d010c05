"""The memory of a conversation: recent exchanges, a summary of older ones, titles, and the searched documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.errors import ChatError, NotFoundError
from hybrid_core.llm.budget import cut, estimate
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import prompt
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.conversations import ConversationMessage, ConversationScope, Summary
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request
from hybrid_pageindex.engine.documents.reading import library_documents
from retrievers.candidates import documents as select

_MARK = re.compile(r"\s*\[\[source:\d+\]\]")
_ANSWER = 600  # tokens of an earlier answer that are shown
_QUESTIONS = 400  # tokens of the questions that stand for exchanges which nobody has summarised


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer.

    ``searched`` is the question rewritten to be understandable by itself. ``pages`` are (doc_id, number) of the pages
    that support the answer.
    """

    question: str
    answer: str
    searched: str = ""
    pages: tuple[tuple[str, int], ...] = ()
    message: int = 0

    @property
    def text(self) -> str:
        return f"Question: {self.question}\nAnswer: {cut(_MARK.sub('', self.answer), _ANSWER)}"


@dataclass(frozen=True, slots=True)
class Memory:
    """The part of a conversation that a model reads: a summary of older exchanges, and the recent exchanges.

    ``fallen`` are exchanges that neither the summary nor the recent exchanges contain.
    """

    summary: str = ""
    exchanges: tuple[Exchange, ...] = ()
    fallen: tuple[Exchange, ...] = ()

    @property
    def last(self) -> Exchange | None:
        return self.exchanges[-1] if self.exchanges else None

    @property
    def text(self) -> str:
        """Return the memory as text for a model, "" if it is empty."""
        parts = [f"Summary of the beginning: {self.summary}"] if self.summary else []
        if self.fallen:
            questions = "\n".join(f"- {exchange.question}" for exchange in self.fallen)
            parts.append(f"Asked before:\n{cut(questions, _QUESTIONS)}")
        return "\n\n".join([*parts, *(exchange.text for exchange in self.exchanges)])


def exchanges(path: Sequence[ConversationMessage]) -> list[Exchange]:
    """Return all pairs of question and answer on a path of messages, from the first on."""
    result = []
    for question, answered in zip(path[::2], path[1::2], strict=False):
        pages = tuple((citation.doc_id, citation.page) for citation in answered.citations if citation.cited)
        text = answered.text or answered.result.why
        result.append(Exchange(question.text, text, answered.searched or question.text, pages, answered.id))
    return result


def remember(exchanges: Sequence[Exchange], tokens: int, summary: Summary | None = None) -> Memory:
    """Return a memory with the last exchanges that fit ``tokens``, at least one.

    Older exchanges that the summary does not cover are its ``fallen``.
    """
    first = len(exchanges)
    while first and (
        first == len(exchanges) or sum(estimate(exchange.text) for exchange in exchanges[first - 1 :]) <= tokens
    ):
        first -= 1
    reached = 0 if summary is None else summary.message
    fallen = tuple(exchange for exchange in exchanges[:first] if exchange.message > reached)
    return Memory("" if summary is None else summary.text, tuple(exchanges[first:]), fallen)


_LONGEST = 60  # characters


class Title(BaseModel):
    title: str


def title_of(question: str) -> str:
    """Return the first line of a question as a title, cut at a word boundary."""
    line = " ".join(question.split()).rstrip("?？.。!！ ")
    if len(line) <= _LONGEST:
        return line
    short = line[:_LONGEST]
    return f"{short.rpartition(' ')[0] or short}…"


def title_by(model: ChatModel, question: str) -> str:
    """Return a title for a question, written by a model. If the model fails, return the question's first line."""
    written = prompt("conversation-title")
    try:
        reply = model.ask(written.messages({"question": question}), Title, prompt=written.id, max_tokens=60)
    except ChatError:
        return title_of(question)
    return title_of(reply.value.title) if reply.value and reply.value.title.strip() else title_of(question)


def scope_of(
    catalog: Catalog, libraries: Sequence[str], documents: Sequence[str], *, everything: bool
) -> ConversationScope:
    """Return the search scope of a conversation: these libraries (names or aliases) and documents (ids, names or
    paths).

    Raise NotFoundError for an unknown name.
    """
    with catalog.snapshot() as snapshot:
        named = list(dict.fromkeys(snapshot.library(name).id for name in libraries))
        if not documents:
            return ConversationScope(() if everything else tuple(named))
        searched = [entry.name for entry in snapshot.named_libraries() if everything or entry.id in named]
        documents_held = [document for name in searched for document in library_documents(snapshot, name)]
    return ConversationScope(
        () if everything else tuple(named),
        tuple(entry.doc_id for entry in select.select_by_name(documents_held, documents)),
    )


def request_in(
    catalog: Catalog, scope: ConversationScope, question: str, fields: SearchFields
) -> tuple[SearchRequest, Note]:
    """Return the search request for a question within a conversation's scope, and a note on removed documents.

    Raise NotFoundError if all libraries or documents of the scope were removed.
    """
    with catalog.snapshot() as snapshot:
        names = {item.id: item.name for item in snapshot.named_libraries()}
        left = [item for item in scope.documents if (row := snapshot.document(item)) is not None and row.published]
    libraries = [names[item] for item in scope.libraries if item in names]
    if (scope.libraries and not libraries) or (scope.documents and not left):
        what = "libraries" if not libraries and scope.libraries else "documents"
        raise NotFoundError(f"None of the {what} of this conversation exists any more.", "Begin another conversation.")
    gone = len(scope.documents) - len(left)
    note = Note("turn.documents-gone", documents=gone) if gone else NONE
    fields_asked: SearchFields = {**fields, "all_libraries": not libraries}
    if libraries:
        fields_asked["libraries"] = libraries
    if left:
        fields_asked["documents"] = left
    return search_request(question, fields_asked), note
