"""Which of the names that recur in a document counts beside those on its card: the first that few documents share and
none is called by.

A name on most pages of many documents says what the library is about, not which document is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

from hybrid_core.store.mapped import MappedTable
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.documents.layers import COUNTS, PLAIN, SETS, Counts, Kind, Layered, Postings, restore
from retrievers.documents.subjects import join_keys, name_keys

_Names = Mapping[str, Sequence[Sequence[str]]]


class RecurringNames:
    """For one state of a library; of the state ``before`` what differing cards do not change is taken over. ``anew``
    are the documents whose name is another than before.
    """

    # As of an empty library.
    names: Layered[str] = Layered()  # document -> the one of its recurring names that counts
    _whole: Counts = Counts()  # keys, with how often documents are called so
    _holding: Layered[Sequence[Sequence[str]]] = Layered()  # document -> (name, key) of those that recur in it
    _holders: Postings = Postings()  # documents by such keys
    _held: Counts = Counts()  # such keys, with how often they are held
    _often: Postings = Postings()  # the keys that are held so often, where that is more than ``shared`` times
    _most: float = 0.0  # times that a name may be held to tell something

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
        """``documents`` is how many there are now."""
        old = before or RecurringNames.__new__(RecurringNames)
        self._scoring, self._most = scoring, _most(scoring, documents)
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
        """Those that were written as tables."""
        one = cls.__new__(cls)
        one._scoring, one._most = scoring, _most(scoring, documents)
        restore(one, cls.KINDS, tables)
        return one

    def _tells(self, key: str) -> bool:
        return self._held[key] <= self._most and key not in self._whole

    def _counted(self, keys: Iterable[str], scoring: EntityLinking) -> Iterator[tuple[str, str]]:
        return ((str(self._held[key]), key) for key in keys if self._held[key] > scoring.shared)

    def _crossed(self, most: float) -> Iterator[str]:
        """The keys that are held more often than one bound and not more often than the other."""
        low, high = sorted((most, self._most))
        if high - low > len(self._often):
            counts = [count for count in self._often if low < int(count) <= high]
        else:
            counts = [str(count) for count in range(math.floor(low) + 1, math.floor(high) + 1)]
        return (key for count in counts for key in self._often[count])

    def _wholly(self, cards: Iterable[Card]) -> Iterator[str]:
        least = self._scoring.shortened
        for card in cards:
            for name in card.names:
                yield from (key for key, strength in name_keys(name, self._scoring) if strength >= least)


def _most(scoring: EntityLinking, documents: int) -> float:
    return max(scoring.shared, scoring.few * documents)


def _by_key(holding: _Names) -> Iterator[tuple[str, str]]:
    for doc_id, names in holding.items():
        yield from ((key, doc_id) for _, key in names)
