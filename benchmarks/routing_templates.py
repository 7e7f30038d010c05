"""Generate questions from document cards with templates: names × periods, with and without a time.

The right answer is known by construction: all documents of the organisation in the requested period. The spellings are
derived here from the names on the covers, not by the code under test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from hybrid_core.types.documents import Card

BODIES = (
    "What was the operating margin of {name}{time}?",
    "{time_first}{name}'s total debt in millions, please",
    "how did inventories at {name} develop{time}",
)
_LEGAL = re.compile(
    r"(?i)[,\s]+(?:inc|incorporated|corp|corporation|company|co|ltd|limited|llc|plc|l\.l\.c|b\.v|ag|srl|pty|pte)\b\.?$"
)


@dataclass(frozen=True)
class Case:
    text: str
    docs: frozenset[str]
    labels: tuple[str, ...]


def bare(name: str) -> str:
    """Return a name without its legal form, such as "Inc.", as people say it."""
    name = re.sub(r"(?i)^the\s+|(?<=\w{4})(?:inc|corp|ltd|llc|plc|co,ltd|,inc|,ltd)$", "", name)
    while (shorter := _LEGAL.sub("", name).strip(" ,.&")) != name:
        name = shorter
    return name


def spellings(card: Card) -> Iterator[tuple[str, str]]:
    """Yield ways to write the organisation, as (kind of spelling, spelling)."""
    name = max(card.names, key=lambda n: len(n.split()))
    plain = bare(name)
    words = plain.split()
    yield "name on the cover", name
    yield "without legal form", plain
    yield "without legal form, lower case", plain.lower()
    yield "title case", " ".join(w.capitalize() for w in words)
    if len(words) > 1:
        yield "squashed", re.sub(r"\W", "", plain)
        yield "hyphenated", "-".join(re.sub(r"[^\w&]", "", w) for w in words)
        yield "with a typist's line break", "\u00a0".join(words)
    if "&" in words:
        yield "and for &", plain.replace("&", "and")
    for symbol in card.symbols[:1]:
        yield "symbol", symbol


def times(card: Card) -> Iterator[tuple[str, str]]:
    """Yield ways to write the card's period, as (kind of wording, words after "… margin")."""
    if not card.years:
        return
    year, quarter = card.years[0], card.quarter
    if card.type == "annual report":
        yield "FY2018", f" in FY{year}"
        yield "FY18", f" for FY{year % 100:02d}"
        yield "fiscal 2018", f" in fiscal {year}"
        yield "fiscal year", f" during fiscal year {year}"
        yield "bare year", f" in {year}"
        yield "form and year", f" according to the {year} 10-K"
        yield "annual report of the year", f" in the annual report for {year}"
        yield "two years", f" between FY{year - 1} and FY{year}"
        if card.date and int(card.date[:4]) == year:
            yield "year ended", f" for the year ended {_long(card.date)}"
    elif quarter and card.type == "quarterly report":
        ordinal = ("first", "second", "third", "fourth")[quarter - 1]
        yield "Q2 2018", f" in Q{quarter} {year}"
        yield "2018Q2", f" in {year}Q{quarter}"
        yield "Q2 FY18", f" in Q{quarter} FY{year % 100:02d}"
        yield "second quarter of", f" in the {ordinal} quarter of {year}"
        yield "2Q18", f" in {quarter}Q{year % 100:02d}"
        if card.date:
            yield "quarter ended", f" for the quarter ended {_long(card.date)}"
    elif card.date and not quarter:
        yield "dated", f" in the document dated {_long(card.date)}"
        yield "ISO date", f" as of {card.date}"


def _long(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day:%B} {day.day}, {day.year}"


def card_cases(cards: Mapping[str, Card]) -> list[Case]:
    """Return questions about each card that names an organisation, with the expected documents."""
    cases = []
    for doc, card in cards.items():
        if not card.names:
            continue
        own = frozenset(d for d, c in cards.items() if same_subject(card, c))
        for kind, name in spellings(card):
            for number, body in enumerate(BODIES):
                cases.append(Case(_fill(body, name, ""), own, (f"no time / {kind}",)))
                for time_kind, time in times(card):
                    if number == (len(time_kind) + len(name)) % len(BODIES):  # one body each
                        docs = frozenset(d for d in own if _same_period(card, cards[d])) | {doc}
                        cases.append(Case(_fill(body, name, time), docs, (f"time: {time_kind}", f"timed / {kind}")))
    return cases


def _fill(body: str, name: str, time: str) -> str:
    first = f"{time.strip().capitalize()}, " if time else ""
    return body.format(name=name, time=time, time_first=first)


def same_subject(card: Card, other: Card) -> bool:
    return bool({_squashed(n) for n in card.names} & {_squashed(n) for n in other.names})


def _same_period(card: Card, other: Card) -> bool:
    return (card.years[:1], card.quarter, card.type) == (other.years[:1], other.quarter, other.type) and (
        card.type in ("annual report", "quarterly report") or card.date == other.date
    )


def _squashed(name: str) -> str:
    return re.sub(r"[\W_]|and|com$", "", bare(name).lower())


def title_cases(cards: Mapping[str, Card]) -> list[Case]:
    """Return questions that name documents by title, such as statutes, with the expected documents."""
    cases: list[Case] = []
    for doc, card in cards.items():
        title = re.sub(r"[(（]\d{4}.*?[)）]$", "", doc)
        own = frozenset(d for d in cards if re.sub(r"[(（]\d{4}.*?[)）]$", "", d) == title)
        forms = {
            "《title》": f"《{title}》对法律责任是怎么规定的？",
            "《state + title》": f"根据《中华人民共和国{title}》，哪些情形应当处以罚款？",
            "title in running text": f"按照{title}的规定可以申请多长时间的假期",
            "title, then a number": f"{title}第十二条的内容是什么",
        }
        cases.extend(Case(text, own, (kind,)) for kind, text in forms.items())
        if card.date and len(own) > 1:
            year, month, day = card.date.split("-")
            text = f"{title}（{year}年{int(month)}月{int(day)}日）规定了什么？"
            cases.append(Case(text, frozenset((doc,)), ("title and date",)))
    return cases
