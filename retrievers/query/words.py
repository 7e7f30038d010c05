"""Words of a question: content words, quotations, names, and corrections of misspelled words.

Known names are found by their keys, longest first, without overlaps. A library stores hashes of terms instead of words.
So possible corrections of a word are generated and looked up (Norvig, "How to Write a Spelling Corrector", 2007). A
correction counts only if a page contains it literally.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from itertools import chain, pairwise

from hybrid_core.text.misspellings import missing, usual, wrong
from hybrid_core.text.names import GENERIC, has_cjk
from hybrid_core.text.tokens import STOP_WORDS, fold, is_number, is_year, stem, tokenise
from retrievers.query.question import IMPERATIVES, strip_instructions

_FRAME = frozenset(
    tokenise(
        """
        tell say said says explain describe summarize summarise summary overview outline give show list mean think know
        find talk discuss mention happen discover wonder ask answer question help please thanks hello hi hey okay yes
        compare comparison compared versus vs differ difference different same similar
        much many lot several various better worse best true correct right
        one ones whose thing something anything everything nothing else another kind sort way detail
        information info topic example
        document file text page report paper article book contents passage
        year quarter month week day period time previous prior last next earlier later today now recent
        get got make made take took want need see look let use also still even really actually exactly
        """
    )
)
# Chinese words are not separated, so these are cut out of the text, longer ones first.
_FRAME_CHINESE = re.compile(
    "|".join(
        sorted(
            """
            什么 为什么 为何 怎么 怎么办 怎么样 怎样 如何 哪里 哪个 哪些 哪种 何时 多少 几个 多久 多长 是否
            能否 可否 有没有 是不是 可以 可不可以 能不能 应该 应当 需要 我们 你们 他们 它们 这个 那个 这些
            那些 这份 那份 这里 那里 请问 文件 文档 报告 文章 内容 资料 总结 概括 概述 介绍 说明 解释 告诉
            提到 关于 意思 觉得 认为 知道 还有 然后 那么 所以 但是 前一年 去年 今年 明年 上一年 上年 年度
            季度 上个月 之前 之后 以前 以后 一下 一个 一些 更多 详细 具体 其他 别的 比较 对比 相比 区别
            不同 差别 差异 哪一个 更好 的 了 吗 呢 吧 啊 呀 么 这 那 它 他 她 你 我 您 谁 请 讲 说 是 也 都
            还 哪
            """.split(),
            key=len,
            reverse=True,
        )
    )
)
_COMPARING = re.compile(
    r"\b(?:vs|versus|compar(?:e[ds]?|ing|isons?)|differ(?:s|ed|ences?|ent\s+from)?|between)\b"
    r"|\b(?:which|whose|who|what)\b.{1,200}\bor\b|\bor\b.{1,200}\b(?:which|whose)\b|比较|对比|相比|区别|不同|差别|差异|[与和].{1,30}哪",
    re.IGNORECASE,
)
_NUMBER = 3  # minimum digits of a number that may be searched for
_SINGLE = re.compile("(?<![\u3400-\u9fff])[\u3400-\u9fff](?![\u3400-\u9fff])")  # the rest of a word that was cut


def is_frame(term: str) -> bool:
    """Return whether a term is a filler word, such as "show" or "please", that may occur in any question."""
    return term in _FRAME


def compares(question: str) -> bool:
    """Return whether a question asks for a comparison of several things."""
    return _COMPARING.search(question) is not None


def content_words(question: str) -> tuple[str, ...]:
    """Return the terms that name the subject of a question: no filler words, years or short numbers."""
    left = _SINGLE.sub(" ", _FRAME_CHINESE.sub(" ", strip_instructions(question)))
    return tuple(dict.fromkeys(term for term in tokenise(left) if not is_frame(term) and not _bare(term)))


def without_frame(question: str) -> str:
    """Return the question without filler words and instructions. Other words keep spelling and order."""
    left = _SINGLE.sub(" ", _FRAME_CHINESE.sub(" ", strip_instructions(question)))
    return " ".join(word for word in left.split() if any(not is_frame(term) for term in tokenise(word)))


def _bare(term: str) -> bool:
    return is_year(term) or (is_number(term) and len(term) < _NUMBER)


_LEAST = 4  # minimum words of a quotation; fewer are a name or a term, even in quotation marks
_QUOTATION = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_FRAME_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W_]+")


def quotations(question: str) -> list[str]:
    """Return the quotations in a question: texts in quotation marks, or the whole question.

    The whole question is returned if it has no quotation marks. Texts of fewer than four words are left out.
    """
    marked = ["".join(match.groups("")) for match in _QUOTATION.finditer(question)]
    marked = [text for text in marked if len(_FRAME_WORD.findall(text)) >= _LEAST]
    return marked or ([question] if len(_FRAME_WORD.findall(question)) >= _LEAST else [])


_HINTS = (
    "document", "paper", "report", "contract", "agreement", "filing", "file", "book", "article", "statute",
    "law", "release", "presentation", "deck", "manual", "guide", "stud", "survey", "slide", "letter", "minutes",
    "memo", "polic", "mail", "10-k", "10k", "10-q", "10q", "8-k", "8k", "dokument", "bericht", "vertr",
    "gesetz", "rapport", "contrat", "lois", "informe", "leyes", "法", "文件", "文档", "合同", "协议",
    "报告", "论文", "书",
)  # fmt: skip
_PLURAL = (
    r"(?:documents|papers|reports|contracts|agreements|filings|files|books|articles|statutes|laws|releases|presentations"
    r"|decks|manuals|guides|studies|surveys|slides|letters|minutes|memos|policies|notebooks|mails|e-?mails"
    r"|10-?[kq]s|8-?ks|dokumente|berichte|vertr[äa]ge|gesetze|rapports|contrats|lois|documentos|informes|contratos|leyes)"
)


@lru_cache(maxsize=1)
def _list() -> re.Pattern[str]:
    """Return the pattern of questions that ask for documents.

    It is compiled only when needed, because this takes longer than a search.
    """
    return re.compile(
        rf"^\W*(?:(?:which|what|list|name|show|find|give|are|is)\b(?:\s+(?:me|us|there|any|all|the|of|our|my|every)){{0,4}}"
        rf"\s+)?(?:[\w&-]+\s+){{0,3}}?{_PLURAL}\b"
        r"|^\W*(?:which|what)\s+(?:document|paper|report|contract|agreement|filing|file|book|law|presentation|release)\s+"
        r"(?:talks?|speaks?|deals?|discusses|mentions|covers|says|tells|is\s+about|has|contains|describes)\b"
        r"|^\W*(?:welche|quels|quelles|qu[ée]|cu[áa]les)\s+(?:\w+\s+){0,2}?(?:dokumente?|berichte?|vertr[äa]ge?|gesetze?|rapports?"
        r"|documents?|contrats?|lois|documentos?|informes?|contratos?|leyes)\b"
        r"|(?:哪些|哪几[部份个篇]|有哪些|列出).{0,6}(?:法律|法规|文件|文档|合同|协议|报告|论文|书)",
        re.IGNORECASE,
    )


def asks_for_documents(question: str) -> bool:
    """Return whether a question asks which documents exist ("Which contracts …")."""
    folded = question.lower()
    return any(hint in folded for hint in _HINTS) and _list().search(question) is not None


_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BEGINNING = re.compile(r"(?:\A|[.?!:;\n]|[\"“”‘«(\[]|(?<!\w)'|\w-)\s*\Z")
_PLURAL_ENDING = re.compile(r"['’]?s\Z")  # ending of a plural or possessive: CEO's, ETFs
_NEAR = 20  # characters before a word in which a sentence may have ended
_RUNNING = 0.25  # small stop words among all words: fewer have headings, keywords, and languages that capitalise nouns


def running_words(question: str) -> bool:
    """Return whether a question is written as an English sentence, so that capitals mark names."""
    words = _WORDS.findall(question)
    return sum(word in STOP_WORDS for word in words) >= _RUNNING * len(words)


def proper_names(question: str) -> frozenset[str]:
    """Return the terms of the proper names in a question.

    Capitals at the start of a sentence or quotation, after a hyphen, or outside English sentences do not count.
    Abbreviations are left out, because documents may spell them out.
    """
    if not running_words(question):
        return frozenset()
    within = [
        word[0]
        for word in _WORDS.finditer(question)
        if not _BEGINNING.search(question, max(0, word.start() - _NEAR), word.start())
    ]
    named = [word for word in within if word[0].isupper() and not _PLURAL_ENDING.sub("", word).isupper()]
    return frozenset(term for name in named for term in tokenise(name))


NAME = "_"  # replaces a name
_CAPITAL = r"[A-Z][^\W\d_]*[a-z][^\W\d_]*"  # abbreviations are not recognised as names
_RUN = re.compile(rf"(?<![\w'’]){_CAPITAL}(?:(?:[ -]| (?:&|of|and|of the) ){_CAPITAL})+(?!\w)")
_CAPITAL_WORD = re.compile(_CAPITAL)
_QUOTED = re.compile(r"(\"[^\"]*\"|“[^”]*”|«[^»]*»)")  # a heading or title, whose words are part of the question
_NAMES = re.compile(rf"{NAME}(?:(?:[ -]| (?:&|of|and|of the) ){NAME})+")


def without_names(question: str, names: Iterable[str], of_field: Callable[[str], bool]) -> str:
    """Return the question with each name replaced by ``_``.

    Names are those in ``names``, and runs of capitalised words. ``of_field`` tells whether consecutive words are a term
    of the field, which is kept.
    """
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        written = re.escape(name) if has_cjk(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        question = re.sub(written, NAME, question)
    if not running_words(question.lower()):
        return question
    parts = _QUOTED.split(question)
    parts[::2] = [_RUN.sub(lambda run: _hidden(run[0], of_field), part) for part in parts[::2]]
    return "".join(parts)


def _hidden(run: str, of_field: Callable[[str], bool]) -> str:
    """Return a run of words with its capitalised words replaced by ``_``.

    Stop words, imperatives and terms of the field are kept.
    """
    words = [word for word in _CAPITAL_WORD.finditer(run) if word[0].lower() not in STOP_WORDS | IMPERATIVES]
    if len(words) < 2:
        return run
    own = {word.start() for pair in pairwise(words) if of_field(run[pair[0].start() : pair[1].end()]) for word in pair}
    for word in reversed(words):
        if word.start() not in own:
            run = f"{run[: word.start()]}{NAME}{run[word.end() :]}"
    return _NAMES.sub(NAME, run)


_LONGEST = 7  # maximum words of a name
_MOST_WORDS = 4_000  # maximum words of a question to search for names
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|&")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\w（）()、〇·]+")
_NOT_KEY = re.compile(r"[\W_]+")
_JOINING = frozenset(("and", "&", "n"))


@dataclass(frozen=True, slots=True)
class NameMention:
    """A mention of a known name in a question.

    ``capital`` tells whether it is capitalised; it is None if the whole question is in one case.
    """

    key: str
    written: str
    words: int
    capital: bool | None


class MentionFinder:
    """A finder of known names in texts, by their keys. "name & name" and "name and name" have equal keys."""

    def __init__(self, keys: Container[str], in_characters: Mapping[str, Collection[str]]) -> None:
        """Create a finder for the names with these ``keys``.

        For keys in languages without spaces, ``in_characters`` maps their first two characters to their lengths.
        """
        self._keys, self._in_characters = keys, in_characters

    def find(self, text: str) -> Iterator[NameMention]:
        yield from self._in_words(text)
        if self._in_characters and has_cjk(text):
            yield from self._without_spaces(text)

    def _in_words(self, text: str) -> Iterator[NameMention]:
        plain = text.replace("\u2019", "'")
        spans = [(match.start(), match.end()) for match in _TOKEN.finditer(plain)][:_MOST_WORDS]
        words = [fold(plain[a:b]).removesuffix("'s").replace("'", "") for a, b in spans]
        cased = not (text.islower() or text.isupper())
        i = 0
        while i < len(words):
            length, key = (0, "") if words[i] in _JOINING else self._longest(words, i)
            if length:
                written = plain[spans[i][0] : spans[i + length - 1][1]]
                capital = any(c.isupper() or c.isdigit() for c in written) if cased else None
                if not (length == 1 and words[i] in STOP_WORDS and (i == 0 or not capital)):  # "about" is no About.com
                    yield NameMention(key, written, length, capital)
            i += length or 1

    def _longest(self, words: list[str], i: int) -> tuple[int, str]:
        """Return the number of words of the longest key that begins at the i-th word, and the key; (0, "") if there is
        none.
        """
        best, key, taken = (0, ""), "", 0
        for j in range(i, len(words)):
            if words[j] in _JOINING:
                continue
            key += words[j]
            taken += 1
            if key in self._keys and not (taken == 1 and key in GENERIC):
                best = (j - i + 1, key)
            if taken == _LONGEST:
                break
        pair = words[i : i + 3]  # J&J, J and J
        if best[0] < 3 and len(pair) == 3 and pair[1] in _JOINING and len(pair[0]) == len(pair[2]) == 1:
            key = f"{pair[0]}&{pair[2]}"
            best = (3, key) if key in self._keys else best
        return best

    def _without_spaces(self, text: str) -> Iterator[NameMention]:
        for run in _CJK_RUN.findall(text[: 10 * _MOST_WORDS]):
            plain = _NOT_KEY.sub("", fold(run))
            i = 0
            while i < len(plain):
                key = self._longest_at(plain, i)
                if key:
                    yield NameMention(key, key, 2, None)
                i += len(key) or 1

    def _longest_at(self, plain: str, i: int) -> str:
        lengths = sorted(map(int, self._in_characters.get(plain[i : i + 2], ())), reverse=True)
        return next((plain[i : i + n] for n in lengths if plain[i : i + n] in self._keys), "")


Holding = Callable[[Sequence[str]], Sequence[int]]
"""A function that returns the number of library pages with each of some terms."""
Written = Callable[[str], Collection[str]]
"""A function that returns the words of some pages that contain a word's term."""

