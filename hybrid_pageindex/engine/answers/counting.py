"""Answer a question for a count or a complete list of mentions by an exhaustive search, without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.exact_words import WordQuery
from hybrid_core.text.prose import counted
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.answers import Answer, Claim, Source
from hybrid_core.types.documents import Document
from hybrid_core.types.exhaustive import MAX_LIMIT, GrepRequest
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex.engine.answers.pages import section_on
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.grep import GrepDocument
from hybrid_pageindex.engine.search.searcher import libraries_of
from retrievers.candidates import documents as select
from retrievers.query.counting import CountQuestion
from retrievers.query.question import read_question

LISTED = 40  # documents that an answer names
_PAGES = 5  # pages that are listed of each document


@dataclass(frozen=True, slots=True)
class Held:
    """The documents, by id, that contain a word or phrase in one of the spellings ``forms``.

    If no document contains the question's spelling, a similar word is counted and ``slip`` is the question's spelling.
    """

    forms: tuple[str, ...]
    documents: Mapping[str, GrepDocument]
    slip: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of documents to count. They have one of the ``types``, or the ``words`` in their names or titles.

    Both are empty if all documents are meant.
    """

    ids: frozenset[str]
    types: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class CountText:
    """A writer of sentences that state a count, in the language of the question.

    ``pages`` is the number of pages with the words, if the question asks for pages or occurrences. ``looked`` of
    ``in_all`` pages were searched.
    """

    question: CountQuestion
    sets: Sequence[Held]
    without: Sequence[Held]
    inside: Sequence[Document]
    others: Sequence[Document]
    matches_of: Mapping[str, GrepDocument]
    documents: Mapping[str, Document]
    kind: Kind
    sources: Sequence[Source]
    pages: int
    looked: int
    in_all: int
    complete: bool

    def text(self) -> str:
        german = self.question.language == "de"
        cited = {source.doc_id: source.number for source in self.sources}
        lines = [self._line(document, cited, german) for document in self.inside[:LISTED]]
        if more := len(self.inside) - LISTED:
            lines += [f"- … und {more} weitere" if german else f"- … and {more} more"] if more > 0 else []
        return "\n\n".join(part for part in (self.head(), "\n".join(lines), self._complete(german)) if part)

    def head(self) -> str:
        """Return the sentence that states the count."""
        german = self.question.language == "de"
        joint = (" und " if german else " and ") if self.question.together else (" oder " if german else " or ")
        named = joint.join(_quoted(phrase.forms, german) for phrase in self.sets)
        if self.without:
            named += (" und nicht " if german else " and not ") + ", ".join(
                _quoted(o.forms, german) for o in self.without
            )
        if self.question.unit != "documents":
            return self._places(named, german)
        of = len(self.kind.ids)
        head = f"{len(self.inside)} von {of} {'Dokumenten' if of != 1 else 'Dokument'}" if german else (
            f"{len(self.inside)} of {counted(of, 'document')}"
        )  # fmt: skip
        single = len(self.inside) == 1
        if german:
            verb = "enthält" if single else "enthalten"
            return f"{head}{self._kind(german)} {verb} {'nicht ' if self.question.absent else ''}{named}."
        verb = (
            ("does not mention" if single else "do not mention")
            if self.question.absent
            else "mentions"
            if single
            else "mention"
        )
        return f"{head}{self._kind(german)} {verb} {named}."

    def _places(self, named: str, german: bool) -> str:
        ids = [document.doc_id for document in self.inside]
        pages = self.pages
        places = sum(self.matches_of[doc_id].matches for doc_id in ids)
        if german:
            of = f"{len(ids)} {'Dokument' if len(ids) == 1 else 'Dokumenten'}"
            where = (
                f"{places} {'Stelle' if places == 1 else 'Stellen'} auf {pages} {'Seite' if pages == 1 else 'Seiten'}"
            )
            return f"{named} steht an {where} von {of}{self._kind(german)}."
        where = f"{counted(places, 'place')} on {counted(pages, 'page')} of {counted(len(ids), 'document')}"
        return f"{named} stands at {where}{self._kind(german)}."

    def _kind(self, german: bool) -> str:
        parts = [(" der Art " if german else " of the type ") + ", ".join(self.kind.types)] if (
            self.kind.types and len(self.kind.ids) < len(self.documents)) else []  # fmt: skip
        if self.kind.words:
            parts.append((" mit „{}“ im Namen" if german else " with “{}” in their name").format(self.kind.words))
        return "".join(parts)

    def _line(self, document: Document, cited: Mapping[str, int], german: bool) -> str:
        match = self.matches_of.get(document.doc_id)
        if match is None:
            return f"- {document.name}"
        pages = ", ".join(map(str, match.first_pages[:_PAGES])) + (", …" if match.pages > _PAGES else "")
        noun = ("Seite" if german else "page") if match.pages == 1 else "Seiten" if german else "pages"
        source = f" [[source:{cited[document.doc_id]}]]" if document.doc_id in cited else ""
        return f"- {document.name}: {noun} {pages}{source}"

    def _complete(self, german: bool) -> str:
        parts = []
        of = f"{self.looked} von {self.in_all}" if german else f"{self.looked} of {self.in_all}"
        if self.complete and german:
            parts.append(
                f"Die Zählung ist vollständig: Alle {self.in_all} Seiten von {len(self.documents)} Dokumenten wurden "
                "nach genau diesen Wörtern durchsucht."
            )
        elif self.complete:
            parts.append(
                f"The count is complete: all {counted(self.in_all, 'page')} of "
                f"{counted(len(self.documents), 'document')} were searched for exactly these words."
            )
        elif german:
            parts.append(f"Die Zählung ist nicht vollständig: Erst {of} Seiten wurden durchsucht.")
        else:
            parts.append(f"The count is not complete: only {of} pages were searched so far.")
        parts += [
            f"Kein Dokument enthält „{phrase.slip}“: Gezählt wurde, was ihm am ähnlichsten ist." if german
            else f"No document holds “{phrase.slip}”: what is spelled most like it was counted."
            for phrase in (*self.sets, *self.without) if phrase.slip
        ]  # fmt: skip
        if self.others:
            parts.append(
                f"Außer diesen: {len(self.others)} andere Dokumente." if german
                else f"Besides these: {counted(len(self.others), 'other document')}."
            )  # fmt: skip
        if unread := [document for document in self.documents.values() if document.unread]:
            pages = sum(document.unread for document in unread)
            parts.append(
                f"Nicht gezählt: Seiten ohne Text ({pages}, in Dokumenten: {len(unread)})." if german
                else f"Not counted: {counted(pages, 'page')} without text in {counted(len(unread), 'document')}."
            )  # fmt: skip
        return " ".join(parts)


