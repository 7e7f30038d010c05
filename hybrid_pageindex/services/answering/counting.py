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
            sets = self._held(question)
            without = [self._find(words) for words in question.without]
        except UsageError:  # words that no page can hold
            return None
        if not question.quoted and usable and not all(one.documents for one in sets):
            missing = ", ".join(one.forms[0] for one in sets if not one.documents)
            self.note = f"no document holds the words “{missing}”, so pages that mean it in other words were looked for"
            return None
        ids = _joined(sets, question.together)
        ids -= set().union(*(one.documents for one in without))
        if question.absent:
            ids = set(documents) - ids
        inside = [one for one in documents.values() if one.doc_id in ids and one.doc_id in kind.ids]
        others = [one for one in documents.values() if one.doc_id in ids and one.doc_id not in kind.ids]
        held = {} if question.absent else _together(sets)
        sources = self._sources([one for one in inside if one.doc_id in held][:LISTED], held, sets, documents)
        pages = 0 if question.unit == "documents" else self._pages_of(sets[0], [one.doc_id for one in inside])
        made = CountText(
            question, sets, without, inside, others, held, documents, kind, sources, pages, self._looked, self._in_all,
            self._complete,
        )  # fmt: skip
        claim = Claim(made.head(), tuple(one.number for one in sources), supported=True)
        searched = ", ".join(f"“{form}”" for one in (*sets, *without) for form in one.forms)
        self.steps.append(ReasoningStep("searched", f"all pages for {searched}: {len(inside)} documents"))
        return Answer(
            query=found.query, library=found.library, status="answered", text=made.text(), why="", claims=(claim,),
            sources=tuple(sources), evidence=found.evidence, effort=found.effort, model="", usage=found.usage + Usage(),
            notes=found.notes, timings_ms=found.timings_ms, steps=tuple(self.steps),
        )  # fmt: skip

    def _documents(self) -> dict[str, Document]:
        asked = self._asked("x")
        with self._parts.catalog.snapshot() as snapshot:
            return {one.doc_id: one for library in self._libraries for one in _searched(snapshot, library.id, asked)}

    def _asked(self, words: str) -> GrepRequest:
        request = self._request
        named = tuple(request.documents) if request.documents else None
        return GrepRequest(words, documents=named, where=tuple(request.where), seconds=_SECONDS)

    def _of_kind(self, documents: Mapping[str, Document]) -> Kind | None:
        """Return the documents that the question's noun means: by their types, and by the words of their titles."""
        noun = self._question.kind
        asked = read_question(noun)
        types = set(asked.types) & {one.card.type for one in documents.values()}
        typing = set().union(*asked.type_terms.values()) if asked.type_terms else set()
        last = set(tokenise(noun.split()[-1])) if noun else set()
        wanted = set(tokenise(noun)) - typing - _GENERIC - last
        kept = [one for one in documents.values() if not types or one.card.type in types]
        if wanted:
            kept = [one for one in kept if wanted <= set(tokenise(f"{one.name} {one.title} {' '.join(one.card.names)}"
                                                                  f" {' '.join(one.card.tags)}"))]  # fmt: skip
            if not kept:
                return None
        return Kind(
            frozenset(one.doc_id for one in kept), tuple(sorted(types)), " ".join(noun.split()[:-1]) if wanted else ""
        )

    def _held(self, question: CountQuestion) -> list[Held]:
        if question.phrase:
            whole = self._find(question.phrase)
            if whole.documents:
                return [whole]
        return [self._find(words) for words in question.words]

    def _find(self, words: str) -> Held:
        """Return what holds words, of words that nothing holds in the spelling of the library."""
        made = self._in_forms(words)
        if made.documents or self._question.quoted:
            return made
        right = self._respelled(words)
        found = self._in_forms(right) if right != words else made
        return replace(found, slip=words) if found.documents else made

    def _in_forms(self, words: str) -> Held:
        forms = [words] if self._question.quoted else list(_forms(words, self._question.language))
        documents: dict[str, GrepDocument] = {}
        kept = []
        for form in forms:
            result, listed = self._parts.grep.documents(self._libraries, self._asked(form))
            self._looked, self._in_all = result.pages_searched, result.pages_in_scope
            self._complete = self._complete and result.complete
            kept += [form] if listed or form == words else []
            for one in listed:
                before = documents.get(one.doc_id)
                documents[one.doc_id] = one if before is None else replace(
                    one, matches=one.matches + before.matches, pages=max(one.pages, before.pages),
                    first_pages=tuple(sorted({*one.first_pages, *before.first_pages})),
                )  # fmt: skip
        return Held(tuple(kept), documents)

    def _respelled(self, words: str) -> str:
        for word in re.findall(r"[^\W\d_]{4,}", words):
            near = self._parts.grep.spellings(self._libraries, self._asked(word), word)
            if near:
                right = near[0].capitalize() if word[0].isupper() else near[0]
                words = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, words)
        return words

    def _pages_of(self, held: Held, ids: Collection[str]) -> int:
        """Return how many pages of these documents hold one of its forms."""
        if len(held.forms) == 1:
            return sum(held.documents[one].pages for one in ids)
        found: set[tuple[str, int]] = set()
        for form in held.forms:
            asked = replace(self._asked(form), most=MOST)
            while True:
                result = self._parts.grep.search(self._libraries, asked)
                found |= {(one.doc_id, one.page) for one in result.pages if one.doc_id in ids}
                if not result.cursor or not result.pages:
                    break
                asked = replace(asked, cursor=result.cursor)
        return len(found)

    def _sources(
        self, inside: Sequence[Document], held: Mapping[str, GrepDocument], sets: Sequence[Held],
        documents: Mapping[str, Document],
    ) -> list[Source]:  # fmt: skip
        """Return the first page of each document that holds the words, with the passage around them."""
        queries = [WordQuery(form) for one in sets for form in one.forms]
        names = {library.id: library.name for library in self._libraries} if len(self._libraries) > 1 else {}
        made = []
        with self._parts.catalog.snapshot() as snapshot:
            firsts = [(one.content_id, held[one.doc_id].first_pages[0]) for one in inside]
            texts = snapshot.page_texts(firsts)
            for number, (one, place) in enumerate(zip(inside, firsts, strict=True), 1):
                page = texts.get(place)
                text = page.text if page else ""
                _, path = section_on(snapshot.sections(one.content_id), place[1])
                made.append(
                    Source(
                        number, one.doc_id, one.name, place[1], page.label if page else "", path, text,
                        _passage(text, queries), library=names.get(one.library, ""),
                    )
                )  # fmt: skip
        return made


def _searched(snapshot: Snapshot, library: str, asked: GrepRequest) -> Iterable[Document]:
    documents = [one for one in snapshot.documents(library) if one.published]
    if asked.documents is not None:
        try:
            documents = select.by_name(documents, asked.documents)
        except NotFoundError:  # of another library
            return ()
    return select.where(documents, asked.where)


def _joined(sets: Sequence[Held], together: bool) -> set[str]:
    ids = [set(one.documents) for one in sets]
    return set.intersection(*ids) if together else set().union(*ids)


def _together(sets: Sequence[Held]) -> dict[str, GrepDocument]:
    """Return each document with the places of all words."""
    made: dict[str, GrepDocument] = {}
    for one in (document for held in sets for document in held.documents.values()):
        before = made.get(one.doc_id)
        made[one.doc_id] = one if before is None else replace(
            one, matches=one.matches + before.matches, pages=len({*one.first_pages, *before.first_pages}),
            first_pages=tuple(sorted({*one.first_pages, *before.first_pages})),
        )  # fmt: skip
    return made


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
