"""Wording that tells the answerer what to do, which must not be searched for.

«Please answer from what the annual accounts state» loses everything but «annual accounts», and «rounded to the nearest
unit» everything. Two ways: whole phrases by pattern, and runs of words that are all instruction or stop words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hybrid_core.text.tokens import STOP_WORDS

# All repeats are bounded, so that time stays linear in the text's length.
_CURRENCY = r"(?:usd|us\$|us\s+dollars?|dollars?|eur|euros?|gbp|rmb|cny|\$)"
_UNIT = r"(?:thousands?|millions?|billions?|percents?|percentages?(?:\s+points?)?|basis\s+points)"
_PHRASES = {
    "a role to play": r"\b(?:assume|imagine|pretend|suppose|act\s+as\s+if|as\s+if|assuming)\s+(?:that\s+)?"
    r"you(?:['’]re|\s+are|\s+were)\b[^.?!:;\n]{0,250}"
    r"|(?:^|(?<=[.?!:;\n])\s{0,3})you\s+(?:are|were|have)\b[^.?!:;\n]{0,250}"
    r"|\b(?:assum(?:e|ing)|adopt(?:ing)?|tak(?:e|ing)|play(?:ing)?)\s+the\s+"
    r"(?:perspective|role|position|viewpoint|standpoint|point\s+of\s+view)\s+of\s+an?\s+(?:\w+\s+){1,4}?who\b",
    "a unit": rf"\b(?:answer|respond)?\s*\(?in\s+(?:units\s+of\s+)?(?:{_CURRENCY}\s*)?{_UNIT}\b"
    rf"(?:\s+of\s+{_CURRENCY})?\)?"
    rf"|\bhow\s+many\s+{_UNIT}\s+(?:of\s+)?{_CURRENCY}(?!\w)",
    "rounding": r"\b(?:(?:and\s+)?round(?:ed)?\s+(?:your\s+|the\s+)?(?:final\s+)?(?:answer\s+)?)?(?:to|with)\s+"
    r"(?:the\s+nearest\s+\w+|\w+\s+(?:decimals?(?:\s+(?:places?|points?))?|significant\s+(?:figures?|digits?)))"
    r"|(?:^|(?<=[.?!:;\n]))\s{0,3}\w+\s+decimals?(?:\s+(?:places?|points?))?\b(?=\s*(?:,?\s*please\s*)?(?:[.!]|$))",
    "a way out": r"\bif\s[^.?!\n]{1,200}?,\s*(?:then\s+)?(?:please\s+)?(?:explain|say|state|tell\s+me)"
    r"(?:\s+(?:so|that|this|it|and|explain|why)){0,4}\s*(?=[.!?]|$)"
    r"|(?:^|(?<=[.?!:;\n]))\s{0,3}(?:please\s+)?(?:say\s+so(?:\s+and\s+why)?|(?:say|explain|tell\s+me)\s+why)"
    r",?\s+if\b[^.?!\n]{0,200}",
    "an announcement": r"\bhere(?:['’]s|\s+is|\s+are)\s+(?:the|my|our|a)\s+questions?\b"
    r"|\b(?:i|we)(?:['’]d|\s+(?:need|want|would))\s+(?:like\s+)?to\s+"
    r"(?:calculate|compute|know|find(?:\s+out)?|understand|determine)\b",
    "a format": r"\b(?:please\s+)?(?:write|give|return|list|provide|state|answer)(?:\s+[\w,'’-]+){0,12}?"
    r"\s+(?:in|into|with|as)\s+(?:an?\s+|the\s+)?\w+\s+format\b(?:\s+(?:with|in|by)\s+[^.?!;\n]{0,60})?"
    r"|\bas\s+(?:an?\s+)?(?:json|table|bullet\s+points|bullets)\b(?=\s*(?:[.?!]|$))",
    "a quantity": r"\bhow\s+(?:many|much)\b",
    "which documents": r"^\W*(?:which|what|list|show|find|name)\b(?:\s+(?:me|us|all|any|every|of|the|my|our)){0,4}"
    r"\s+(?:documents?|files?|texts?)\s+(?:(?:that|which)\s+)?(?:talks?|speaks?|tells?|mentions?|discuss(?:es)?|contains?"
    r"|deals?\s+with|covers?|concerns?|(?:is|are)\s+(?:about|on)|says?\s+(?:any|some)thing)\b(?:\s+(?:about|of|on))?",
    "the document": r"\b(?:according\s+to|in|based\s+on)\s+(?:the|this)\s+(?:report|paper|slides?|article|document)\b"
    r"(?=\s{0,3}(?:[,.?!:]|$))",
    "Chinese": r"请(?:问|您)?(?:根据|回答|简要|详细|说明|解释|列出|给出|告诉我)*"
    r"|(?:保留|精确到|四舍五入)[^，。？！,.?!]{0,12}|以[^，。？！,.?!]{1,8}为单位",
}
_PHRASE = re.compile("|".join(_PHRASES.values()), re.IGNORECASE)
# «if any», «(where applicable)»: what is asked for may not be there.
_HEDGE = re.compile(
    r"[,(]?\s?\b(?:if|where|as)\s(?:there\s(?:is|are)\s)?"
    r"(?:any|applicable|available|present|possible|needed|necessary|relevant|appropriate)(?:\)|,|(?=[.?!:;\n]|$))",
    re.IGNORECASE,
)
# «Mark the passages of this lease about subletting that we ought to check»: only «subletting» is searched for.
_POINTING = re.compile(
    r"\b(?:highlight|mark|underline|flag|quote|list|find|locate|identify|extract|show|pull\s+out|point\s+(?:out|to))"
    r"(?:\s+(?:me|us|all|any|every|each|the|those|of)){0,3}"
    r"\s+(?:parts?|passages?|portions?|sentences?|sections?|paragraphs?|clauses?|provisions?|excerpts?|places?|pages?)"
    r"(?:\s+(?:of|in|from|within)\s+(?:this|the|that|our)\s+(?:\w+\s+){0,2}?\w+)?"
    r"\s+(?:(?:that|which)\s+(?:are\s+|is\s+)?)?"
    r"(?:relat(?:ed?|es|ing)\s+to|about|on|concern(?:s|ing)?|regarding|discuss(?:es|ing)?|mention(?:s|ing)?"
    r"|deal(?:s|ing)?\s+with|cover(?:s|ing)?|address(?:es|ing)?)"
    r"\s+(?P<what>[^.?!:;\n]{1,200}?)"
    # what a reader should do with them
    r"(?:\s+(?:and\s+)?(?:(?:that|which)\s+)?(?:(?:\w+\s+){0,3}?(?:should|must|ought\s+to|needs?\s+to|ha(?:s|ve)\s+to)\s+(?:be\s+)?"
    r"(?:review|read|check|examine|look|see|know|note|consider|discuss|approve)|needs?\s+(?:\w+\s+)?attention"
    r"|(?:(?:are|is)\s+)?worth\s+\w+ing\b)[^.?!:;\n]{0,60})?"
    r"\s*(?=[.?!:;\n]|$)",
    re.IGNORECASE,
)
# What a template puts before its parts.
_LABEL = re.compile(
    r"(?:^|(?<=[.?!:;\n]))\s{0,3}"
    r"(?:details?|context|description|questions?|query|task|background|instructions?|request|prompt|input)\s*:",
    re.IGNORECASE,
)

_VERBS = """
answer answers answering respond responding response reply question questions round rounded rounding assume assuming
base basing based judgment judgments judgement judgements relying rely utilizing utilize utilise utilising using use
please state stated explain give giving provide provided providing calculate compute computing calculating extract
extracting solution solve conclusions conclusion drawing address addressing referencing referring refer taking account
tell write show according help
"""
_FILLERS = """
us information info details detail data outlined shown showing presented stated primarily clearly plainly given
following line lines item items asked within context document documents text solely exclusively decimal decimals
place places
"""
# Alone, but only where they begin a sentence.
_OPENINGS = """
explain describe list summarize summarise tell please identify outline give calculate compute find
"""
_KINDS = {
    **dict.fromkeys(STOP_WORDS, "stop"),
    **dict.fromkeys(_FILLERS.split(), "filler"),
    **dict.fromkeys(_VERBS.split(), "verb"),
}
IMPERATIVES = frozenset(_OPENINGS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BREAK = re.compile(r"[.?!:;\n]")


@lru_cache(maxsize=256)  # a search asks for it of the same few texts
def strip_instructions(text: str) -> str:
    """The text without what it tells the answerer to do; what that points to («the balance sheet») stays."""
    text = _LABEL.sub(" . ", _POINTING.sub(r" . \g<what> . ", _HEDGE.sub(" ", text)))
    text = _PHRASE.sub(" . ", text)
    kept, position = [], 0
    for run in _runs(text):
        if run.instructs:
            kept.append(text[position : run.start])
            position = run.end
    return " . ".join([*kept, text[position:]])


@dataclass(slots=True)
class _Run:
    """Words that follow each other within a sentence, all of them instruction or stop words."""

    start: int
    end: int = 0
    verbs: int = 0
    fillers: int = 0
    opens: bool = False  # begins with an imperative that begins a sentence

    @property
    def instructs(self) -> bool:
        """One verb of answering is content as likely as not («the response time»), two words are not."""
        return self.opens or (self.verbs > 0 and self.verbs + self.fillers >= 2)


def _runs(text: str) -> Iterator[_Run]:
    run: _Run | None = None
    last_end = 0
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        begins = last_end == 0 or _BREAK.search(text, last_end, match.start()) is not None
        last_end = match.end()
        kind = _KINDS.get(word, "")
        opens = begins and word in IMPERATIVES
        if run is not None and (begins or not (kind or opens)):
            yield run
            run = None
        if kind or opens:
            run = run or _Run(match.start(), opens=opens)
            run.end = match.end()
            run.verbs += kind == "verb"
            run.fillers += kind == "filler"
    if run is not None:
        yield run
