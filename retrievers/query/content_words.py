"""What a question asks for, without the words that any question could be made of."""

from __future__ import annotations

import re

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
