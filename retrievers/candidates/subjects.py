"""Subjects of documents: the names on their cards, equality of names, and recurring names.

Names are compared by keys (see ``hybrid_core.text.names``). Whole names count most, then names without generic endings,
symbols, initials, and shortened forms (the first letters of two words). A name on most pages of many documents
describes the library, not a document.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import ClassVar, NamedTuple

from hybrid_core.cards.document_types import document_types
from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.names import GENERIC, LEGAL_FORMS, has_cjk, initials, name_key, name_words
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.candidates.layers import COUNTS, PLAIN, SETS, Counts, KeySets, Kind, Layered, restore


class Subject(NamedTuple):
    """The organisation or other subject of a document, from its card.

    Documents with the same subject are in one cluster. ``alone`` is the document's id if no name has a key; the
    document then has its own cluster. ``recurring`` is a further name that does not join the document with others.
    """

    names: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    organisation: bool = False  # whether organisations issue this kind of document about themselves
    alone: str = ""
    recurring: str = ""

    @property
    def links(self) -> set[str]:
        """Return the name keys by which this subject is joined with other subjects."""
        return {key for name in self.names for key in join_keys(name) if key}

    def written(self) -> str:
        """Return the subject as JSON text, which ``subject_written`` reads. Equal subjects give equal texts."""
        return json.dumps(self, ensure_ascii=False)


@lru_cache(maxsize=10_000)
def subject_written(text: str) -> Subject:
    names, symbols, *others = json.loads(text)
    return Subject(tuple(names), tuple(symbols), *others)


def subject_of(doc_id: str, card: Card, recurring: str) -> Subject:
    """Return the subject of a document. ``recurring`` is a name on most of its pages, "" if there is none.

    If the card has no name, the recurring name is used. It is ignored for documents with a known issuer, because names
    of laws such as "Securities Act" recur in documents of many organisations.
    """
    issued = bool(card.symbols) or (card.type in document_types() and document_types()[card.type].covers != "")
    own = any(join_keys(name)[0] for name in card.names)
    names = card.names
    if recurring and not own and not card.symbols:
        names, recurring = (*names, recurring), ""
    elif own and issued:
        recurring = ""
    alone = "" if any(join_keys(name)[0] for name in names) else doc_id
    return Subject(names, card.symbols, issued, alone, recurring)


def grouped(subjects: Sequence[Subject]) -> list[list[Subject]]:
    """Return groups of subjects that share a name key, directly or through other subjects.

    Subjects keep their order. Groups are ordered by their first subject.
    """
    parent = list(range(len(subjects)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    holder: dict[str, int] = {}
    cores: dict[str, list[int]] = {}
    for number, subject in enumerate(subjects):
        for name in subject.names:
            key, core = join_keys(name)
            if key:
                other = holder.setdefault(key, number)
                if other != number:
                    parent[root(number)] = root(other)
                if core and core != key:
                    cores.setdefault(core, []).append(number)
    for core, longer in cores.items():  # "Acme" means "Acme International", unless "Acme Energy" exists too
        if core in holder and len({root(number) for number in longer} - {root(holder[core])}) == 1:
            for number in longer:
                parent[root(number)] = root(holder[core])
    members: dict[int, list[Subject]] = {}
    for number, subject in enumerate(subjects):
        members.setdefault(root(number), []).append(subject)
    return list(members.values())


@lru_cache(maxsize=100_000)
def join_keys(name: str) -> tuple[str, str]:
    """Return the key of a name, and the key without generic words at the end. A missing key is ""."""
    words = () if has_cjk(name) else name_words(name)
    end = len(words)
    while end > 1 and words[end - 1] in GENERIC:
        end -= 1
    return name_key(name), name_key(" ".join(words[:end])) if end < len(words) else ""


@lru_cache(maxsize=100_000)
def name_keys(name: str, scoring: EntityLinking) -> tuple[tuple[str, float], ...]:
    """Return the keys of a name with their strengths, 0 to 1, higher for a surer match."""
    whole = name_key(name)
    if not whole:
        return ()
    keys = [(whole, scoring.whole)]
    if has_cjk(name):
        return tuple(keys)
    words = name_words(name)
    plain = name.replace("\u2019", "'")
    if "'s" in plain:
        keys.append((name_key(plain.replace("'s", "s")), scoring.whole))  # without its apostrophe
    if len(words) == 1:  # HARBORINC, harbor.com
        keys.extend((key, scoring.whole) for key in (squashed(name), f"{words[0]}com") if key.startswith(whole))
    if not 2 <= len(words) <= 6:
        return tuple(keys)
    for length in range(1, len(words)):
        head, tail = words[:length], words[length:]
        key = "".join(head)
        if name_key(" ".join(head)) and len(key) > 1:
            keys.append((key, scoring.shortened if all(word in GENERIC for word in tail) else scoring.first_word))
    keys.extend((word, scoring.one_word) for word in words[1:] if word not in GENERIC and len(word) > 2)
    letters = initials(words)
    keys.append((letters, scoring.initials if len(letters) > 2 else scoring.two_letters))
    if len(letters) == 2 and ("&" in name or " and " in name.lower()):
        keys.append(("&".join(letters), scoring.initials))
    first, second = words[:2]
    keys.extend(
        (first[:head] + second[:tail], scoring.clipped)
        for head in (2, 3)
        for tail in (2, 3)
        if len(first) > head and len(second) >= tail
    )
    return tuple(keys)


def best_name(names: Sequence[str]) -> str:
    """Return the first name with several words, or the first name if there is none, "" for no names."""
    return max(names, key=lambda name: min(2, len(name_words(name))), default="")


def has_legal_form(name: str) -> bool:
    return name.rpartition(" ")[2].strip(".,").lower() in LEGAL_FORMS


def squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text))


_Names = Mapping[str, Sequence[Sequence[str]]]


class RecurringNames:
    """The recurring names of documents (on most of their pages), for one state of a library.

    Results of ``before`` that changed cards do not affect are reused. ``anew`` are the documents whose recurring name
    has changed.
    """

    # those of an empty library
    names: Layered[str] = Layered()  # the chosen recurring name of each document
    _whole: Counts = Counts()  # numbers of documents by keys of card names
    _holding: Layered[Sequence[Sequence[str]]] = Layered()  # (name, key) of the recurring names of each document
    _holders: KeySets = KeySets()  # documents by recurring keys
    _held: Counts = Counts()  # numbers of documents by recurring keys
    _often: KeySets = KeySets()  # recurring keys by their number of documents, if above ``shared``
    _most: float = 0.0  # maximum number of documents that a telling name may have

    KINDS: ClassVar[Mapping[str, Kind]] = {
        "names": PLAIN, "_whole": COUNTS, "_holding": PLAIN, "_holders": SETS, "_held": COUNTS, "_often": SETS,
    }  # fmt: skip

    def __init__(
        self,
        scoring: EntityLinking,
        documents: int,
        went: Mapping[str, Card],
        came: Mapping[str, Card],
        before: RecurringNames | None,
    ) -> None:
        """Compute the recurring names.

        ``documents`` is the current number of documents. ``went`` and ``came`` are the old and new versions of changed
        cards.
        """
        old = before or RecurringNames.__new__(RecurringNames)
        self._scoring, self._most = scoring, _greatest_count(scoring, documents)
        called = list(self._wholly(went.values())), list(self._wholly(came.values()))
        self._whole = old._whole.counted(*called)
        lost: _Names = {doc_id: old._holding[doc_id] for doc_id in went if doc_id in old._holding}
        new: _Names = {d: [(name, join_keys(name)[0]) for name in c.recurring] for d, c in came.items() if c.recurring}
        self._holding = old._holding.updated(new, [doc_id for doc_id in lost if doc_id not in new])
        self._holders = old._holders.with_pairs(_by_key(lost), _by_key(new))
        less, more = [key for key, _ in _by_key(lost)], [key for key, _ in _by_key(new)]
        self._held = old._held.counted(less, more)
        touched = {*less, *more}
        self._often = old._often.with_pairs(old._counted(touched, scoring), self._counted(touched, scoring))
        touched.update(self._crossed(old._most), (key for key in chain(*called) if key in self._holders))
        turned = [key for key in touched if old._tells(key) != self._tells(key)]
        names = {
            doc_id: next((name for name, key in self._holding.get(doc_id, ()) if self._tells(key)), "")
            for doc_id in {*went, *came}.union(*(self._holders[key] for key in turned))
        }
        self.anew = {doc_id for doc_id, name in names.items() if old.names.get(doc_id, "") != name}
        self.names = old.names.updated(
            {doc_id: names[doc_id] for doc_id in self.anew if names[doc_id]},
            [doc_id for doc_id in self.anew if not names[doc_id]],
        )

    @classmethod
    def restored(cls, tables: Mapping[str, MappedTable], scoring: EntityLinking, documents: int) -> RecurringNames:
        """Return recurring names read from stored tables."""
        names = cls.__new__(cls)
        names._scoring, names._most = scoring, _greatest_count(scoring, documents)
        restore(names, cls.KINDS, tables)
        return names

    def _tells(self, key: str) -> bool:
        return self._held[key] <= self._most and key not in self._whole

    def _counted(self, keys: Iterable[str], scoring: EntityLinking) -> Iterator[tuple[str, str]]:
        return ((str(self._held[key]), key) for key in keys if self._held[key] > scoring.shared)

    def _crossed(self, bound: float) -> Iterator[str]:
        """Yield the name keys that a new limit makes frequent or rare.

        Their document counts are between the limit ``bound`` and the current limit.
        """
        low, high = sorted((bound, self._most))
        if high - low > len(self._often):
            counts = [count for count in self._often if low < int(count) <= high]
        else:
            counts = [str(count) for count in range(math.floor(low) + 1, math.floor(high) + 1)]
        return (key for count in counts for key in self._often[count])

    def _wholly(self, cards: Iterable[Card]) -> Iterator[str]:
        threshold = self._scoring.shortened
        for card in cards:
            for name in card.names:
                yield from (key for key, strength in name_keys(name, self._scoring) if strength >= threshold)


def _greatest_count(scoring: EntityLinking, documents: int) -> float:
    return max(scoring.shared, scoring.few * documents)


def _by_key(holding: _Names) -> Iterator[tuple[str, str]]:
    for doc_id, names in holding.items():
        yield from ((key, doc_id) for _, key in names)
