"""Chinese statutes: lay questions and the articles that answer them (STARD, Su et al. 2024, arXiv 2406.15313)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.datasets.files import documents, entries, text, words
from eval.records.questions import Dataset, EvalQuestion, Gold

_ARTICLE = re.compile(r"(?P<law>.+?)(?P<number>第[零〇一二两三四五六七八九十百千\d]+条(?:之[一二三四五六七八九十]+)?)")
_TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_DATE = re.compile(r"\(\d{4}-\d{2}-\d{2}\)$")
_STATE = "中华人民共和国"
_FOLDER_PAGE = "_index.md"  # the law collection's web site needs one in each folder; it holds no law


@dataclass(frozen=True, slots=True)
class _Law:
    file: str
    letters: str


def read(root: Path) -> Dataset:
    """queries.json ({query_id, 问题, 相关法规: {law and article: its text}}) beside laws/**/*.md.

    Gold is the article's number and text in the file that holds it word for word: the newest, where versions of the
    law do. Articles of laws that are not in the folder are no gold; a question that has only such is not answerable.
    ``notes`` count all that. A question's group is the file of its first gold (the civil code has one for each book).
    """
    files, notes = _files(root / "laws")
    laws: dict[str, list[_Law]] = {}
    for path in files:
        content = text(path)
        title = _TITLE.search(content)
        name = title[1] if title else _DATE.sub("", path.stem)
        laws.setdefault(_name(name), []).append(_Law(path.name, _letters(content)))
    absent: list[str] = []
    left_out: list[str] = []
    asked = tuple(entries(root / "queries.json", lambda entry, _: _question(entry, laws, absent), left_out))
    if absent:
        without = sum(not question.answerable for question in asked)
        notes.append(
            f"{len(absent)} articles are of laws that are not in the folder, or stand there in other words; they are "
            f"no gold. {without} questions have only such and count as not answerable."
        )
    return Dataset("statutes_zh", files, asked, chinese=True, notes=tuple(notes), left_out=tuple(left_out))


def _files(folder: Path) -> tuple[tuple[Path, ...], list[str]]:
    """The laws; one that stands in two folders is taken once."""
    found = documents(folder, ".md")
    laws = [path for path in found if path.name != _FOLDER_PAGE]
    once = {path.name: path for path in reversed(laws)}
    notes = []
    if len(found) > len(laws):
        notes.append(f"{len(found) - len(laws)} files {_FOLDER_PAGE} hold no law and are left out.")
    if len(laws) > len(once):
        notes.append(f"{len(laws) - len(once)} laws stand in two folders; the first file is taken.")
    return tuple(path for path in laws if once[path.name] == path), notes


def _question(entry: Mapping[str, Any], laws: Mapping[str, Sequence[_Law]], absent: list[str]) -> EvalQuestion:
    gold: list[Gold] = []
    names: list[str] = []
    for name, content in entry["相关法规"].items():
        article = _ARTICLE.fullmatch(name)
        if not article:
            raise ValueError(f"'{name}' is not a law and the number of an article")
        names.append(_name(article["law"]))
        place = f"{article['number']} {words(content, name)}"
        holding = [law.file for law in laws.get(names[-1], ()) if _letters(place) in law.letters]
        if holding:
            gold.append(Gold(max(holding, key=_dated), text=place))
        else:
            absent.append(name)
    if not names:
        raise ValueError("no article")
    kind = "absent" if not gold else "one article" if len(names) == 1 else "several articles"
    return EvalQuestion(
        f"statutes-{entry['query_id']}",
        words(entry["问题"], "问题"),
        tuple(gold),
        kind=kind,
        group=Path(gold[0].document).stem if gold else names[0],
        answerable=bool(gold),
    )


def _dated(file: str) -> str:
    date = _DATE.search(Path(file).stem)
    return date[0] if date else ""


def _name(law: str) -> str:
    return _letters(law).removeprefix(_STATE)


def _letters(written: str) -> str:
    return re.sub(r"[\W_]+", "", written)
