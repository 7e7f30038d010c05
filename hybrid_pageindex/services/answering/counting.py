"""Answers that are a count or a complete list of what mentions some words: an exhaustive search, without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.exact_words import WordQuery
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.answers import Answer, Claim, Source
from hybrid_core.types.documents import Document
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex.services.answering.counted_text import LISTED, CountText, Held, Kind
from hybrid_pageindex.services.answering.library_pages import section_on
from hybrid_pageindex.services.grep import MOST, GrepDocument, GrepRequest
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.scope import libraries_of
from retrievers.documents import select
from retrievers.query.counting import CountQuestion
from retrievers.query.question import read_question

_SECONDS = 20.0
_AROUND = 160  # characters of a passage on either side of the words
_GENERIC = frozenset(tokenise("document documents file files pdf text texts source sources dokumente dokumenten dateien"
                              " unterlagen texte quellen"))  # fmt: skip
_PLURALS_DE = ("s", "es", "e", "en", "n", "er")


class Counting:
    """Counts for one question in the documents that a request searches."""

    def __init__(self, parts: Parts, request: SearchRequest, question: CountQuestion) -> None:
        self._parts, self._request, self._question = parts, request, question
        self._libraries = libraries_of(parts.catalog, request)
        self._looked = self._in_all = 0
        self._complete = True
        self.steps: list[ReasoningStep] = []
        self.note = ""  # why there is no count

    def answer(self, found: SearchResult, *, usable: bool) -> Answer | None:
        """Return the count with its list.

        None where the question means something else than these words: they are not quoted, no document holds them and
        a model is ``usable``; or where the documents that it counts cannot be told from the others.
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
            self.note = f"no document holds the words “{missing}”, so pages that mean it in other words were looked for"
            return None
        ids = _joined(sets, question.together)
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
            query=found.query, library=found.library, status="answered", text=text.text(), why="", claims=(claim,),
            sources=tuple(sources), evidence=found.evidence, effort=found.effort, model="", usage=found.usage + Usage(),
            notes=found.notes, timings_ms=found.timings_ms, steps=tuple(self.steps),
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
        """Return the documents that the question's noun means: by their types, and by the words of their titles."""
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
        """Return what holds words, of words that nothing holds in the spelling of the library."""
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
        """Return how many pages of these documents hold one of its forms."""
        if len(phrase.forms) == 1:
            return sum(phrase.documents[doc_id].pages for doc_id in ids)
        pages: set[tuple[str, int]] = set()
        for form in phrase.forms:
            request = replace(self._grep_request(form), most=MOST)
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
        """Return the first page of each document that holds the words, with the passage around them."""
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
            documents = select.by_name(documents, request.documents)
        except NotFoundError:  # of another library
            return ()
    return select.where(documents, request.where)


def _naming(document: Document) -> str:
    return " ".join((document.name, document.title, *document.card.names, *document.card.tags))


def _joined(sets: Sequence[Held], together: bool) -> set[str]:
    ids = [set(phrase.documents) for phrase in sets]
    return set.intersection(*ids) if together else set().union(*ids)


def _together(sets: Sequence[Held]) -> dict[str, GrepDocument]:
    """Return each document with the places of all words."""
    documents: dict[str, GrepDocument] = {}
    for match in (document for phrase in sets for document in phrase.documents.values()):
        before = documents.get(match.doc_id)
        documents[match.doc_id] = match if before is None else _merged(before, match)
    return documents


def _merged(first: GrepDocument, second: GrepDocument) -> GrepDocument:
    """Return the matches of two searches in one document; its pages are those that are listed, at the least."""
    pages = tuple(sorted({*first.first_pages, *second.first_pages}))
    count = max(first.pages, second.pages, len(pages))
    return replace(first, matches=first.matches + second.matches, pages=count, first_pages=pages)


def _forms(words: str, language: str) -> dict[str, None]:
    """Return words as they are written and with the endings of one and of many; names stay as they are."""
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
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return f"{'…' if first else ''}{' '.join(text[first:last].split())}{'…' if last < len(text) else ''}"
