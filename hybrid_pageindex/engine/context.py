"""The state that an engine shares with its sub-engines, and the attributes by which it offers them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.system import Reach
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request
from hybrid_pageindex.config.settings import Settings, usual_fields
from hybrid_pageindex.engine.concurrency import awaited
from hybrid_pageindex.engine.parts import Parts
from retrievers.pipeline.state import Stages

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_pageindex.conversations.conversations import Conversations


class Context:
    """The settings and opened components of an engine, shared by its sub-engines. Safe for several threads."""

    def __init__(self, settings: Settings, chat: ChatModel | None, stages: Stages) -> None:
        self.settings = settings
        self._chat, self._stages = chat, stages
        self._lock = threading.Lock()
        self._parts: Parts | None = None
        self._reach: Reach | None = None
        self._conversations: Conversations | None = None

    @property
    def home(self) -> Path:
        return self.settings.storage_path

    @property
    def parts(self) -> Parts:
        """Return the components of the engine. Open them if they are closed."""
        with self._lock:
            if self._parts is None:
                self._parts = Parts(self.settings, self._chat, self._stages)
                self._parts.reach = self._reach
            return self._parts

    @property
    def catalog(self) -> Catalog:
        return self.parts.catalog

    @property
    def conversations(self) -> Conversations:
        from hybrid_pageindex.conversations.conversations import Conversations  # a search needs none of it

        parts = self.parts
        with self._lock:
            if self._conversations is None:
                self._conversations = Conversations(parts, self.settings)
            return self._conversations

    @property
    def reach(self) -> Reach | None:
        return self._reach

    def confine(self, roots: Sequence[Path]) -> None:
        """From now on, follow no symbolic link out of these folders. Their own paths must not contain links."""
        with self._lock:
            self._reach = Reach(tuple(roots))
            if self._parts is not None:
                self._parts.reach = self._reach

    def library(self, name: str | None) -> str:
        """Return a library name, by default the one in the settings. Raise UsageError for an empty name."""
        return self.named(name) or self.settings.library

    @staticmethod
    def named(name: str | None) -> str | None:
        """Return a library name unchanged, None for all libraries.

        Raise UsageError for an empty name, which an unset variable may cause.
        """
        if name == "":
            raise UsageError("The name of the library is empty.", "Name a library, or leave the parameter out.")
        return name

    def request(self, question: str | SearchRequest, **fields: Unpack[SearchFields]) -> SearchRequest:
        """Return the search request for a question and options. Take missing fields from the settings."""
        return search_request(question, fields).completed(usual_fields(self.settings))

    def change(self, settings: Settings) -> None:
        """Use other settings from this call on, also in components that are already open."""
        self.settings = settings
        self.parts.use(settings)
        with self._lock:
            conversations = self._conversations
        if conversations is not None:
            conversations.use(settings)

    def interrupt_turns(self) -> None:
        """Stop writing answers in conversations, so that another process can write them again.

        This may take seconds.
        """
        with self._lock:
            conversations, self._conversations = self._conversations, None
        if conversations:
            conversations.close()

    def close(self) -> None:
        """Close the engine and release its vector indexes for other processes. Safe to call twice."""
        try:
            self.interrupt_turns()
        finally:
            with self._lock:
                opened, self._parts = self._parts, None
                if opened:
                    opened.close()


class SubEngine:
    """Base class for an engine's methods on one subject, such as jobs in ``engine.jobs.list()``.

    ``subject`` is the name of the engine's attribute.
    """

    subject: ClassVar[str]

    def __init__(self, context: Context) -> None:
        self._context = context

    def __init_subclass__(cls, subject: str) -> None:
        cls.subject = subject
        awaited(cls, f"Engine.{subject}")


class LazySubEngine:
    """An attribute of ``Engine`` that imports its sub-engine on first use, so that a search does
    not load all of them.
    """

    def __init__(self, path: str) -> None:
        self._module, _, self._name = path.partition(":")

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._attribute = name

    def __get__(self, engine: Any, owner: type[Any] | None = None) -> Any:
        if engine is None:
            return self
        sub_engine = vars(engine)[self._attribute] = self.kind(engine._context)
        return sub_engine

    @property
    def kind(self) -> type[SubEngine]:
        """Return the class of the sub-engine."""
        kind: type[SubEngine] = getattr(import_module(self._module), self._name)
        return kind


def sub_engine(path: str) -> Any:
    """Return a lazy attribute of ``Engine`` for the sub-engine class at ``module:Class``.

    Annotate the attribute with that class.
    """
    return LazySubEngine(path)
