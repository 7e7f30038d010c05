"""What a model's speed means for the settings, and which to change."""

from __future__ import annotations

import math

from hybrid_core.llm.speed import Speed
from hybrid_pageindex.config.settings import Settings

_ROUND, _VERDICT = 0.5, 250  # of reason_tokens, read by a call of a deep search, and tokens that it writes
_ANSWER = 400  # tokens written
_SECTIONS = (16_000, 4_000)  # read and written by the largest call of index: a batch of sections
_PAGE = (2_500, 600)  # the same of a page that is seen, with its picture
_LOADING = 5.0  # seconds beyond what a call takes that say that the model was loaded for it
_SPARE = 1.5  # times what is expected


def advice(speed: Speed, first: float, settings: Settings, *, sees: bool) -> str:
    """``first`` are the seconds of the first call, in which a server may have loaded the model. ``sees``: it is the one
    that pages are shown to.
    """
    loading = first - speed.seconds(100, 20)
    loading = loading if loading > _LOADING else 0.0
    said = [f"reads {_rate(speed.reading)} and writes {_rate(speed.writing)} tokens/s"]
    said += [f"took about {loading:.0f} s to be loaded"] if loading else []
    if sees:
        return "; ".join([", ".join(said), *_pages(speed, loading, settings)])
    asked = speed.seconds(round(_ROUND * settings.reason_tokens), _VERDICT)
    answer = speed.seconds(settings.answer_tokens, _ANSWER)
    batch = speed.seconds(*_SECTIONS)
    calls = 1 + (settings.reason_calls if settings.strategy == "mcts" else settings.reason_rounds)
    said.append(
        f"so that a call of a deep search (at most {calls}) takes about {_time(asked)}, an answer {_time(answer)}, "
        f"the largest call of index {_time(batch)}"
    )
    advised = []
    if (needed := max(asked, answer) + loading) > settings.model_timeout:
        advised.append(f"set {_enough(needed, settings)}, or use effort fast")
    if batch + loading > max(settings.model_timeout, _SPARE * needed):
        advised.append(f"for index set {_enough(batch + loading, settings)}, or enrich to never")
    if 0 < settings.reason_seconds < calls * asked:
        advised.append(f"reason_seconds ({settings.reason_seconds:g}) ends such a search: set it to 0")
    return "; ".join([", ".join(said), *advised])


def _pages(speed: Speed, loading: float, settings: Settings) -> list[str]:
    page, at_once = speed.seconds(*_PAGE), settings.max_concurrent_pages
    said = [f"a page takes about {_time(page)}"]
    if page + loading > settings.model_timeout:
        said.append(f"set {_enough(page + loading, settings)}, or vision to never")
    if at_once > 1 and at_once * page > settings.model_timeout:
        said.append(f"set max_concurrent_pages ({at_once}) to 1 where its server takes one call after the other")
    return said


def _enough(seconds: float, settings: Settings) -> str:
    return f"model_timeout ({settings.model_timeout:g}) to {math.ceil(_SPARE * seconds / 30) * 30}"


def _rate(tokens: float) -> str:
    return f"{tokens:,.0f}" if tokens >= 10 else f"{tokens:.1f}"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