_SPELLED_WORD = re.compile(r"(?<![\w.])[^\W\d_]{4,24}(?!\w|\.\w)")  # none longer: two slips of it are too many to try
_WRONG, _TWICE = 6, 7  # minimum letters of a word with a wrong letter, and with two errors
_ACRONYM = 6  # maximum capitals of an abbreviation
_SHORTEST = 4  # minimum letters of a correction
_COMPARING_ENDINGS = ("er", "est")
_MAX_CORRECTIONS = 4  # maximum corrections of a word to look up on pages


def words(question: str, known_terms: Collection[str]) -> list[str]:
    """Return the words of a question that may be misspelled.

    Short words, stop words and terms in ``known_terms`` are left out.
    """
    candidates = dict.fromkeys(_SPELLED_WORD.findall(strip_instructions(question)))
    return [
        word
        for word in candidates
        if word.isascii() and word.lower() not in STOP_WORDS and stem(fold(word)) not in known_terms
    ]


def corrected(word: str, holding: Holding, names: Collection[str], written: Written) -> str:
    """Return the correction of a misspelled word, in the same case. Return "" if there is none.

    A word that the library contains is not corrected. A correction is a stop word or a word on a page. Terms in
    ``names`` come first, then words that pages contain literally, then other forms of the most frequent words. Possible
    abbreviations are corrected only to names.
    """
    plain = word.lower()
    if any(holding([stem(plain), *_compared_terms(plain)])):
        return ""
    for candidates, inflected in _candidates(plain):
        spellings = [
            spelling for spelling in dict.fromkeys(candidates) if len(spelling) >= _SHORTEST or spelling in STOP_WORDS
        ]
        if word.isupper() and len(word) <= _ACRONYM:
            spellings = [candidate for candidate in spellings if stem(candidate) in names]
        if stop := next((candidate for candidate in spellings if candidate in STOP_WORDS), ""):
            return _in_case(stop, word)
        counts = holding([stem(candidate) for candidate in spellings])
        known_spellings = [(stem(c) in names, count, c) for c, count in zip(spellings, counts, strict=True) if count]
        forms: list[str] = []
        for _, _, candidate in nlargest(_MAX_CORRECTIONS, known_spellings):
            pages = written(candidate)
            forms.append(_closest_form(candidate, pages))
            written_so = (
                spelling
                for _, _, spelling in known_spellings
                if spelling in pages and stem(spelling) == stem(candidate)
            )
            if right := candidate if candidate in pages else next(written_so, ""):
                return _in_case(right, word)
        if inflected and (form := next(filter(None, forms), "")):
            return _in_case(form, word)
    return ""


