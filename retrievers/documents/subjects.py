"""Whom documents are about, by the names on their cards, and which of these are one and the same.

The keys of names are squashed (see ``hybrid_core.text.names``): whole names tell most, then names without their
tail, symbols, initials, and clipped forms (the first letters of two words).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hybrid_core.cards.document_types import document_types
from hybrid_core.text.names import GENERIC, LEGAL_FORMS, has_cjk, initials, name_key, name_words
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking


class Subject(NamedTuple):
    """What a document's card says of whom it is about; documents that are alike in this are of one cluster.

    ``alone`` is the document where no name has a key: it is never of one cluster with another. ``recurring`` is a
    name that it answers to beside its own, but that joins it with no other.
    """

    names: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    organisation: bool = False  # the document is of a kind that organisations issue about themselves
    alone: str = ""
    recurring: str = ""

    @property
    def links(self) -> set[str]:
        """The keys that may join it with others."""
        return {key for name in self.names for key in join_keys(name) if key}

    def written(self) -> str:
        """As text, the same for subjects that are alike; ``subject_written`` reads it."""
        return json.dumps(self, ensure_ascii=False)


@lru_cache(maxsize=10_000)
def subject_written(text: str) -> Subject:
    names, symbols, *others = json.loads(text)
    return Subject(tuple(names), tuple(symbols), *others)


def subject_of(doc_id: str, card: Card, recurring: str) -> Subject:
    """Return whom a document is about. ``recurring`` is a name on most of its pages, "" where there is none.

    It is the document's name where the card has none. Words of law recur in documents of many organisations
    («Securities»), so it joins none that names its own, and those that are surely issued by one lack it.
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
    """Subjects that share a name's key, directly or through others; in their order, and by the first of each group."""
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
    for core, longer in cores.items():  # «Acme» is «Acme International», unless there is an «Acme Energy» too
        if core in holder and len({root(number) for number in longer} - {root(holder[core])}) == 1:
            for number in longer:
                parent[root(number)] = root(holder[core])
    members: dict[int, list[Subject]] = {}
    for number, subject in enumerate(subjects):
        members.setdefault(root(number), []).append(subject)
    return list(members.values())


@lru_cache(maxsize=100_000)
def join_keys(name: str) -> tuple[str, str]:
    """The key of a name, and that of its words without the generic ones at its end, "" for one word."""
    words = () if has_cjk(name) else name_words(name)
    end = len(words)
    while end > 1 and words[end - 1] in GENERIC:
        end -= 1
    return name_key(name), name_key(" ".join(words[:end])) if end < len(words) else ""


@lru_cache(maxsize=100_000)
def name_keys(name: str, scoring: EntityLinking) -> tuple[tuple[str, float], ...]:
    """The keys of one name with their strengths."""
    whole = name_key(name)
    if not whole:
        return ()
    keys = [(whole, scoring.whole)]
    if has_cjk(name):
        return tuple(keys)
    words = name_words(name)
    plain = name.replace("\u2019", "'")
    if "'s" in plain:
        keys.append((name_key(plain.replace("'s", "s")), scoring.whole))  # written without its apostrophe
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
    """The first name, or the first whose words are told apart where that one is squashed."""
    return max(names, key=lambda name: min(2, len(name_words(name))), default="")


def has_legal_form(name: str) -> bool:
    return name.rpartition(" ")[2].strip(".,").lower() in LEGAL_FORMS


def squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text))
