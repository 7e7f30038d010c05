"""Progress of calls: a client that gave a token hears something at least every second, from the work or the clock."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fastmcp import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from hybrid_core.types.results import ReasoningStep

_SILENCE = 0.7  # seconds: what is promised is one, and the loop may be busy
_STEP = 1e-3  # what a report adds at least: the protocol wants every number to be larger than the last
_LINE = 200  # characters of a message
_KEY = "progress"


class Progress:
    """What one call has told of itself. ``note`` may be called from any thread."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._said = "working"
        self._value = 0.0
        self._known = False  # whether it was told how much is done
        self._began = self._told = time.monotonic()

    @classmethod
    async def of(cls, ctx: Context) -> Progress:
        """The call's own; a background task has nobody who listens to the clock."""
        return cls(ctx) if ctx.is_background_task else await ctx.get_state(_KEY) or cls(ctx)

    def note(self, said: str) -> None:
        """What goes on from now, told when nothing else is."""
        said = " ".join(said.split())
        self._said = said if len(said) <= _LINE else said[: _LINE - 1] + "…"

    def step(self, step: ReasoningStep) -> None:
        """What a model does that looks for the answer."""
        self.note(f"{step.kind}: {step.text}")

    async def tell(self, said: str, share: float) -> None:
        """Tell now what goes on and how much is done, 0 to 1."""
        self.note(said)
        self._known = True
        await self._report(100 * share, self._said)

    async def keep_telling(self) -> None:
        """Repeat what was said last, with the seconds since the call began, whenever nothing else is told."""
        while True:
            await asyncio.sleep(max(self._told + _SILENCE - time.monotonic(), 0))
            if time.monotonic() >= self._told + _SILENCE:
                await self._report(0, f"{self._said} ({time.monotonic() - self._began:.0f} s)")

    async def _report(self, value: float, said: str) -> None:
        self._told = time.monotonic()
        self._value = max(self._value + _STEP, value)
        total = 100 if self._known and self._value <= 100 else None
        await self._ctx.report_progress(self._value, total, said)


class Heartbeat(Middleware):
    """Gives every call its progress, and a clock to those whose client listens."""

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        ctx = context.fastmcp_context
        if ctx is None or ctx.request_context is None:
            return await call_next(context)
        progress = Progress(ctx)
        await ctx.set_state(_KEY, progress, serializable=False)
        if (ctx.request_context.meta or {}).get("progressToken") is None:
            return await call_next(context)
        clock = asyncio.create_task(progress.keep_telling())
        clock.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at: the client may be gone
        try:
            return await call_next(context)
        finally:
            clock.cancel()