def _quoted(forms: Sequence[str], german: bool) -> str:
    open_, close = ("„", "“") if german else ("“", "”")
    return "/".join(f"{open_}{form}{close}" for form in forms)


_SECONDS = 20.0
_CONTEXT_LENGTH = 160  # characters of a passage on either side of the words
_GENERIC = frozenset(tokenise("document documents file files pdf text texts source sources dokumente dokumenten dateien"
                              " unterlagen texte quellen"))  # fmt: skip
_PLURALS_DE = ("s", "es", "e", "en", "n", "er")


class Counting:
    """A counter of documents, pages or occurrences for one question, in the documents of its request."""

    def __init__(self, parts: Parts, request: SearchRequest, question: CountQuestion) -> None:
        self._parts, self._request, self._question = parts, request, question
        self._libraries = libraries_of(parts.catalog, request)
        self._looked = self._in_all = 0
        self._complete = True
        self.steps: list[ReasoningStep] = []
        self.note = NONE  # why there is no count

    def answer(self, result: SearchResult, *, usable: bool) -> Answer | None:
        """Return an answer with the count and a list of documents or pages.

        Return None if the kind of documents to count is unclear. With a ``usable`` model, also return None if unquoted
        words occur in no document, so that the model answers.
        """
        question, documents = self._question, self._documents()
        kind = self._of_kind(documents)
        if kind is None:
            return None
        try:
            sets = self._find_all(question)
            without = [self._find(words) for words in question.without]
        except UsageError:  # words that no page can hold
            return None
        if not question.quoted and usable and not all(phrase.documents for phrase in sets):
            missing = ", ".join(phrase.forms[0] for phrase in sets if not phrase.documents)
            self.note = Note("answer.other-words", words=missing)
            return None
        ids = _combine_documents(sets, question.together)
        ids -= set().union(*(phrase.documents for phrase in without))
        if question.absent:
            ids = set(documents) - ids
        chosen = [documents[doc_id] for doc_id in documents if doc_id in ids]
        inside = [document for document in chosen if document.doc_id in kind.ids]
        others = [document for document in chosen if document.doc_id not in kind.ids]
        matches = {} if question.absent else _together(sets)
        sources = self._sources([document for document in inside if document.doc_id in matches][:LISTED], matches, sets)
        pages = 0 if question.unit == "documents" else self._pages_of(sets[0], [document.doc_id for document in inside])
        text = CountText(
            question, sets, without, inside, others, matches, documents, kind, sources, pages, self._looked,
            self._in_all, self._complete,
        )  # fmt: skip
        claim = Claim(text.head(), tuple(source.number for source in sources), supported=True)
        searched = ", ".join(f"“{form}”" for phrase in (*sets, *without) for form in phrase.forms)
        self.steps.append(ReasoningStep("searched", f"all pages for {searched}: {len(inside)} documents"))
        return Answer(
            query=result.query, library=result.library, status="answered", text=text.text(), why=NONE, claims=(claim,),
            sources=tuple(sources), evidence=result.evidence, effort=result.effort, model="",
            usage=result.usage + Usage(),
            notes=result.notes, timings_ms=result.timings_ms, steps=tuple(self.steps),
        )  # fmt: skip

    def _documents(self) -> dict[str, Document]:
        request = self._grep_request("x")
        with self._parts.catalog.snapshot() as snapshot:
            return {
                document.doc_id: document
                for library in self._libraries
                for document in _searched(snapshot, library.id, request)
            }

    def _grep_request(self, words: str) -> GrepRequest:
        request = self._request
        named = tuple(request.documents) if request.documents else None
        return GrepRequest(words, documents=named, where=tuple(request.where), seconds=_SECONDS)

    def _of_kind(self, documents: Mapping[str, Document]) -> Kind | None:
        """Return the documents that the question's noun names, such as "annual reports", by their types and titles.

        Return None if the noun is unclear.
        """
        noun = self._question.kind
        read = read_question(noun)
        types = set(read.types) & {document.card.type for document in documents.values()}
        typing = set().union(*read.type_terms.values()) if read.type_terms else set()
        last = set(tokenise(noun.split()[-1])) if noun else set()
        adjectives = set(tokenise(noun)) - typing - _GENERIC - last
        fitting = [document for document in documents.values() if not types or document.card.type in types]
        if adjectives:
            fitting = [document for document in fitting if adjectives <= set(tokenise(_naming(document)))]
            if not fitting:
                return None
        words = " ".join(noun.split()[:-1]) if adjectives else ""
        return Kind(frozenset(document.doc_id for document in fitting), tuple(sorted(types)), words)

    def _find_all(self, question: CountQuestion) -> list[Held]:
        if question.phrase:
            whole = self._find(question.phrase)
            if whole.documents:
                return [whole]
        return [self._find(words) for words in question.words]

    def _find(self, words: str) -> Held:
        """Return the documents that contain the words. If there are none, search for similar words of the library."""
        phrase = self._in_forms(words)
        if phrase.documents or self._question.quoted:
            return phrase
        spelling = self._respelled(words)
        corrected = self._in_forms(spelling) if spelling != words else phrase
        return replace(corrected, slip=words) if corrected.documents else phrase

    def _in_forms(self, words: str) -> Held:
        forms = [words] if self._question.quoted else list(_forms(words, self._question.language))
        documents: dict[str, GrepDocument] = {}
        used = []
        for form in forms:
            result, matches = self._parts.grep.documents(self._libraries, self._grep_request(form))
            self._looked, self._in_all = result.pages_searched, result.pages_in_scope
            self._complete = self._complete and result.complete
            used += [form] if matches or form == words else []
            for match in matches:
                before = documents.get(match.doc_id)
                documents[match.doc_id] = match if before is None else _merged(before, match)
        return Held(tuple(used), documents)

    def _respelled(self, words: str) -> str:
        for word in re.findall(r"[^\W\d_]{4,}", words):
            near = self._parts.grep.spellings(self._libraries, self._grep_request(word), word)
            if near:
                right = near[0].capitalize() if word[0].isupper() else near[0]
                words = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, words)
        return words

    def _pages_of(self, phrase: Held, ids: Collection[str]) -> int:
        """Return how many pages of these documents contain any form of the phrase."""
        if len(phrase.forms) == 1:
            return sum(phrase.documents[doc_id].pages for doc_id in ids)
        pages: set[tuple[str, int]] = set()
        for form in phrase.forms:
            request = replace(self._grep_request(form), limit=MAX_LIMIT)
            while True:
                result = self._parts.grep.search(self._libraries, request)
                pages |= {(page.doc_id, page.page) for page in result.pages if page.doc_id in ids}
                if not result.cursor or not result.pages:
                    break
                request = replace(request, cursor=result.cursor)
        return len(pages)

    def _sources(
        self, documents: Sequence[Document], matches: Mapping[str, GrepDocument], sets: Sequence[Held]
    ) -> list[Source]:
        """Return one source for each document: its first page with the words, and the passage around them."""
        queries = [WordQuery(form) for phrase in sets for form in phrase.forms]
        names = {library.id: library.name for library in self._libraries} if len(self._libraries) > 1 else {}
        sources = []
        with self._parts.catalog.snapshot() as snapshot:
            firsts = [(document.content_id, matches[document.doc_id].first_pages[0]) for document in documents]
            texts = snapshot.page_texts(firsts)
            for number, (document, place) in enumerate(zip(documents, firsts, strict=True), 1):
                page = texts.get(place)
                text = page.text if page else ""
                _, path = section_on(snapshot.sections(document.content_id), place[1])
                sources.append(
                    Source(
                        number, document.doc_id, document.name, place[1], page.label if page else "", path, text,
                        _passage(text, queries), library=names.get(document.library, ""),
                    )
                )  # fmt: skip
        return sources


