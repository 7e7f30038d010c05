"""What an answer says of a count: the number, the documents, and whether everything was searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybrid_core.text.plural import counted
from hybrid_core.types.answers import Source
from hybrid_core.types.documents import Document
from hybrid_pageindex.services.grep import GrepDocument
from retrievers.query.counting import CountQuestion

LISTED = 40  # documents that an answer names
_PAGES = 5  # of each


@dataclass(frozen=True, slots=True)
class Held:
    """The documents that hold a word or phrase in one of its ``forms``, by id. ``slip`` is how the question wrote it
    where no document does.
    """

    forms: tuple[str, ...]
    documents: Mapping[str, GrepDocument]
    slip: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """The documents that are counted: those of ``types``, with ``words`` in name or title; neither: all."""

    ids: frozenset[str]
    types: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class CountText:
    """The sentences of a count, in the language of its question.

    ``pages`` hold the words, where pages or places are asked for. ``looked`` of ``in_all`` pages were searched.
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
        """Return the number in a sentence."""
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
