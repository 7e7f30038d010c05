"""What a question asks for: its words without those of any question, what it quotes, and whether it wants documents."""

from __future__ import annotations

import re
from functools import lru_cache

from hybrid_core.text.tokens import is_number, is_year, tokenise
from retrievers.query.instructions import strip_instructions

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
# In Chinese, words are not set apart, so these are cut out of the text; longer ones come first.
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
_NUMBER = 3  # digits of one that somebody may look for
_SINGLE = re.compile("(?<![\u3400-\u9fff])[\u3400-\u9fff](?![\u3400-\u9fff])")  # what is left of a word that was cut


def is_frame(term: str) -> bool:
    """Whether a term could be part of any question."""
    return term in _FRAME


def compares(question: str) -> bool:
    """Whether a question asks how things stand to each other."""
    return _COMPARING.search(question) is not None


def content_words(question: str) -> tuple[str, ...]:
    """The terms that name what is asked for: no frame, no years, no numbers so short that they name nothing."""
    left = _SINGLE.sub(" ", _FRAME_CHINESE.sub(" ", strip_instructions(question)))
    return tuple(dict.fromkeys(term for term in tokenise(left) if not is_frame(term) and not _bare(term)))


def without_frame(question: str) -> str:
    """The question's own words, as they are written and in their order: names and what is asked for."""
    left = _SINGLE.sub(" ", _FRAME_CHINESE.sub(" ", strip_instructions(question)))
    return " ".join(word for word in left.split() if any(not is_frame(term) for term in tokenise(word)))


def _bare(term: str) -> bool:
    return is_year(term) or (is_number(term) and len(term) < _NUMBER)


_LEAST = 4  # words: fewer, also in quotation marks, are a name or a term
_MARKED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W_]+")


def quotations(question: str) -> list[str]:
    """Return what a question may quote: what is marked, else all of it."""
    marked = ["".join(match.groups("")) for match in _MARKED.finditer(question)]
    marked = [text for text in marked if len(_WORD.findall(text)) >= _LEAST]
    return marked or ([question] if len(_WORD.findall(question)) >= _LEAST else [])


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
    """Compiled when a question may want documents: that takes longer than a search."""
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
    """Return whether a question wants to know which documents there are."""
    folded = question.lower()
    return any(hint in folded for hint in _HINTS) and _list().search(question) is not None
