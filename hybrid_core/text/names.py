"""Names of organisations and other subjects in files, covers and questions; short paths of files.

Names are compared by a *key*: folded, without legal form, article, "and" or punctuation, written as one string. So
``Harbor & Pine, Inc.``, ``HARBORPINE`` and ``Harbor_Pine`` are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

from hybrid_core.text.tokens import fold

_LEGAL_FORMS = """
inc incorporated corp corporation co company companies ltd limited llc llp lp plc ag gmbh kg kgaa se sa
sas spa srl nv bv ab asa oy oyj as aps kk pty pte pvt bhd sdn jsc ojsc pjsc ooo cv sarl kabushiki kaisha
"""
LEGAL_FORMS = frozenset(_LEGAL_FORMS.split())

# Words that are not a name even together ("annual report", "table of contents").
_NAMELESS = """
the a an and of for in on at to by n com net org www document documents file files report reports final
draft copy version scan scanned untitled book text paper manual guide introduction overview summary annual
quarterly exhibit dated date form filing filed table contents notes note letter article chapter part
section volume presentation slides january february march april may june july august september october
november december fiscal year quarter page pages word pdf doc docx release releases press news
announcement results img image photo attachment download downloads
"""
NAMELESS = LEGAL_FORMS | frozenset(_NAMELESS.split())

# Kinds of organisations: alone they are not a name, together they may be ("Bank of the West").
_KINDS = """
group groups holding holdings international global worldwide national american america usa us uk european
europe china chinese north south east west eastern western central united states new first general great
royal public standard universal advanced modern best good big digital smart total systems system
technologies technology tech services service solutions industries industrial enterprises enterprise
partners associates brothers sons trust trustees fund funds bank bancorp bankshares financial finance
capital insurance assurance investment investments liability energy power electric electronics oil gas
water works resources materials chemical chemicals steel motor motors automotive airlines air foods food
brands beverage stores retail health healthcare medical pharma pharmaceuticals pharmaceutical therapeutics
sciences biosciences laboratories labs research entertainment media communications communication networks
network online internet software data products properties realty estate development construction
engineering consulting management institute institution university college school foundation association
society council committee commission ministry department agency office authority board government court
law legal city county state province world life home house business commercial trading export import
logistics transport
"""
GENERIC = NAMELESS | frozenset(_KINDS.split())

_CJK_LEGAL = re.compile(r"(?:股份有限公司|有限责任公司|集团有限公司|有限公司|株式会社|合同会社|集团|公司)$")
_CJK_STATE = re.compile(r"^(?:中华人民共和国|中國|中国)(?=.{2})")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|&")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_NOT_KEY = re.compile(r"[\W_]+")
_CONJUNCTIONS = frozenset(("and", "&", "n", "und", "et", "y"))
_SQUASHED_LEGAL = re.compile(r"(?<=.{4})(?:incorporated|corporation|inc|corp|ltd|llc|plc|limited)$")


def split_camel(text: str) -> str:
    """Separate words in camel case: ``BellringBrandsInc`` -> ``Bellring Brands Inc``."""
    return _CAMEL.sub(" ", text)


def has_cjk(text: str) -> bool:
    return not text.isascii() and _CJK.search(text) is not None


@lru_cache(maxsize=20_000)
def name_words(name: str) -> tuple[str, ...]:
    """Return the identifying words of a name: folded, without article, conjunctions and legal forms."""
    words = [word.removesuffix("'s").replace("'", "") for word in _WORD.findall(fold(name))]
    words = [word for word in words if word not in _CONJUNCTIONS]
    if len(words) > 1 and words[0] == "the":
        del words[0]
    while len(words) > 1 and (
        words[-1] in LEGAL_FORMS or words[-1] == "com" or (len(words[-1]) == 1 and len(words) > 2)
    ):
        words.pop()
    return tuple(words)


def name_key(name: str) -> str:
    """Return the key by which a name is compared, "" if no identifying word remains."""
    if has_cjk(name):
        return cjk_key(name)
    words = name_words(name)
    telling = [word for word in words if word not in NAMELESS]
    if not telling or (len(telling) == 1 and telling[0] in GENERIC):
        return ""
    return _SQUASHED_LEGAL.sub("", "".join(words)) if len(words) == 1 else "".join(words)


def cjk_key(name: str) -> str:
    """Return the key of a name in Chinese or Japanese: without the name of the state, legal form and punctuation."""
    return _CJK_LEGAL.sub("", _CJK_STATE.sub("", _NOT_KEY.sub("", fold(name))))


def has_legal_form(name: str) -> bool:
    """Return whether a name ends with a legal form such as "Inc", even without a space before it (``NELNETINC``)."""
    words = _WORD.findall(fold(name))
    return (len(words) > 1 and words[-1] in LEGAL_FORMS) or bool(words and _SQUASHED_LEGAL.search(words[-1]))


def is_named(name: str, text: str) -> bool:
    """Return whether a text contains the words of a name in order, ignoring signs and spaces between them.

    "BEST BUY CO., INC." contains ``BESTBUY``, and "Pan-American Waterways" does not contain ``American Water``.
    """
    key = name_key(name)
    if not key:
        return False
    if has_cjk(name):
        return key in _NOT_KEY.sub("", fold(text))
    words = _text_words(text)
    whole, borders = "".join(words), frozenset(accumulate(map(len, words), initial=0))
    at = whole.find(key)
    while at >= 0:
        if at in borders and at + len(key) in borders:
            return True
        at = whole.find(key, at + 1)
    return False


def _text_words(text: str) -> list[str]:
    """Return the words of a text, normalised like those of ``name_words``, including legal forms."""
    words = (word.removesuffix("'s").replace("'", "") for word in _WORD.findall(fold(text)))
    return [word for word in words if word not in _CONJUNCTIONS]


def initials(words: tuple[str, ...]) -> str:
    return "".join(word[0] for word in words)


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path its file name with as many folders as distinguish it from the others.

    Of two files ``readme.md``, for example, ``a/readme.md`` and ``b/readme.md`` are returned.
    """
    parts = {path: path.split("/") for path in paths}
    short: dict[str, str] = {}
    left, depth = list(parts), 1
    while left:
        ends: dict[str, list[str]] = {}
        for path in left:
            ends.setdefault("/".join(parts[path][-depth:]), []).append(path)
        for end, having in ends.items():
            if len(having) == 1:
                short[having[0]] = end
        left = [path for path in left if path not in short]
        depth += 1
    return short
