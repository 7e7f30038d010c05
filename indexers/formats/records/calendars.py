"""Calendars (ICS) and visiting cards (VCF) as blocks: a section for each event or card, with its fields in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import BrokenFileError
from hybrid_core.types.notes import Note
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part
from indexers.formats.limits import ParseLimits
from indexers.formats.records.content_lines import Component, Field, read_components
from indexers.formats.records.recurrence import in_words
from indexers.formats.web.html import parse_html

_RECORDS = ("VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY", "VAVAILABILITY")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(?:\d\d)?(Z?))?")
_DURATION = re.compile(r"[+-]?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_UNITS = ("week", "day", "hour", "minute", "second")
_TECHNICAL = frozenset(
    "UID DTSTAMP SEQUENCE TRANSP CREATED LAST-MODIFIED CLASS PRODID VERSION CALSCALE METHOD GEO RECURRENCE-ID REV "
    "PHOTO LOGO SOUND KEY PROFILE MAILER CLIENTPIDMAP TZ SORT-STRING RELATED-TO ATTACH DTSTART DTEND DUE DURATION "
    "RRULE EXDATE RDATE SUMMARY DESCRIPTION ORGANIZER ATTENDEE COMPLETED EXRULE FN N XML".split()
)
_LABELS = {"LOCATION": "Place", "URL": "Link", "CATEGORIES": "Categories", "STATUS": "Status", "CONTACT": "Contact",
           "PRIORITY": "Priority", "PERCENT-COMPLETE": "Done (%)", "COMMENT": "Comment", "ORG": "Organisation",
           "TITLE": "Title", "ROLE": "Role", "TEL": "Telephone", "EMAIL": "Mail", "ADR": "Address", "LABEL": "Address",
           "BDAY": "Birthday", "NOTE": "Note", "NICKNAME": "Nickname", "IMPP": "Chat"}  # fmt: skip
_TYPES = frozenset("work home cell mobile fax voice pager office".split())


def read_calendar(path: Path, limits: ParseLimits) -> Flow:
    """Read a calendar. Raise DocumentError if it has no component."""
    root, warnings = _components(path, limits, "calendar")
    calendars = [part for part in root.inner if part.name == "VCALENDAR"] or [root]
    name = next(filter(None, (calendar.text("NAME", "X-WR-CALNAME") for calendar in calendars)), "")
    return Flow(iter([Part(list(_calendar_blocks(root, calendars)))]), {"title": name} if name else {}, warnings)


def read_cards(path: Path, limits: ParseLimits) -> Flow:
    """Read visiting cards. Raise DocumentError if there is none."""
    root, warnings = _components(path, limits, "visiting card")
    blocks = list(_card_blocks(root))
    return Flow(iter([Part(blocks)]), {}, warnings)


def _components(path: Path, limits: ParseLimits, title: str) -> tuple[Component, list[str]]:
    limits.check_file(path)
    text, warnings = read_text(path)
    root, whole = read_components(text.removeprefix("\ufeff"))
    if not root.inner:
        raise BrokenFileError(f"the file is damaged: it contains no {title} (no line with BEGIN:).", file=path)
    if not whole:
        warnings.append(Note("read.cut-record"))
    return root, warnings


def _calendar_blocks(root: Component, calendars: list[Component]) -> Iterator[Block]:
    number = 0
    for calendar in calendars:
        name = calendar.text("NAME", "X-WR-CALNAME")
        if name:
            yield Heading(1, name, place="calendar")
        about = (
            calendar.text("DESCRIPTION", "X-WR-CALDESC"),
            *calendar.others,
            *(root.others if root is not calendar else ()),
        )
        yield Paragraph("\n".join(filter(None, about)), "calendar")
        for event in calendar.inner:
            if event.name in _RECORDS:
                number += 1
                yield from _event(event, f"event {number}", 1 + bool(name))


def _event(event: Component, place: str, level: int) -> Iterator[Block]:
    description = _description(event)
    title = event.text("SUMMARY") or description.split("\n")[0][:80] or place.capitalize()
    yield Heading(level, " ".join(title.split()), place=place)
    lines = [_time_span(event), *(f"Repeats {in_words(entry.value)}" for entry in event.all("RRULE"))]
    for name, before in (("RDATE", "Also on"), ("EXDATE", "Not on"), ("RECURRENCE-ID", "Instead of"), ("DUE", "Due"),
                         ("COMPLETED", "Completed")):  # fmt: skip
        if days := ", ".join(time_of(entry, part) for entry in event.all(name) for part in entry.value.split(",")):
            lines.append(f"{before} {days}")
    lines += _field_lines(event)
    lines += [f"Organiser: {_person(entry)}" for entry in event.all("ORGANIZER")]
    if people := "; ".join(_person(entry) for entry in event.all("ATTENDEE")):
        lines.append(f"Attendees: {people}")
    yield Paragraph("\n".join(filter(None, (*lines, *event.others))), place)
    yield Paragraph(description, place)


def _description(event: Component) -> str:
    """Return the description of an event. Its HTML is used only if there is no plain text."""
    text = event.text("DESCRIPTION")
    if not text and (source := event.text("X-ALT-DESC")):
        return "\n".join(str(getattr(block, "text", "")) for block in parse_html(source, whole=True).blocks)
    return text


def _time_span(event: Component) -> str:
    """Return the start and end of an event, with its time zone. A whole day has no time."""
    start, end = (next(iter(event.all(*names)), None) for names in (("DTSTART",), ("DTEND",)))
    if start is None:
        return ""
    first, last = time_of(start, start.value), time_of(end, end.value) if end is not None else ""
    zone = start.parameters.get("TZID", "").strip("/")
    duration = _duration(event.text("DURATION"))
    day, _, time = last.partition(" ")
    if last and first.startswith(day) and time:
        last = time
    if len(day) == len(last) == 10 and "T" not in start.value:
        last = f"{last} (excluded)" if last != first else ""
    return " ".join(filter(None, (f"{first} – {last}" if last else first, duration and f"({duration})",
                                  "" if first.endswith("UTC") else zone)))  # fmt: skip


def time_of(entry: Field, value: str) -> str:
    """Return a point in time as "2026-03-03 09:00", or unchanged if it is in another form."""
    match = _TIME.fullmatch(value.strip().partition("/")[0])
    if match is None:
        return entry.text.strip() if value == entry.value else value.strip()
    day = f"{match[1]}-{match[2]}-{match[3]}"
    return f"{day} {match[4]}:{match[5]}{' UTC' if match[6] else ''}" if match[4] else day


def _duration(value: str) -> str:
    match = _DURATION.fullmatch(value)
    if match is None or not any(match.groups()):
        return value
    return " ".join(f"{int(number)} {unit}{'' if int(number) == 1 else 's'}"
                    for number, unit in zip(match.groups(), _UNITS, strict=True) if number)  # fmt: skip


def _person(entry: Field) -> str:
    address = re.sub(r"^mailto:", "", entry.text.strip(), flags=re.I)
    name = entry.parameters.get("CN", "")
    return f"{name} <{address}>" if name and name != address else address


def _field_lines(record: Component) -> list[str]:
    """Return the fields of a record that are meant for people, one per line."""
    named = {
        entry.group: entry.text for entry in record.fields if entry.name in ("X-ABLABEL", "X-ABLABEL1") and entry.group
    }
    lines = []
    for entry in record.fields:
        if (
            entry.name in _TECHNICAL
            or entry.name.startswith("X-")
            or entry.parameters.get("VALUE", "").upper() == "BINARY"
        ):
            continue
        encoding = entry.parameters.get("ENCODING", "").upper()
        if encoding in ("B", "BASE64") or "BASE64" in entry.parameters:
            continue
        text = ", ".join(filter(None, entry.parts(";"))) if entry.name in ("ADR", "ORG", "GENDER") else entry.text
        text = ", ".join(entry.parts(",")) if entry.name in ("CATEGORIES", "NICKNAME") else text
        text = re.sub(r"^(?:tel|mailto):", "", text.strip(), flags=re.I)
        named_kinds = f"{entry.parameters.get('TYPE', '')},{','.join(entry.parameters)}".lower()
        kinds = [kind for kind in re.split(r"[,\s]", named_kinds)
                 if kind in _TYPES]  # fmt: skip
        label = named.get(entry.group, "").strip("_$!<>") or _LABELS.get(entry.name) or entry.name.capitalize()
        if text:
            lines.append(f"{label}{f' ({chr(44).join(dict.fromkeys(kinds))})' if kinds else ''}: {text}")
    return lines


def _card_blocks(root: Component) -> Iterator[Block]:
    yield Paragraph("\n".join(root.others), "card 1")
    cards = [part for outer in (root, *root.inner) for part in outer.inner if part.name == "VCARD"] or root.inner
    for number, card in enumerate(cards, 1):
        place = f"card {number}"
        names = [entry.parts(";") for entry in card.all("N")]
        whole = " ".join(
            filter(None, (part for name in names[:1] for part in (*name[3:4], *name[1:3], *name[:1], *name[4:])))
        )
        title = card.text("FN") or whole or ", ".join(filter(None, next((o.parts(";") for o in card.all("ORG")), [])))
        yield Heading(1, " ".join((title or card.text("EMAIL", "TEL") or place.capitalize()).split()), place=place)
        lines = [whole] if whole and set(whole.split()) - set(title.split()) else []
        yield Paragraph("\n".join((*lines, *_field_lines(card), *card.others)), place)
