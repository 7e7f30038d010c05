"""Choose the models that improve indexed documents by the settings, and test them while files are read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from hybrid_core.errors import PageIndexError
from hybrid_core.types.notes import Note
from hybrid_core.types.usage import Usage
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.models.models import Chat

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.types.files import Kind
    from indexers.enrich.options import EnrichModels
    from indexers.jobs.options import ModelPlan


_MISSING_MODEL_NOTES = {
    "llm": Note("model.no-language"),
    "vlm": Note("model.no-vision"),
}
_OFF = Note("model.off")
_VISION_OFF_NOTE = Note("model.vision-off")


def improvers(chat: Chat, settings: Settings) -> tuple[ModelPlan | None, tuple[Note, ...]]:
    """Return the configured models with their options, and notes on improvements that are left out.

    The first value is None if no model is configured. The models are tested in the background, while files are read.
    """
    if settings.enrich == "never":
        return None, (_OFF,)
    named, missing = _configured_models(chat, settings)
    if not named:
        return None, missing
    from indexers.assembly.chunks import ChunkSize
    from indexers.enrich.options import EnrichOptions
    from indexers.formats.format import Drawing
    from indexers.jobs.options import ModelPlan

    options = EnrichOptions(
        vision=settings.vision,
        drawing=Drawing(settings.image_dpi, settings.image_format, settings.image_max_side, settings.image_max_tiles),
        documents=min(8, settings.max_concurrent_calls),
        pages=settings.max_concurrent_pages,
        sheet=settings.vision_sheet,
        chunks=settings.part(ChunkSize),
    )

    @cache
    def tried() -> Future[EnrichModels]:
        outcome: Future[EnrichModels] = Future()
        if settings.enrich == "estimate":
            from indexers.enrich.options import EnrichModels

            models = {kind: chat.counting(kind) for kind in named}
            outcome.set_result(EnrichModels(models.get("llm"), models.get("vlm"), named))
            return outcome
        threading.Thread(target=_try, args=(chat, named, outcome), name="index-try-models", daemon=True).start()
        return outcome

    return ModelPlan(named, tried, options, estimate=settings.enrich == "estimate"), missing


def estimated(chat: Chat, usage: Usage, pages: int) -> Note:
    """Return an estimate of model usage as a one-line note. ``pages`` is the number of pages for a vision model."""
    cost = f"{usage.cost:.2f}" if priced(chat, usage) else Note("model.price-unknown")
    counts = {"pages": pages, "calls": usage.calls, "tokens_in": usage.input_tokens, "tokens_out": usage.output_tokens}
    if usage.cached:
        return Note("model.estimate-cached", cached=usage.cached, cost=cost, **counts)
    return Note("model.estimate", cost=cost, **counts)


def priced(chat: Chat, usage: Usage) -> bool:
    """Return whether the prices of all models in an estimate are known."""
    prices = [model.price for kind in _KINDS if chat.named(kind) and (model := chat.counting(kind)) is not None]
    return not usage.calls or all(prices)


def model_needs(named: Mapping[Kind, str]) -> frozenset[str]:
    """Return the abilities that a worker needs to call the models with these names."""
    return frozenset(f"{kind}:{quote(name, safe='')}" for kind, name in named.items())


def unseen(chat: Chat, settings: Settings) -> tuple[Note, ...]:
    """Return a note if the settings send every page to a vision model but no vision model is configured."""
    always = settings.vision == "always" and settings.enrich != "never"
    return (_MISSING_MODEL_NOTES["vlm"],) if always and not chat.named("vlm", every_page=True) else ()


def _configured_models(chat: Chat, settings: Settings) -> tuple[dict[Kind, str], tuple[Note, ...]]:
    """Return the names of the configured models by kind.

    Also return a note for each missing model on the improvements that it would make.
    """
    named: dict[Kind, str] = {}
    missing = []
    for kind in _KINDS:
        if kind == "vlm" and settings.vision == "never":
            missing.append(_VISION_OFF_NOTE)
        elif name := chat.named(kind, every_page=settings.vision == "always"):
            named[kind] = name
        else:
            missing.append(_MISSING_MODEL_NOTES[kind])
    return named, tuple(missing)


_KINDS: tuple[Kind, ...] = ("llm", "vlm")


def _try(chat: Chat, named: dict[Kind, str], tried: Future[EnrichModels]) -> None:
    """Make one cheap call to each model, and store the working models or the error in the future ``tried``.

    So a wrong key, a missing model or a model without vision is noticed before any work.
    """
    from indexers.enrich.options import EnrichModels

    notes: list[Note] = []
    models: dict[Kind, ChatModel | None] = {"llm": None, "vlm": None}
    try:
        for kind in named:
            try:
                models[kind] = chat.tried(kind)
            except PageIndexError as error:
                broken = Note("model.vision-broken", error=error.note) if kind == "vlm" else None
                notes.append(broken or Note("model.language-broken", error=error.note))
        tried.set_result(EnrichModels(models["llm"], models["vlm"], named, tuple(notes)))
    except BaseException as error:  # noqa: BLE001 - raised where the models are waited for
        tried.set_exception(error)
