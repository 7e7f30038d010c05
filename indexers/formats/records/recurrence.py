"""Rules of recurrence (RFC 5545) in words: "every 2 weeks on Monday and Friday, 10 times"."""

from __future__ import annotations

import re

_UNITS = {"SECONDLY": "second", "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week",
          "MONTHLY": "month", "YEARLY": "year"}  # fmt: skip
_DAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
         "SU": "Sunday"}  # fmt: skip
_MONTHS = ("January February March April May June July August September October November December").split()
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "last but one"}
_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")


def in_words(rule: str) -> str:
    """Return a rule in words, or as it is written where it is no rule."""
    named = (part.partition("=") for part in rule.split(";"))
    parts = {name.strip().upper(): value.strip() for name, sign, value in named if sign}
    unit = _UNITS.get(parts.pop("FREQ", "").upper())
    if unit is None:
        return rule.strip()
    interval = parts.pop("INTERVAL", "1")
    words = f"every {unit}" if interval in ("1", "") else f"every {interval} {unit}s"
    if months := [_MONTHS[int(month) - 1] for month in parts.pop("BYMONTH", "").split(",") if month in _MONTH_NUMBERS]:
        words += f" in {_listed(months)}"
    if days := [_day(day) for day in parts.pop("BYDAY", "").upper().split(",") if day]:
        chosen = parts.pop("BYSETPOS", "")
        position = f"the {_listed([_ordinal(at) for at in chosen.split(',')])} " if chosen else ""
        words += f" on {f'{position}of ' if position else ''}{_listed(days)}"
    if dates := [day for day in parts.pop("BYMONTHDAY", "").split(",") if day]:
        words += f" on day {_listed([day if not day.startswith('-') else f'{day[1:]} from the end' for day in dates])}"
    if count := parts.pop("COUNT", ""):
        words += f", {count} time{'' if count == '1' else 's'}"
    if until := parts.pop("UNTIL", ""):
        words += f", until {until[:4]}-{until[4:6]}-{until[6:8]}" if until[:8].isdigit() else f", until {until}"
    parts.pop("WKST", None)
    others = [f"{name.lower()} {value}" for name, value in parts.items() if value]
    return f"{words} ({', '.join(others)})" if others else words


_MONTH_NUMBERS = frozenset(map(str, range(1, 13)))


def _day(day: str) -> str:
    match = _DAY.fullmatch(day.strip())
    if match is None:
        return day
    return f"the {_ordinal(match[1])} {_DAYS[match[2]]}" if match[1] else _DAYS[match[2]]


def _ordinal(number: str) -> str:
    try:
        value = int(number)
    except ValueError:
        return number
    return _ORDINALS.get(value) or (f"{value}th" if value > 0 else f"{-value}th from the end")


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
