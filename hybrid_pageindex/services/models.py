"""The language and the vision model that the settings name, made when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hybrid_core.errors import UsageError
from hybrid_core.store.cache.cache import Cache
from hybrid_pageindex.config.settings import Settings

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.llm.client.endpoint import Endpoint
    from hybrid_core.llm.client.limiter import Limiter
    from hybrid_core.llm.metering import Meter

Kind = Literal["llm", "vlm"]


@dataclass(frozen=True, slots=True)
class _Named:
    """What the settings say of one model."""

    provider: str
    model: str
    base_url: str
    api_key: str = field(repr=False)


class Models:
    """Both models, None each where none is named. Safe for several threads.

    Models behind the same URL share its limits. The vision model is asked where the language model is, unless any of
    ``vlm_provider``, ``vlm_base_url`` and ``vlm_api_key`` says otherwise: a key is never sent to another server.
    """

    def __init__(self, settings: Settings, cache: Cache | None, meter: Callable[[], Meter] | None = None) -> None:
        """``cache`` keeps replies; None: they are not kept. ``meter`` counts what they take."""
        self._settings = settings
        self._cache, self._meter = cache, meter
        self._made: dict[Kind, ChatModel | None] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._lock = threading.Lock()

    def get(self, kind: Kind) -> ChatModel | None:
        """Raises UsageError for settings that name no possible model, PageIndexError where an extra is missing."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = self._load(kind)
            return self._made[kind]

    def named(self, kind: Kind) -> str:
        """The interface and the model's name, "" where none is named."""
        named = _named(self._settings, kind)
        if self._settings.replay_replies and (named.model or kind == "llm"):
            return f"replayed:{named.model}"
        return f"{named.provider}:{named.model}" if named.model else ""

    def check(self, kind: Kind) -> str:
        """One cheap call; "" where none is named. Raises ChatError where the model does not work, UsageError where a
        recording cannot be read.
        """
        return self._tried(kind)

    def examine(self, kind: Kind) -> str:
        """``check``, and how fast the model is, what that means for the settings, and which to change."""
        from hybrid_core.llm.speed import measure
        from hybrid_pageindex.services.model_speed import advice

        sees = kind == "vlm"
        return self._tried(kind, lambda model, first: "; " + advice(measure(model), first, self._settings, sees=sees))

    def _tried(self, kind: Kind, more: Callable[[ChatModel, float], str] = lambda *_: "") -> str:
        from hybrid_core.llm.client.probe import probe

        if not self.named(kind):
            return ""
        if self._settings.replay_replies:
            self.get(kind)
            return f"recorded replies: {self._settings.replay_replies}"
        model = self._load(kind, probing=True)
        if model is None:
            return ""
        try:
            said, seconds = probe(model, vision=kind == "vlm")
            return said + more(model, seconds)
        finally:
            model.close()

    def close(self) -> None:
        with self._lock:
            for model in self._made.values():
                if model is not None:
                    model.close()
            self._made.clear()

    def _load(self, kind: Kind, *, probing: bool = False) -> ChatModel | None:
        """``probing``: without recording, kept replies and patience."""
        said, named = self._settings, _named(self._settings, kind)
        if not named.model and not (said.replay_replies and kind == "llm"):
            return None
        from hybrid_core.llm.cassette import Player, Recorder
        from hybrid_core.llm.client.chat_model import ChatModel
        from hybrid_core.llm.client.limiter import Limiter
        from hybrid_core.llm.client.remote import Retries
        from hybrid_core.llm.prices import read_prices
        from hybrid_core.llm.reply_cache import ReplyCache

        endpoint: Endpoint
        endpoint = Player(Path(said.replay_replies).expanduser()) if said.replay_replies else _endpoint(kind, named)
        if said.record_replies and not probing:
            endpoint = Recorder(endpoint, Path(said.record_replies).expanduser())
        taped = said.record_replies or said.replay_replies
        where = (named.provider, named.base_url)
        limiter = self._limiters.setdefault(where, Limiter(said.max_concurrent_calls, said.max_calls_per_minute))
        return ChatModel(
            endpoint,
            limiter=limiter,
            cache=None if self._cache is None or taped or probing else ReplyCache(self._cache),
            price=read_prices(said.model_prices).get(named.model),
            meter=None if said.replay_replies or self._meter is None else self._meter(),
            retries=Retries(tries=1) if probing else Retries(),
            timeout=said.model_timeout,
        )


def _named(settings: Settings, kind: Kind) -> _Named:
    llm = _Named(settings.llm_provider, settings.llm_model, settings.llm_base_url, settings.llm_api_key)
    if kind == "llm":
        return llm
    own = settings.vlm_provider, settings.vlm_base_url, settings.vlm_api_key
    if not any(own):
        return _Named(llm.provider, settings.vlm_model, llm.base_url, llm.api_key)
    return _Named(settings.vlm_provider or "openai", settings.vlm_model, settings.vlm_base_url, settings.vlm_api_key)


def _endpoint(kind: Kind, named: _Named) -> Endpoint:
    from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
    from hybrid_core.llm.adapters.openai_chat import OpenAIChat

    make: Callable[..., Endpoint] = AnthropicChat if named.provider == "anthropic" else OpenAIChat
    try:
        return make(named.model, api_key=named.api_key or None, base_url=named.base_url or None)
    except UsageError as error:
        raise UsageError(f"{kind}_model is '{named.model}': {error.message}", error.advice) from error
