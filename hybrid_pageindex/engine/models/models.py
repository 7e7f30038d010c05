"""The configured language and vision models: open them, check their speed, and find local model servers."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from hybrid_core.errors import ChatError, PageIndexError, UsageError
from hybrid_core.store.cache import Cache
from hybrid_core.types.documents import Strategy
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.config.settings import Settings
from retrievers.reason.reasoner import Reasoner, ReasonLimits, untold

if TYPE_CHECKING:
    from hybrid_core.llm.budget import Meter
    from hybrid_core.llm.chat import Endpoint
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.llm.client.limiter import Limiter
    from hybrid_core.llm.probe import Speed


Kind = Literal["llm", "vlm"]


@dataclass(frozen=True, slots=True)
class _ModelSettings:
    """The provider, name, address and key of one model."""

    provider: str
    model: str
    base_url: str
    api_key: str = field(repr=False)


class Models:
    """The configured language and vision models. Safe for several threads.

    Models at the same URL share its call limits. The vision model uses the language model's endpoint unless
    ``vlm_provider``, ``vlm_base_url`` or ``vlm_api_key`` is set, so that a key is never sent to another server.
    """

    def __init__(self, settings: Settings, cache: Cache | None, meter: Callable[[], Meter] | None = None) -> None:
        """Create the models of these settings.

        ``cache`` stores replies, None to store none. ``meter`` counts calls, tokens and cost.
        """
        self._settings = settings
        self._cache, self._meter = cache, meter
        self._made: dict[Kind, ChatModel | None] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._lock = threading.Lock()

    def get(self, kind: Kind) -> ChatModel | None:
        """Return a model, None if it is not configured.

        Raise UsageError for invalid settings, PageIndexError if an extra is missing.
        """
        with self._lock:
            if kind not in self._made:
                self._made[kind] = self._load(kind)
            return self._made[kind]

    def named(self, kind: Kind) -> str:
        """Return "INTERFACE:MODEL" of a configured model, "" if none is configured."""
        named = _model_settings(self._settings, kind)
        if self._settings.replay_replies and (named.model or kind == "llm"):
            return f"replayed:{named.model}"
        return f"{named.provider}:{named.model}" if named.model else ""

    def check(self, kind: Kind) -> str:
        """Make one cheap call to the model. Return a report on it, "" if no model is configured.

        Raise ChatError if the model does not work, UsageError if a file with recorded replies cannot be read.
        """
        return self._tried(kind)

    def examine(self, kind: Kind) -> str:
        """Test a model, measure its speed, and return a report that advises which settings to change."""
        from hybrid_core.llm.probe import measure

        sees = kind == "vlm"
        return self._tried(kind, lambda model, first: "; " + advice(measure(model), first, self._settings, sees=sees))

    def _tried(self, kind: Kind, more: Callable[[ChatModel, float], str] = lambda *_: "") -> str:
        from hybrid_core.llm.probe import probe

        if not self.named(kind):
            return ""
        if self._settings.replay_replies:
            self.get(kind)
            return f"recorded replies: {self._settings.replay_replies}"
        model = self._load(kind, probing=True)
        if model is None:
            return ""
        try:
            answer, seconds = probe(model, vision=kind == "vlm")
            return answer + more(model, seconds)
        finally:
            model.close()

    def close(self) -> None:
        with self._lock:
            for model in self._made.values():
                if model is not None:
                    model.close()
            self._made.clear()

    def _load(self, kind: Kind, *, probing: bool = False) -> ChatModel | None:
        """Open a model, None if it is not configured.

        With ``probing``, replies are neither recorded nor cached, and failed calls are not repeated.
        """
        settings, named = self._settings, _model_settings(self._settings, kind)
        if not named.model and not (settings.replay_replies and kind == "llm"):
            return None
        from hybrid_core.llm.budget import read_prices
        from hybrid_core.llm.client.chat_model import ChatModel
        from hybrid_core.llm.client.client import Retries
        from hybrid_core.llm.client.limiter import Limiter
        from hybrid_core.llm.offline import Player, Recorder
        from hybrid_core.llm.replies import ReplyCache

        endpoint: Endpoint
        endpoint = (
            Player(Path(settings.replay_replies).expanduser()) if settings.replay_replies else _endpoint(kind, named)
        )
        if settings.record_replies and not probing:
            endpoint = Recorder(endpoint, Path(settings.record_replies).expanduser())
        taped = settings.record_replies or settings.replay_replies
        where = (named.provider, named.base_url)
        limiter = self._limiters.setdefault(
            where, Limiter(settings.max_concurrent_calls, settings.max_calls_per_minute)
        )
        return ChatModel(
            endpoint,
            limiter=limiter,
            cache=None if self._cache is None or taped or probing else ReplyCache(self._cache),
            price=read_prices(settings.model_prices).get(named.model),
            meter=None if settings.replay_replies or self._meter is None else self._meter(),
            retries=Retries(tries=1) if probing else Retries(),
            timeout=settings.model_timeout,
        )


def _model_settings(settings: Settings, kind: Kind) -> _ModelSettings:
    llm = _ModelSettings(settings.llm_provider, settings.llm_model, settings.llm_base_url, settings.llm_api_key)
    if kind == "llm":
        return llm
    own = settings.vlm_provider, settings.vlm_base_url, settings.vlm_api_key
    if not any(own):
        return _ModelSettings(llm.provider, settings.vlm_model, llm.base_url, llm.api_key)
    return _ModelSettings(
        settings.vlm_provider or "openai", settings.vlm_model, settings.vlm_base_url, settings.vlm_api_key
    )


def _endpoint(kind: Kind, named: _ModelSettings) -> Endpoint:
    from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
    from hybrid_core.llm.adapters.openai_chat import OpenAIChat

    make: Callable[..., Endpoint] = AnthropicChat if named.provider == "anthropic" else OpenAIChat
    try:
        return make(named.model, api_key=named.api_key or None, base_url=named.base_url or None)
    except UsageError as error:
        raise UsageError(
            f"The model '{named.model}' (setting {kind}_model) cannot be used: {error.message}", error.advice
        ) from error


@dataclass(frozen=True, slots=True)
class _Unusable:
    """A replacement for a model endpoint that the settings do not allow to open. Each call raises the reason."""

    name: str
    error: PageIndexError

    def complete(self, *_: object) -> NoReturn:
        raise ChatError(self.error.message, self.error.advice, failure="model")

    def close(self) -> None:
        pass


class Chat:
    """The models of an engine. The settings that choose them can change at run time. Safe for several threads."""

    def __init__(
        self, settings: Settings, cache: Cache, meter: Callable[[], Meter], model: ChatModel | None = None
    ) -> None:
        """Create the models that the settings name, or use the object ``model`` for all kinds.

        ``model`` is not closed here and counts its own calls.
        """
        self._settings, self._given = settings, model
        self._cache, self._meter = cache, meter
        self._models = Models(settings, cache, meter)
        self._former: list[Models] = []

    def use(self, settings: Settings) -> None:
        """Use the models of these settings for new calls. Running calls end with the old models."""
        if settings != self._settings:
            self._former.append(self._models)
            self._settings, self._models = settings, Models(settings, self._cache, self._meter)

    def model(self, *, vision: bool = False) -> ChatModel | None:
        """Return the language model, or with ``vision`` the vision model; None if it is not configured.

        Raise UsageError for invalid settings, PageIndexError if an extra is missing.
        """
        return self._given or self._models.get("vlm" if vision else "llm")

    def named(self, kind: Kind, *, every_page: bool = False) -> str:
        """Return the name of a model, such as "openai:gpt-4o", "" if none is configured.

        A model object that was passed to the engine counts as a vision model only under a condition: the settings name
        a vision model, or ``every_page`` is set.
        """
        sees = kind == "llm" or self._settings.vlm_model or every_page
        if self._given is not None and sees:
            return self._given.name
        return self._models.named(kind)

    def tried(self, kind: Kind) -> ChatModel | None:
        """Return the model after one cheap test call. A model object passed to the engine is not tested.

        Raise PageIndexError if the call fails.
        """
        if self._given is None:
            self._models.check(kind)
        return self.model(vision=kind == "vlm")

    def counting(self, kind: Kind) -> ChatModel | None:
        """Return a model for estimates, which counts calls and tokens without calling the real model.

        Return None if none is configured. Raise the errors of ``model``.
        """
        from hybrid_core.llm.client.chat_model import ChatModel
        from hybrid_core.llm.offline import CountingEndpoint

        model = self.model(vision=kind == "vlm")
        return None if model is None else ChatModel(CountingEndpoint(model.name), price=model.price)

    def reasoner(self, strategy: Strategy, on_step: Callable[[ReasoningStep], None] | None) -> Reasoner | None:
        """Return an object that searches section trees with the language model, None without a model."""
        settings = self._settings
        try:
            model = self.model()
        except PageIndexError as error:  # a search then works without the model and reports the reason
            from hybrid_core.llm.client.chat_model import ChatModel

            model = ChatModel(_Unusable(f"{settings.llm_provider}:{settings.llm_model}", error))
        if model is None:
            return None
        calls = 1 + (settings.reason_calls if strategy == "mcts" else settings.reason_rounds)  # one chooses documents
        seconds, setting = settings.reason_seconds, "reason_seconds"
        if not seconds:
            seconds, setting = calls * settings.model_timeout, "model_timeout"
        limits = ReasonLimits(
            settings.reason_below,
            settings.reason_tokens,
            settings.reason_rounds,
            settings.reason_calls,
            seconds,
            setting,
        )
        return Reasoner(model, strategy, limits, on_step or untold)

    def close(self) -> None:
        for models in (*self._former, self._models):
            models.close()


_ROUND, _VERDICT = 0.5, 250  # share of reason_tokens read by one call of a deep search, and tokens that the call writes
_ANSWER = 400  # tokens of an answer
_SECTIONS = (16_000, 4_000)  # tokens read and written by the largest call while indexing: a batch of sections
_PAGE = (2_500, 600)  # tokens read and written for a page with its picture
_LOADING_SECONDS = 5.0  # seconds beyond the expected duration from which the model counts as loaded during the call
_SPARE = 1.5  # factor on the expected duration


def advice(speed: Speed, first: float, settings: Settings, *, sees: bool) -> str:
    """Return a line on a model's measured speed, with advice on settings for it.

    ``first`` is the duration of the first call in seconds, in which the server may have loaded the model. ``sees`` is
    True for a vision model.
    """
    loading = first - speed.seconds(100, 20)
    loading = loading if loading > _LOADING_SECONDS else 0.0
    lines = [f"reads {_rate(speed.reading)} and writes {_rate(speed.writing)} tokens/s"]
    lines += [f"took about {loading:.0f} s to be loaded"] if loading else []
    if sees:
        return "; ".join([", ".join(lines), *_page_speed_lines(speed, loading, settings)])
    round_seconds = speed.seconds(round(_ROUND * settings.reason_tokens), _VERDICT)
    answer = speed.seconds(settings.answer_tokens, _ANSWER)
    batch = speed.seconds(*_SECTIONS)
    calls = 1 + (settings.reason_calls if settings.strategy == "mcts" else settings.reason_rounds)
    lines.append(
        f"so that a call of a deep search (at most {calls}) takes about {_time(round_seconds)}, "
        f"an answer {_time(answer)}, the largest call of index {_time(batch)}"
    )
    advised = []
    if (needed := max(round_seconds, answer) + loading) > settings.model_timeout:
        advised.append(f"set {_enough(needed, settings)}, or use effort fast")
    if batch + loading > max(settings.model_timeout, _SPARE * needed):
        advised.append(f"for index set {_enough(batch + loading, settings)}, or enrich to never")
    if 0 < settings.reason_seconds < calls * round_seconds:
        advised.append(f"reason_seconds ({settings.reason_seconds:g}) ends such a search: set it to 0")
    return "; ".join([", ".join(lines), *advised])


def _page_speed_lines(speed: Speed, loading: float, settings: Settings) -> list[str]:
    page, at_once = speed.seconds(*_PAGE), settings.max_concurrent_pages
    lines = [f"a page takes about {_time(page)}"]
    if page + loading > settings.model_timeout:
        lines.append(f"set {_enough(page + loading, settings)}, or vision to never")
    if at_once > 1 and at_once * page > settings.model_timeout:
        lines.append(f"set max_concurrent_pages ({at_once}) to 1 if its server handles one call at a time")
    return lines


def _enough(seconds: float, settings: Settings) -> str:
    return f"model_timeout ({settings.model_timeout:g}) to {math.ceil(_SPARE * seconds / 30) * 30}"


def _rate(tokens: float) -> str:
    return f"{tokens:,.0f}" if tokens >= 10 else f"{tokens:.1f}"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


PORTS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM", 1337: "Jan"}
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
_SECONDS = 2.0  # timeout of a server's model list
_LONGEST = 2**20  # maximum bytes of a model list
_MAX_MODELS = 200  # maximum models of one server
_EMBEDDERS = ("embed", "bge-", "rerank")  # parts of names of models that cannot answer


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server on this computer. ``name`` is its program, guessed from its model list or port."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(ports: Sequence[int] = ()) -> list[LocalServer]:
    """Return the model servers that answer at the usual ports of this computer or at ``ports``.

    Only their model lists are requested, and no data are sent.
    """
    all_ports = dict.fromkeys((*ports, *PORTS))
    answers = await asyncio.gather(*(asyncio.to_thread(_ask, port) for port in all_ports))
    return [server for server in answers if server is not None]


def _ask(port: int) -> LocalServer | None:
    import http.client  # a search does not need it

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        listed = json.loads(response.read(_LONGEST)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return _server(port, listed)


def _server(port: int, listed: object) -> LocalServer | None:
    """Return the model server that answered at ``port`` with a model list, None for any other response."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return None
    models, owners = list[str](), set[str]()
    for entry in entries[:_MAX_MODELS]:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]:
            models.append(entry["id"][:200])
            with suppress(TypeError):
                owners.add(entry.get("owned_by") or "")
    answering = [model for model in models if not any(part in model.casefold() for part in _EMBEDDERS)]
    owner = next((_OWNERS[owner] for owner in owners if owner in _OWNERS), "")
    return LocalServer(owner or PORTS.get(port, ""), f"http://127.0.0.1:{port}/v1", tuple(answering))
