"""Extraction of a document's card without a model: its organisation or subject, its period and its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from hybrid_core.cards import cover
from hybrid_core.cards.cover import recurring_names, running_years
from hybrid_core.cards.document_types import (
    TypeMention,
    document_types,
    finder,
    name_finder,
    type_by_ending,
    type_by_headline,
)
from hybrid_core.text.names import (
    GENERIC,
    LEGAL_FORMS,
    NAMELESS,
    has_legal_form,
    is_named,
    name_key,
    name_words,
    split_camel,
)
from hybrid_core.text.periods import find_periods, fiscal_year, period_end, quarter_ended, quarters_reported
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Card

_T = TypeVar("_T")
_CARD_PAGES = 8  # pages with the first statements of a report, which say how much of the year it covers
_EXTENSION = re.compile(r"\.(?:[A-Za-z0-9]{1,5}|markdown)$")
_EXHIBIT = re.compile(r"(?i)\b(?:ex(?:hibit)?[-\s.]{0,2}\d+(?:\.\(?\w+\)?)*|s-?\d{1,2}/?a?|\d{5,})(?=\W|_|$)")
_PARTS = re.compile(  # full-width brackets around a Chinese numeral are part of the name: 修正案（七）
    r"\s+[-–—|]+\s+|[()\[\]【】|]+|（(?![一二三四五六七八九十]+）)|(?<![一二三四五六七八九十])）|\s{2,}|-(?=\s)|(?<=\s)-"
)
_CJK_TAIL = re.compile(r"(?<=.{2})(?:年度|季度)(?:报告|公告)$|(?<=年)(?:年度)?报告$")
_CJK_AFTER = re.compile(r"\s*[\u3400-\u9fff]")
_GOES_ON = re.compile(r"[\s\-]+[a-z]")
_LETTERS = re.compile(r"[^\W\d_]+")
_PUNCTUATION = re.compile(r"[\W_]+")
_EDGES = " -–—_.,;:'’()：，、"
_NOT_AT_EDGES = (NAMELESS - LEGAL_FORMS) | {""}
_TITLE_WORDS = 6  # a file name of more words is a title
_TYPE_SAID = 700  # characters at the start of the first page within which a document names its type
_HEADLINE_SAID = 1_500  # characters within which a headline announces something
_COVER = 4_000  # characters within which names, parties and dates are searched
_FRONT = 3  # number of pages of this front matter


class _Time(NamedTuple):
    years: tuple[int, ...] = ()
    quarter: int | None = None
    date: str | None = None
    dates: tuple[str, ...] = ()


def read_card(name: str, metadata: Mapping[str, str], title: str, texts: Sequence[str]) -> Card:
    """Return a document's card: its names, time, type and title. Unusual input raises no error.

    ``name`` is the file name with its extension, ``texts`` are the texts of the pages; all may be empty. The first
    ``_CARD_PAGES`` pages are read completely; other pages contribute only recurring names and years.
    """
    stem = clean(_EXTENSION.sub("", name)).strip()
    spaced = stem.replace("_", " ")
    pages = [page[: 3 * _COVER] for page in texts[:_CARD_PAGES]]
    front, first = "\n".join(pages[:_FRONT]), pages[0] if pages else ""
    best_title = _best_title(title, metadata, stem)
    type_name = _type(spaced, best_title, first)
    binding = bool(type_name) and document_types()[type_name].parties
    of_file = _name_of_file(spaced, "\n".join(pages))
    names = _names(of_file, best_title, metadata.get("author", ""), first, binding)
    symbols = cover.symbols("\n".join(pages[:2]))
    parties = cover.parties(front[:_COVER]) if binding else []
    covers = document_types()[type_name].covers if type_name else ""
    if covers:
        headline = f"{best_title}\n{first[:_HEADLINE_SAID]}"
        ended = _quarter_reported(type_name, headline, "\n".join(pages)) if covers == "quarter" else None
        time = _reported_time(stem, best_title, front, metadata.get("subject", ""), covers == "quarter", ended)
    else:
        time = _own_time(stem, best_title, front)
    if not time.years:
        time = time._replace(years=tuple(running_years(texts)[:1]))
    own = {name_key(n) for n in names}
    # If the cover has names, recurring names add nothing; in an agreement they are parties and defined terms.
    recurring = recurring_names(texts) if not binding and len(names) < 2 else []
    return Card(
        names=tuple(names),
        topic=names[:1] == of_file != [] and cover.is_common_noun(names[0], "\n".join(pages)),
        symbols=tuple(symbols),
        parties=tuple(p for p in parties if name_key(p) not in own),
        **time._asdict(),
        type=type_name,
        title=best_title,
        recurring=tuple(name for name in recurring if name_key(name) not in own | {""}),
    )


def _best_title(title: str, metadata: Mapping[str, str], stem: str) -> str:
    for candidate in (title, metadata.get("title", "")):
        text = clean(candidate.replace("\n", " ")).strip()
        if sum(c.isalpha() for c in text) >= 4:
            return text[:300]
    return stem[:300] if _mostly_letters(stem) else ""


def _type(spaced: str, title: str, first: str) -> str:
    """Return the document's type, named by its file name, its title or its first page, "" if unknown.

    In a file name the last type counts (``Acme 2019 Supply Agreement``), in a title or on a page the first.
    """
    if ending := type_by_ending(_without_periods(spaced, "").strip()):
        return ending
    if in_name := [mention.type for mention in name_finder().find(spaced) if _is_type(mention, spaced)]:
        return in_name[-1]
    if ending := type_by_ending(title):
        return ending
    if announced := type_by_headline(first[:_HEADLINE_SAID]):
        return announced
    for text in (title, first[:_TYPE_SAID]):
        for mention in finder().find(text):
            return mention.type
    return ""


def _is_type(mention: TypeMention, spaced: str) -> bool:
    """Return whether a word such as "policy" in a file name is the document's type, and not merely its subject.

    In a file name of more than ``_TITLE_WORDS`` words, no lower-case word may directly follow the word. In no file name
    may a Chinese character follow it: a "standards law" in Chinese is not a standard.
    """
    if _CJK_AFTER.match(spaced, mention.end):
        return False
    return len(spaced.split()) + spaced.count("-") <= _TITLE_WORDS or not _GOES_ON.match(spaced, mention.end)


def _without_periods(text: str, cut: str = "\n") -> str:
    pieces, position = [], 0
    for mention in find_periods(text):
        pieces.append(text[position : mention.start])
        position = mention.end
    return cut.join([*pieces, text[position:]])


def subject_parts(spaced: str) -> list[str]:
    """Return the parts of a file name or title that may be names.

    Periods, types, exhibit numbers and brackets separate the parts; generic words at their ends are dropped.
    """
    text = _EXHIBIT.sub("\n", _without_periods(spaced))
    pieces, position = [], 0
    for mention in name_finder().find(text):
        if not _CJK_AFTER.match(text, mention.end):
            pieces.append(text[position : mention.start])
            position = mention.end
    text = "\n".join([*pieces, text[position:]])
    parts = (_trimmed(part) for line in text.split("\n") for part in _PARTS.split(line))
    return [part for part in parts if part and not all(w in GENERIC for w in _LETTERS.findall(part.lower()))]


def _trimmed(part: str) -> str:
    words = part.split()
    while words and _PUNCTUATION.sub("", words[0]).lower() in _NOT_AT_EDGES:
        del words[0]
    while words and _PUNCTUATION.sub("", words[-1]).lower() in _NOT_AT_EDGES:
        del words[-1]
    return _CJK_TAIL.sub("", " ".join(words).strip(_EDGES)).strip(_EDGES)


def _name_of_file(spaced: str, text: str) -> list[str]:
    """Return the subject at the beginning of a file name, [] if it is not certain to be a name.

    A name has a legal form, such as "Ltd", or occurs in ``text``, the first pages. If these are blank, any part counts
    as a name. File names also contain hashes, numbers and pieces of paths, which are not names.
    """
    parts = [part for part in subject_parts(split_camel(spaced))[:1] if _mostly_letters(part)]
    return [part for part in parts if not text.strip() or has_legal_form(part) or is_named(part, text)]


def _mostly_letters(text: str) -> bool:
    """Return whether a text has a letter, and at least as many as digits."""
    letters = sum(character.isalpha() for character in text)
    return letters > 0 and letters >= sum(character.isdigit() for character in text)


def _names(of_file: Sequence[str], title: str, author: str, first: str, binding: bool) -> list[str]:
    """Return the names of the document's subject, the most likely first.

    In an agreement (``binding``), unlabelled names on the first page belong to its parties and are left out.
    """
    names = list(of_file)
    labelled = cover.labelled_names(first)
    names.extend(labelled)
    if not binding:
        if not labelled:
            names.extend(cover.announcing_names(first[:_COVER]))
        # metadata names the producing software as often as the author, so the page must contain the name too
        legal = (name for text in (title, author) for name in cover.legal_names(text[:200])[:1])
        names.extend(name for name in legal if name.lower() in first.lower())
    return _one_spelling_each(names)


def _one_spelling_each(names: Iterable[str]) -> list[str]:
    """Return each name once, in the spelling with the most words: of "AcmeCorp" and "Acme Corp" only the second."""
    spellings: dict[str, str] = {}
    for name in names:
        key = name_key(name)
        if len(key) > 1 and (key not in spellings or len(name_words(name)) > len(name_words(spellings[key]))):
            spellings[key] = name
    return list(spellings.values())


def _own_time(stem: str, title: str, front: str) -> _Time:
    """Return the time of a document that reports on no period, such as a letter.

    The years, quarter and dates come from its file name, its title and its first pages.
    """
    named = [*find_periods(stem), *find_periods(title)]
    shown = [m.period.date for m in find_periods(front[:_COVER]) if m.period.date][:3]
    dates = [*(m.period.date for m in named if m.period.date), *shown]
    years = [*(m.period.year for m in named if m.period.year), *(int(date[:4]) for date in dates)]
    quarter = next((m.period.quarter for m in named if m.period.quarter), None)
    return _Time(_distinct(years), quarter, dates[0] if dates else None, _distinct(dates))


def _quarter_reported(type_name: str, headline: str, text: str) -> int | None:
    """Return the last fiscal quarter that a report covers, such as 3 for "nine months ended", None if unknown.

    The longest time span in the text counts. In a report on a part of a year, spans of twelve months are ignored, since
    they may end at any date. In other reports a quarter in the headline takes precedence.
    """
    interim = document_types()[type_name].interim
    if not interim and (quarter := next((m.period.quarter for m in find_periods(headline) if m.period.quarter), None)):
        return quarter
    return max((quarters for quarters in quarters_reported(text) if quarters < 4 or not interim), default=None)


def _reported_time(stem: str, title: str, front: str, subject: str, quarterly: bool, ended: int | None) -> _Time:
    """Return the time that a report covers: years, quarter and dates.

    The years come first from the file name, then from the period's end (its fiscal year, then its calendar year), then
    from a fiscal year in the text. The filing date counts only if there is no other date.
    """
    named, titled = list(find_periods(stem)), list(find_periods(title))
    end = period_end(front)
    shown = list(find_periods(front[:_COVER]))
    fiscal = [m.period for m in [*titled, *shown] if m.fiscal and m.period.year]
    years = [m.period.year for m in named if m.period.year]
    years += [fiscal_year(end, ended)] if end and ended else []
    years += [int(end[:4])] if end else []
    years += [period.year for period in fiscal[:1]]
    if not years:
        years = [m.period.year for m in [*titled, *find_periods(subject)] if m.period.year]
    quarter = None
    if quarterly:
        periods = [*(m.period for m in [*named, *titled]), *fiscal]
        quarter = next((period.quarter for period in periods if period.quarter), ended)
        quarter = quarter or (quarter_ended(end) if end else None)
    dates = [*(m.period.date for m in named if m.period.date), *([end] if end else [])]
    dates = dates or [m.period.date for m in shown if m.period.date][:1]
    return _Time(_distinct(years), quarter, end or (dates[0] if dates else None), _distinct(dates))


def _distinct(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))