def _searched(snapshot: Snapshot, library: str, request: GrepRequest) -> Iterable[Document]:
    documents = [document for document in snapshot.documents(library) if document.published]
    if request.documents is not None:
        try:
            documents = select.select_by_name(documents, request.documents)
        except NotFoundError:  # the document is in another library
            return ()
    return select.select_where(documents, request.where)


def _naming(document: Document) -> str:
    return " ".join((document.name, document.title, *document.card.names, *document.card.tags))


def _combine_documents(sets: Sequence[Held], together: bool) -> set[str]:
    ids = [set(phrase.documents) for phrase in sets]
    return set.intersection(*ids) if together else set().union(*ids)


def _together(sets: Sequence[Held]) -> dict[str, GrepDocument]:
    """Return by document id the matches of each document, merged over all words."""
    documents: dict[str, GrepDocument] = {}
    for match in (document for phrase in sets for document in phrase.documents.values()):
        before = documents.get(match.doc_id)
        documents[match.doc_id] = match if before is None else _merged(before, match)
    return documents


def _merged(first: GrepDocument, second: GrepDocument) -> GrepDocument:
    """Merge one document's matches of two searches. The resulting page count is a lower bound."""
    pages = tuple(sorted({*first.first_pages, *second.first_pages}))
    count = max(first.pages, second.pages, len(pages))
    return replace(first, matches=first.matches + second.matches, pages=count, first_pages=pages)


