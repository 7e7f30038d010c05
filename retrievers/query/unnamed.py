"""A question without the names in it: what the patterns of expert knowledge are tried on.

«Best Buy» buys nothing and «Guidance Software» gives no guidance. A name is what documents of the library are linked
by, and two words or more with capitals in running English that the field itself does not write together, as it does
«Cash Flow» and «Governing Law».
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import STOP_WORDS
from retrievers.query.instructions import IMPERATIVES
from retrievers.query.proper_names import running_words

NAME = "_"  # stands where a name stood
_CAPITAL = r"[A-Z][^\W\d_]*[a-z][^\W\d_]*"  # of abbreviations, nothing is known
_RUN = re.compile(rf"(?<![\w'’]){_CAPITAL}(?:(?:[ -]| (?:&|of|and|of the) ){_CAPITAL})+(?!\w)")
_WORD = re.compile(_CAPITAL)
_QUOTED = re.compile(r"(\"[^\"]*\"|“[^”]*”|«[^»]*»)")  # a heading or a title, whose words say what is asked
_NAMES = re.compile(rf"{NAME}(?:(?:[ -]| (?:&|of|and|of the) ){NAME})+")


def without_names(question: str, known: Iterable[str], of_field: Callable[[str], bool]) -> str:
    """The question with ``_`` for each name: those ``known``, as it writes them, and unknown ones in capitals.

    ``of_field`` says whether words that follow each other are the field's own.
    """
    for name in sorted({name for name in known if name}, key=len, reverse=True):
        written = re.escape(name) if has_cjk(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        question = re.sub(written, NAME, question)
    if not running_words(question.lower()):
        return question
    parts = _QUOTED.split(question)
    parts[::2] = [_RUN.sub(lambda run: _hidden(run[0], of_field), part) for part in parts[::2]]
    return "".join(parts)


def _hidden(run: str, of_field: Callable[[str], bool]) -> str:
    """Words in capitals with ``_`` for those that are no words of the field, of the language, or of an instruction."""
    words = [word for word in _WORD.finditer(run) if word[0].lower() not in STOP_WORDS | IMPERATIVES]
    if len(words) < 2:
        return run
    own = {word.start() for pair in pairwise(words) if of_field(run[pair[0].start() : pair[1].end()]) for word in pair}
    for word in reversed(words):
        if word.start() not in own:
            run = f"{run[: word.start()]}{NAME}{run[word.end() :]}"
    return _NAMES.sub(NAME, run)
