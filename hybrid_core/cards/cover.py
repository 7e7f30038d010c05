"""Names of organisations on a document's cover and in its running heads, and years in the running heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from hybrid_core.cards.document_types import name_finder
from hybrid_core.text.names import GENERIC, has_cjk, has_legal_form, initials, name_key, name_words
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import STOP_WORDS, fold

_LABEL_BELOW = re.compile(
    r"exact\s{1,3}name\s+of\s+(?:the\s+)?(?:registrant|issuer|company)"
    r"|\(\s{0,3}(?:full\s+)?(?:corporate\s+)?name\s+of\s+(?:the\s+)?(?:registrant|issuer|company|organi[sz]ation)",
    re.IGNORECASE,
)
_LABEL_BEFORE = re.compile(
    r"(?im)^[ ]{0,20}(?:company\s+name|name\s+of\s+(?:the\s+)?(?:company|issuer|organi[sz]ation|institution)|issuer"
    r"|organi[sz]ation|(?:公司|企业|单位|机构)(?:中文)?(?:名称|全称|简称)|发行人|编制单位|股票简称|证券简称)"
    r"[ ]{0,9}[:：]\s{0,9}(\S[^\n]{1,80})"
)
# A name consists of capitalised words and conjunctions up to a legal form. Each repetition is bounded.
_LEGAL = (
    r"(?:Inc(?:orporated)?|INC(?:ORPORATED)?|Corp(?:oration)?|CORP(?:ORATION)?|Company|COMPANY|Co|CO(?=[.,])"
    r"|L\.?L\.?C|L\.?L\.?P|L\.?P|Ltd|LTD|Limited|LIMITED|plc|PLC|P\.L\.C|AG|GmbH|S\.A|SA|N\.V|NV|B\.V|SE"
    r"|S\.p\.A|S\.r\.l|SRL|AB|ASA|Oyj?|Pty|Pte)"
)
_CAPITAL = r"(?:[A-Z0-9][\w'’&\-]*(?:\.[\w'’\-]+)*|(?:[A-Z]\.)+|[a-z]-?[A-Z][\w\-]*)"
_GAP = r",?[ \n]{1,2}"
_LEGAL_NAME = re.compile(
    rf"(?<![\w.\-])({_CAPITAL}(?:{_GAP}(?:{_CAPITAL}|&|and|of)){{0,5}}?{_GAP}{_LEGAL}\b\.?(?:{_GAP}{_LEGAL}\b\.?)?)"
)
_SYMBOL_BESIDE = re.compile(
    r"([A-Z][^\n()]{1,60}?)\s{0,3}\(\s{0,2}(?:NYSE|NASDAQ|Nasdaq|LSE|TSX|ASX|HKEX|SEHK|SIX|Euronext|AMEX|OTC\w*"
    r"|Frankfurt|TSE)[^:)\n]{0,20}:\s{0,3}([A-Z0-9.]{1,8})\b"
)
_SYMBOL_TABLE = re.compile(r"(?i)(?:trading|ticker|stock)\s+symbol")
_SYMBOL_CELL = re.compile(
    r"(?<![\w.])([A-Z]{2,6})[ \n]{1,3}(?:The |the )?(?:New York|Nasdaq|NASDAQ|NYSE|London|[A-Z]\w+ Stock Exchange)"
)
_QUOTED_NAME = re.compile(r"\([^()\"“]{0,60}[\"“]([^\"“”]{2,40})[\"”]|\(([A-Z][A-Z0-9&]{1,8})\)")
_NOT_NAMES = re.compile(r"(?i)exchange|commission|securities act|internal revenue|section|exhibit|agreement|pursuant")
_ROLES = """
whereas dated between agreement contract amendment date effective notice attention attn source company
customer supplier provider distributor licensor licensee seller buyer purchaser client contractor
consultant  lender borrower landlord tenant party parties
"""
_NOT_FIRST = STOP_WORDS | frozenset(_ROLES.split())
_ARTICLE_BEFORE = re.compile(r"(?:\b(?:a|an|any|such|said|our)|,)\s+$", re.IGNORECASE)
_RULE = re.compile(r"^[\W_]*$")
_MOST_NAMES = 4  # maximum names from one cover
_SHORT_LINE = 50  # a name does not continue after a line that is this short


def labelled_names(page: str) -> list[str]:
    """Return the names beside a label: above "(Exact name of registrant …)" or after "Company name:"."""
    names = []
    for label in _LABEL_BELOW.finditer(page):
        above = [line.strip() for line in page[max(0, label.start() - 300) : label.start()].split("\n")]
        above = [line for line in above if not _RULE.match(line)][-2:]
        if not above:
            continue
        # the end of a long name ("FOODS, INC.") may be on a separate line, and is not a name by itself
        name = above[-1] if name_key(above[-1]) else " ".join(above)
        if len(name) <= 80:
            names.append(name)
    names.extend(match[1].strip() for match in _LABEL_BEFORE.finditer(page[:6_000]))
    return names[:_MOST_NAMES]


def legal_names(text: str) -> list[str]:
    """Return names that end with a legal form (Inc., Ltd, GmbH …), in order, without repeats."""
    names: dict[str, str] = {}
    for match in _LEGAL_NAME.finditer(text):
        name = _trimmed(match[1], text[max(0, match.start() - 8) : match.start()])
        key = name_key(name)
        if len(key) > 1 and not key.isdigit() and not _NOT_NAMES.search(name):
            names.setdefault(key, name)
    return list(names.values())


def _trimmed(name: str, before: str) -> str:
    """Return a name without leading words that are not part of it, such as "between".

    Return "" if it is only a description, such as "a Delaware Corporation". ``before`` is the text in front of it.
    """
    lines = name.split("\n")
    for number in range(len(lines) - 1, 0, -1):
        if len(lines[number - 1]) < _SHORT_LINE and len(lines[number].split()) > 1:
            lines, before = lines[number:], ""
            break
    words = " ".join(lines).split()
    while words and words[0].strip(".,").lower() in _NOT_FIRST:
        before = words.pop(0) + " "
    if len(words) == 2 and _ARTICLE_BEFORE.search(before):
        return ""
    return " ".join(words).strip(" ,")


def announcing_names(page: str) -> list[str]:
    """Return the organisation's name on a page where no label marks it, [] if there is none.

    It stands next to a trading symbol, or fills a line and ends with a legal form such as "Inc.".
    """
    if match := _SYMBOL_BESIDE.search(page):
        named = legal_names(match[1])
        return [named[-1] if named else match[1].split(" - ")[-1].strip(" -,")]
    for line in page.split("\n")[:40]:
        named = legal_names(line)
        if named and len(named[0]) >= 0.8 * len(line.strip()):
            return named[:1]
    return []


def symbols(text: str) -> list[str]:
    """Return the trading symbols of the document's organisation, at most four.

    They stand beside its name, or in a table of its securities and the exchanges that list them.
    """
    matches = [match[2] for match in _SYMBOL_BESIDE.finditer(text[:6_000])][:1]
    if table := _SYMBOL_TABLE.search(text):
        rows = text[table.end() : table.end() + 900]
        matches.extend(match[1] for match in _SYMBOL_CELL.finditer(rows) if match[1].lower() not in GENERIC)
    return [symbol for symbol in dict.fromkeys(matches) if len(symbol) > 1][:4]


def parties(text: str) -> list[str]:
    """Return the parties of an agreement, from the text of its first pages.

    They are names with a legal form such as "Ltd", and the short names that the text defines for them in brackets.
    """
    names = legal_names(text)[:8]
    words = {name_key(name): name_words(name) for name in names}
    short = []
    for match in _QUOTED_NAME.finditer(text):
        term = match[1] or match[2]
        key = name_key(term)
        if len(key) > 1 and any(k != key and (k.startswith(key) or initials(w) == key) for k, w in words.items()):
            short.append(term)
    return [*names, *dict.fromkeys(term for term in short if term.lower() not in _NOT_FIRST)]


_CAPITALISED_NAME = re.compile(r"(?<![\w'’.&-])[A-Z][\w'’&-]+(?: [A-Z][\w'’&-]+){0,2}")
_OWNERS = re.compile(r"['’]s\b")
_SAMPLE_PAGES = 40  # maximum pages to examine, evenly spread
_LEAST_PAGES = 3
_SHARE = 0.5  # minimum share of the pages with text
_COMMON = 0.2  # a word in lower case on this share of the pages with its capitalised form is not a name
# minimum share of pages with the name inside a sentence, which labels ("Source:", "Figure 3") do not reach
_WITHIN = 0.3
_TOGETHER = 0.8  # words that occur together this often, on pages with either word, are one name
_MOST_RECURRING = 3
_CLOSE_WORDS = 12  # number of most frequent words that are examined closely


def recurring_names(pages: Sequence[str]) -> list[str]:
    """Return up to three names that occur on at least half of the pages with text, and on at least three pages.

    The most frequent comes first. A name is a word that is nearly always capitalised, or several such words together.
    """
    texts = _sample([page for page in pages if page.strip()])
    if len(texts) < _LEAST_PAGES:
        return []
    minimum = max(_LEAST_PAGES, _SHARE * len(texts))
    words: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    spelt: dict[str, Counter[str]] = {}
    for text in texts:
        candidates = dict.fromkeys(
            _OWNERS.sub("", name) for name in _CAPITALISED_NAME.findall(text)
        )  # in order, so that ties stay in order
        keys = {fold(word): word for name in candidates for word in name.split(" ")}
        words.update(keys.keys())
        for key, word in keys.items():
            spelt.setdefault(key, Counter())[word] += 1
        runs.update(name for name in candidates if " " in name)
    names: list[str] = []
    often = [(key, count) for key, count in words.most_common(4 * _CLOSE_WORDS) if count >= minimum and _may_name(key)]
    for key, count in often[:_CLOSE_WORDS]:
        lower, within = (
            re.compile(rf"(?<!\w){re.escape(key)}(?!\w)"),
            re.compile(rf"[a-z,;] {re.escape(key)}(?!\w|\s*[\d(])", re.IGNORECASE),
        )
        if sum(lower.search(text) is not None for text in texts) > _COMMON * count:
            continue
        if sum(within.search(text) is not None for text in texts) < _WITHIN * count:
            continue
        word = spelt[key].most_common(1)[0][0]
        longer = [run for run, times in runs.items() if times >= _TOGETHER * count and key in fold(run).split()]
        name = max(longer, key=len, default=word)
        if not any(fold(word) in fold(other).split() for other in names):
            names.append(name)
    return names[:_MOST_RECURRING]


def is_common_noun(name: str, text: str) -> bool:
    """Return whether a name from a file name is a common noun, such as "expenses", and names no organisation.

    A common noun occurs often in lower case, compared with its capitalised form inside sentences. In languages that
    capitalise no words, or all nouns, this cannot be seen and the result is False.
    """
    if has_legal_form(name) or has_cjk(name) or not text.strip():
        return False
    words = r"[\W_]+".join(re.findall(r"[^\W_]+", name))
    alone = rf"(?<![\w.@/#-]){words}(?!\w|[.@/-]\w)"  # and not in an address
    lower = sum(match[0].islower() for match in re.finditer(alone, text, re.IGNORECASE))
    capital = len(re.findall(rf"(?<=[a-z,;] )(?=[A-Z])(?i:{words})(?!\w)", text))
    return lower > _COMMON * (lower + capital)


def running_years(pages: Sequence[str]) -> list[int]:
    """Return the years in the first or last two lines of at least half of the pages, the most frequent first."""
    seen: Counter[int] = Counter()
    pages = _sample(pages)
    for page in pages:
        lines = [line for line in page.split("\n") if line.strip()]
        seen.update(_years(dict.fromkeys([*lines[:2], *lines[-2:]])))
    return [year for year, count in seen.most_common() if count >= max(_LEAST_PAGES, _SHARE * len(pages))]


def _sample(pages: Sequence[str]) -> Sequence[str]:
    step = max(1, len(pages) / _SAMPLE_PAGES)
    return [pages[int(at * step)] for at in range(min(len(pages), _SAMPLE_PAGES))]


def _years(lines: Iterable[str]) -> set[int]:
    return {m.period.year for line in lines if any(c.isdigit() for c in line) for m in find_periods(line[:200])} - {0}


def _may_name(key: str) -> bool:
    return len(key) > 2 and key not in STOP_WORDS and key not in GENERIC and not any(name_finder().find(key))
