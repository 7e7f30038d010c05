"""Answers that are a count or a complete list of what mentions some words: an exhaustive search, without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.exact_words import WordQuery
from hybrid_core.text.plural import counted
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.answers import Answer, Claim, Source
from hybrid_core.types.documents import Document
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex.services.answering.library_pages import section_on
from hybrid_pageindex.services.grep import MOST, GrepDocument, GrepRequest
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.scope import libraries_of
from retrievers.documents import select
from retrievers.query.counting import CountQuestion
from retrievers.query.question import read_question

_LISTED = 40  # documents that the answer names
_PAGES = 5  # of each
_SECONDS = 20.0
_AROUND = 160  # characters of a passage on either side of the words
_GENERIC = frozenset(tokenise("document documents file files pdf text texts source sources dokumente dokumenten dateien"
                              " unterlagen texte quellen"))  # fmt: skip
_PLURALS_DE = ("s", "es", "e", "en", "n", "er")


@dataclass(frozen=True, slots=True)
class _Held:
    """The documents that hold a word or phrase in one of its ``forms``, by id. ``slip`` is how the question wrote it
    where no document does.
    """

    forms: tuple[str, ...]
    documents: Mapping[str, GrepDocument]
    slip: str = ""


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
        sources = self._sources([one for one in inside if one.doc_id in held][:_LISTED], held, sets, documents)
        made = _Said(self, question, sets, without, inside, others, held, documents, kind, sources)
        text = made.text()
        claim = Claim(made.head(), tuple(one.number for one in sources), supported=True)
        searched = ", ".join(f"“{form}”" for one in (*sets, *without) for form in one.forms)
        self.steps.append(ReasoningStep("searched", f"all pages for {searched}: {len(inside)} documents"))
        return Answer(
            query=found.query, library=found.library, status="answered", text=text, why="", claims=(claim,),
            sources=tuple(sources), evidence=found.evidence, effort=found.effort, model="", usage=found.usage + Usage(),
            notes=found.notes, timings_ms=found.timings_ms, steps=tuple(self.steps),
        )  # fmt: skip

    @property
    def pages(self) -> int:
        """How many pages were looked at."""
        return self._looked

    @property
    def in_all(self) -> int:
        """How many pages there are."""
        return self._in_all

    @property
    def complete(self) -> bool:
        """Whether all pages were looked at."""
        return self._complete

    def _documents(self) -> dict[str, Document]:
        asked = self._asked("x")
        with self._parts.catalog.snapshot() as snapshot:
            return {one.doc_id: one for library in self._libraries for one in _searched(snapshot, library.id, asked)}

    def _asked(self, words: str) -> GrepRequest:
        request = self._request
        named = tuple(request.documents) if request.documents else None
        return GrepRequest(words, documents=named, where=tuple(request.where), seconds=_SECONDS)

    def _of_kind(self, documents: Mapping[str, Document]) -> _Kind | None:
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
        return _Kind(
            frozenset(one.doc_id for one in kept), tuple(sorted(types)), " ".join(noun.split()[:-1]) if wanted else ""
        )

    def _held(self, question: CountQuestion) -> list[_Held]:
        if question.phrase:
            whole = self._find(question.phrase)
            if whole.documents:
                return [whole]
        return [self._find(words) for words in question.words]

    def _find(self, words: str) -> _Held:
        """Return what holds words, of words that nothing holds in the spelling of the library."""
        made = self._in_forms(words)
        if made.documents or self._question.quoted:
            return made
        right = self._respelled(words)
        found = self._in_forms(right) if right != words else made
        return replace(found, slip=words) if found.documents else made

    def _in_forms(self, words: str) -> _Held:
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
        return _Held(tuple(kept), documents)

    def _respelled(self, words: str) -> str:
        for word in re.findall(r"[^\W\d_]{4,}", words):
            near = self._parts.grep.spellings(self._libraries, self._asked(word), word)
            if near:
                right = near[0].capitalize() if word[0].isupper() else near[0]
                words = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, words)
        return words

    def pages_of(self, held: _Held, ids: Collection[str]) -> int:
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
        self, inside: Sequence[Document], held: Mapping[str, GrepDocument], sets: Sequence[_Held],
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


@dataclass(frozen=True, slots=True)
class _Kind:
    """The documents that are counted: those of ``types``, with ``words`` in name or title; neither: all."""

    ids: frozenset[str]
    types: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class _Said:
    """What an answer says of a count, in the question's language."""

    count: Counting
    question: CountQuestion
    sets: Sequence[_Held]
    without: Sequence[_Held]
    inside: Sequence[Document]
    others: Sequence[Document]
    held: Mapping[str, GrepDocument]
    documents: Mapping[str, Document]
    kind: _Kind
    sources: Sequence[Source]

    def text(self) -> str:
        german = self.question.language == "de"
        cited = {one.doc_id: one.number for one in self.sources}
        lines = [self._line(one, cited, german) for one in self.inside[:_LISTED]]
        if more := len(self.inside) - _LISTED:
            lines += [f"- … und {more} weitere" if german else f"- … and {more} more"] if more > 0 else []
        return "\n\n".join(part for part in (self.head(), "\n".join(lines), self._complete(german)) if part)

    def head(self) -> str:
        """Return the number in a sentence."""
        german = self.question.language == "de"
        joint = (" und " if german else " and ") if self.question.together else (" oder " if german else " or ")
        named = joint.join(_quoted(one.forms, german) for one in self.sets)
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
        one = len(self.inside) == 1
        if german:
            verb = "enthält" if one else "enthalten"
            return f"{head}{self._kind(german)} {verb} {'nicht ' if self.question.absent else ''}{named}."
        verb = (
            ("does not mention" if one else "do not mention")
            if self.question.absent
            else "mentions"
            if one
            else "mention"
        )
        return f"{head}{self._kind(german)} {verb} {named}."

    def _places(self, named: str, german: bool) -> str:
        ids = [one.doc_id for one in self.inside]
        pages = self.count.pages_of(self.sets[0], ids)
        places = sum(self.held[one].matches for one in ids)
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
        one = self.held.get(document.doc_id)
        if one is None:
            return f"- {document.name}"
        pages = ", ".join(map(str, one.first_pages[:_PAGES])) + (", …" if one.pages > _PAGES else "")
        noun = ("Seite" if german else "page") if one.pages == 1 else "Seiten" if german else "pages"
        source = f" [[source:{cited[document.doc_id]}]]" if document.doc_id in cited else ""
        return f"- {document.name}: {noun} {pages}{source}"

    def _complete(self, german: bool) -> str:
        count, parts = self.count, []
        of = f"{count.pages} von {count.in_all}" if german else f"{count.pages} of {count.in_all}"
        if count.complete and german:
            parts.append(
                f"Die Zählung ist vollständig: Alle {count.in_all} Seiten von {len(self.documents)} Dokumenten wurden "
                "nach genau diesen Wörtern durchsucht."
            )
        elif count.complete:
            parts.append(
                f"The count is complete: all {counted(count.in_all, 'page')} of "
                f"{counted(len(self.documents), 'document')} were searched for exactly these words."
            )
        elif german:
            parts.append(f"Die Zählung ist nicht vollständig: Erst {of} Seiten wurden durchsucht.")
        else:
            parts.append(f"The count is not complete: only {of} pages were searched so far.")
        parts += [
            f"Kein Dokument enthält „{one.slip}“: Gezählt wurde, was ihm am ähnlichsten ist." if german
            else f"No document holds “{one.slip}”: what is spelled most like it was counted."
            for one in (*self.sets, *self.without) if one.slip
        ]  # fmt: skip
        if self.others:
            parts.append(
                f"Außer diesen: {len(self.others)} andere Dokumente." if german
                else f"Besides these: {counted(len(self.others), 'other document')}."
            )  # fmt: skip
        if unread := [one for one in self.documents.values() if one.unread]:
            pages = sum(one.unread for one in unread)
            parts.append(
                f"Nicht gezählt: Seiten ohne Text ({pages}, in Dokumenten: {len(unread)})." if german
                else f"Not counted: {counted(pages, 'page')} without text in {counted(len(unread), 'document')}."
            )  # fmt: skip
        return " ".join(parts)


def _searched(snapshot: Snapshot, library: str, asked: GrepRequest) -> Iterable[Document]:
    documents = [one for one in snapshot.documents(library) if one.published]
    if asked.documents is not None:
        try:
            documents = select.by_name(documents, asked.documents)
        except NotFoundError:  # of another library
            return ()
    return select.where(documents, asked.where)


def _joined(sets: Sequence[_Held], together: bool) -> set[str]:
    ids = [set(one.documents) for one in sets]
    return set.intersection(*ids) if together else set().union(*ids)


def _together(sets: Sequence[_Held]) -> dict[str, GrepDocument]:
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


def _quoted(forms: Sequence[str], german: bool) -> str:
    open_, close = ("„", "“") if german else ("“", "”")
    return "/".join(f"{open_}{form}{close}" for form in forms)


def _passage(text: str, queries: Sequence[WordQuery]) -> str:
    spans = [span for query in queries for span in query.spans(text)]
    start, end = min(spans, default=(0, 0))
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return f"{'…' if first else ''}{' '.join(text[first:last].split())}{'…' if last < len(text) else ''}"