def _forms(words: str, language: str) -> dict[str, None]:
    """Return the words in the written form, and with their last word in singular or plural. Names keep their form."""
    forms = {words: None}
    head, space, last = words.rpartition(" ")
    if not last.isalpha() or len(last) < 4:
        return forms
    if language == "de":
        if last[0].isupper():
            forms |= {f"{head}{space}{last}{ending}": None for ending in _PLURALS_DE}
        return forms
    if not last.islower():
        return forms
    if last.endswith("ies"):
        other = f"{last[:-3]}y"
    elif last.endswith(("ses", "xes", "ches", "shes")):
        other = last[:-2]
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")):
        other = last[:-1]
    elif last.endswith("y") and last[-2] not in "aeiou":
        other = f"{last[:-1]}ies"
    else:
        other = f"{last}{'es' if last.endswith(('s', 'x', 'ch', 'sh')) else 's'}"
    return forms | {f"{head}{space}{other}": None}


def _passage(text: str, queries: Sequence[WordQuery]) -> str:
    spans = [span for query in queries for span in query.spans(text)]
    start, end = min(spans, default=(0, 0))
    first, last = max(0, start - _CONTEXT_LENGTH), min(len(text), end + _CONTEXT_LENGTH)
    return f"{'…' if first else ''}{' '.join(text[first:last].split())}{'…' if last < len(text) else ''}"
