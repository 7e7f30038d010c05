"""A set's documents under names that say nothing: whether an engine reads documents or file names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from eval.records.questions import Dataset, EvalQuestion


def hide_names(dataset: Dataset, folder: Path) -> Dataset:
    """The set with its files as «document-001.pdf» … in ``folder``, links to them or copies where links cannot be made.

    Numbers follow the hashes of the names, so that their order tells nothing of the documents either.
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
    except OSError:  # not every file system has links
        shutil.copy2(path, link)
