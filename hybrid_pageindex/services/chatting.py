"""The language models of an engine, from its settings or given to it, and how searches ask them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from hybrid_core.errors import ChatError, PageIndexError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.types.documents import Strategy
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.models import Kind, Models
from retrievers.reason.reasoner import Reasoner, ReasonLimits, untold

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.llm.metering import Meter


@dataclass(frozen=True, slots=True)
class _Unusable:
    """An ``Endpoint`` that cannot be made as the settings name it: every question to it fails with the reason."""

    name: str
    error: PageIndexError

    def complete(self, *_: object) -> NoReturn:
        raise ChatError(self.error.message, self.error.advice, failure="model")

    def close(self) -> None:
        pass


class Chat:
    """The models of an engine. Safe for several threads."""

    def __init__(
        self, settings: Settings, cache: Cache, meter: Callable[[], Meter], given: ChatModel | None = None
    ) -> None:
        """``given`` is used instead of those that the settings name, is not closed, and counts for itself."""
        self._settings, self._given = settings, given
        self._cache, self._meter = cache, meter
        self._models = Models(settings, cache, meter)
        self._former: list[Models] = []

    def use(self, settings: Settings) -> None:
        """What is asked from now on goes to the models that these name; what is under way ends with the former ones."""
        if settings != self._settings:
            self._former.append(self._models)
            self._settings, self._models = settings, Models(settings, self._cache, self._meter)

    def model(self, *, vision: bool = False) -> ChatModel | None:
        """The language model, or the one that sees; None where none is configured.

        Raises UsageError for settings that name no possible model, PageIndexError where an extra is missing.
        """
        return self._given or self._models.get("vlm" if vision else "llm")

    def named(self, kind: Kind, *, every_page: bool = False) -> str:
        """What tells one model from another, "" where none is configured.

        A model that was given sees pages only where a vision model is named, or every page is to be seen.
        """
        sees = kind == "llm" or self._settings.vlm_model or every_page
        if self._given is not None and sees:
            return self._given.name
        return self._models.named(kind)

    def tried(self, kind: Kind) -> ChatModel | None:
        """The model, after one cheap call; one that was given is taken as it is. Raises PageIndexError."""
        if self._given is None:
            self._models.check(kind)
        return self.model(vision=kind == "vlm")

    def counting(self, kind: Kind) -> ChatModel | None:
        """A model of the same name that is not asked, but counted. Raises as ``model`` does."""
        from hybrid_core.llm.client.chat_model import ChatModel
        from hybrid_core.llm.counting import CountingEndpoint

        model = self.model(vision=kind == "vlm")
        return None if model is None else ChatModel(CountingEndpoint(model.name), price=model.price)

    def reasoner(self, strategy: Strategy, on_step: Callable[[ReasoningStep], None] | None) -> Reasoner | None:
        """How a search asks the model, None where there is none."""
        said = self._settings
        try:
            model = self.model()
        except PageIndexError as error:  # a search does without, and says why
            from hybrid_core.llm.client.chat_model import ChatModel

            model = ChatModel(_Unusable(f"{said.llm_provider}:{said.llm_model}", error))
        if model is None:
            return None
        calls = 1 + (said.reason_calls if strategy == "mcts" else said.reason_rounds)  # one chooses documents
        seconds, setting = said.reason_seconds, "reason_seconds"
        if not seconds:
            seconds, setting = calls * said.model_timeout, "model_timeout"
        limits = ReasonLimits(
            said.reason_below, said.reason_tokens, said.reason_rounds, said.reason_calls, seconds, setting
        )
        return Reasoner(model, strategy, limits, on_step or untold)

    def close(self) -> None:
        for models in (*self._former, self._models):
            models.close()
