"""Variants of a set: samples, hidden file names, misspelt words, and paraphrased questions."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from eval.datasets.files import lines, words
from eval.records.questions import Dataset, EvalQuestion
from hybrid_core.errors import DocumentError, UsageError


def hide_names(dataset: Dataset, folder: Path) -> Dataset:
    """Return the set with its files renamed to "document-001.pdf" … in ``folder``.

    The new files are links or copies. Their numbers follow hashes of the old names, so that their order reveals
    nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hidden: dict[str, Path] = {}
    for number, path in enumerate(sorted(dataset.files, key=lambda p: sha256(p.name.encode()).digest()), start=1):
        hidden[path.name] = folder / f"document-{number:03d}{path.suffix.lower()}"
        _link(path, hidden[path.name])

    def name(old: str) -> str:
        return hidden[old].name if old in hidden else old

    return replace(
        dataset,
        files=tuple(hidden[path.name] for path in dataset.files),
        questions=tuple(_renamed(question, name) for question in dataset.questions),
        outlines={name(old): outline for old, outline in dataset.outlines.items()},
    )


def _renamed(question: EvalQuestion, name: Callable[[str], str]) -> EvalQuestion:
    evidence = tuple(replace(gold, document=name(gold.document)) for gold in question.evidence)
    return replace(question, evidence=evidence, given=tuple(map(name, question.given)))


def _link(path: Path, link: Path) -> None:
    if link.is_symlink() and link.readlink() == path.absolute():
        return  # another run may be reading it
    link.unlink(missing_ok=True)
    try:
        link.symlink_to(path.absolute())
    except OSError:  # not every file system supports links
        shutil.copy2(path, link)


_WORD = re.compile(r"\b[A-Za-z]{5,}\b")  # a misspelling of a shorter word is often another word
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    letter: [other for other in row[max(0, at - 1) : at + 2] if other != letter]
    for row in _ROWS
    for at, letter in enumerate(row)
}
_SCAN_CONFUSIONS = (("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("e", "c"), ("c", "e"), ("h", "b"), ("i", "l"))


def misspelt(dataset: Dataset, words: int, seed: int) -> Dataset:
    """Return the set with ``words`` misspelled words in each question, chosen by ``seed``.

    Only words of five or more letters are misspelled; if a question has fewer, all of these are.
    """
    questions = (replace(q, text=misspell(q.text, words, random.Random(f"{seed} {q.id}"))) for q in dataset.questions)
    return replace(dataset, questions=tuple(questions))


def misspell(text: str, words: int, chance: random.Random) -> str:
    """Misspell ``words`` words of a text, with one error in each.

    Their first letters are kept, as in most real typing errors.
    """
    matches = list(_WORD.finditer(text))
    for match in sorted(chance.sample(matches, min(words, len(matches))), key=lambda hit: -hit.start()):
        text = text[: match.start()] + _slip(match.group(), chance) + text[match.end() :]
    return text


def _slip(word: str, chance: random.Random) -> str:
    while True:
        slipped = chance.choice(_SLIPS)(word, chance.randrange(1, len(word) - 1), chance)
        if slipped != word:
            return slipped


def _neighbour_key(word: str, at: int, chance: random.Random) -> str:
    return word[:at] + chance.choice(_BESIDE[word[at].lower()]) + word[at + 1 :]


def _swapped(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _dropped(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at + 1 :]


def _doubled(word: str, at: int, _: random.Random) -> str:
    return word[:at] + word[at] + word[at:]


def _scanned(word: str, at: int, chance: random.Random) -> str:
    read, shown = chance.choice(_SCAN_CONFUSIONS)
    return word[:at] + word[at:].replace(read, shown, 1)


_SLIPS: tuple[Callable[[str, int, random.Random], str], ...] = (_neighbour_key, _swapped, _dropped, _doubled, _scanned)


def reworded(dataset: Dataset, path: Path) -> Dataset:
    """Return the questions that a file rephrases, with their gold, in the set's order.

    Other questions are left out. Each line of ``path`` is {"id", "question"}. With ``before``, a list of earlier
    questions, the question is the last turn of a conversation. A line with ``set`` is for this set only. Invalid,
    unknown and repeated lines are left out and reported. Raise DocumentError if none is valid.
    """
    ids, written = {question.id for question in dataset.questions}, dict[str, str]()
    earlier: dict[str, tuple[str, ...]] = {}

    def add(entry: Mapping[str, Any], _: int) -> None:
        if "set" in entry and words(entry["set"], "set") != dataset.name:
            return
        number = words(entry["id"], "id")
        if number not in ids:
            raise ValueError(f"the data set {dataset.name} has no question {number}")
        if number in written:
            raise ValueError(f"question {number} has two wordings")
        before = entry.get("before", [])
        if not isinstance(before, list):
            raise ValueError("'before' must be a list of questions")
        earlier[number] = tuple(words(question, "before") for question in before)
        written[number] = words(entry["question"], "question")

    left_out: list[str] = []
    for _ in lines(path, add, left_out):
        pass
    if not written:
        first = f" The first line left out: {left_out[0]}." if left_out else ""
        raise DocumentError(f"{path} contains no valid question.{first}", 'Write {"id", "question"} on each line.')
    questions = (replace(q, text=written[q.id], before=earlier[q.id]) for q in dataset.questions if q.id in written)
    return replace(dataset, questions=tuple(questions), left_out=(*dataset.left_out, *left_out))


def sample(questions: Sequence[EvalQuestion], size: int, seed: int = 0) -> tuple[EvalQuestion, ...]:
    """Return a sample of ``size`` questions in their order, with kinds in proportion.

    The choice depends on a hash of seed and id. So it is independent of the set's order, and an added question replaces
    at most one. If there are fewer questions, return all. Raise UsageError for a size below 1.
    """
    if size < 1:
        raise UsageError(f"A sample needs at least one question, not {size}.", "Set --sample to 1 or more.")
    strata: dict[str, list[EvalQuestion]] = defaultdict(list)
    for question in questions:
        strata[question.kind].append(question)
    shares = _shares({kind: len(members) for kind, members in strata.items()}, min(size, len(questions)))
    chosen = set()
    for kind, members in strata.items():
        ranked = sorted(members, key=lambda question: _draw(seed, question.id))
        chosen |= {question.id for question in ranked[: shares[kind]]}
    return tuple(question for question in questions if question.id in chosen)


def _shares(counts: dict[str, int], size: int) -> dict[str, int]:
    """Divide ``size`` among kinds by their question counts. Return the share of each kind.

    Each kind gets the integer part of its share; the rest goes to the largest remainders, ties to the larger kind.
    """
    total = sum(counts.values())
    shares = {kind: size * count // total for kind, count in counts.items()}
    by_remainder = sorted(counts, key=lambda kind: (-(size * counts[kind] % total), -counts[kind], kind))
    for kind in by_remainder[: size - sum(shares.values())]:
        shares[kind] += 1
    return shares


def _draw(seed: int, question: str) -> bytes:
    return hashlib.sha256(f"{seed}/{question}".encode()).digest()