def _candidates(word: str) -> Iterator[tuple[Iterable[str], bool]]:
    """Yield groups of possible corrections of a word, most likely group first.

    With each group, yield whether a correction counts if pages contain it only in another form, such as a plural.
    """
    yield chain(usual(word), missing(word)), True
    if len(word) >= _WRONG:
        yield wrong(word), False
    if len(word) >= _TWICE:
        yield (twice for once in set(usual(word)) for twice in usual(once)), False


def _compared_terms(word: str) -> set[str]:
    """Return the stems of the other forms of an adjective in -er or -est.

    The stemmer does not remove these endings. "longest" gives "long" and "longer". A noun such as "payer" gives its
    verb.
    """
    ending = next((ending for ending in _COMPARING_ENDINGS if word.endswith(ending)), "")
    if not ending:
        return set()
    base = word.removesuffix(ending)
    undoubled = base[:-1] if base[-1:] == base[-2:-1] else base
    forms = (base, undoubled, f"{base}e", *(base + other for other in _COMPARING_ENDINGS))
    return {stem(form) for form in forms} - {""}


def _closest_form(candidate: str, written: Collection[str]) -> str:
    """Return the word in ``written`` with the candidate's stem and the most similar spelling.

    Return "" if no word has this stem.
    """
    term = stem(candidate)
    forms = sorted(word for word in written if stem(word) == term)
    return max(forms, key=lambda form: SequenceMatcher(None, form, candidate).ratio(), default="")


def _in_case(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word
