"""Calls that are to be awaited: where ``await`` was forgotten, the error says so in words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any, NoReturn, TypeVar

from hybrid_core.errors import UsageError
from hybrid_core.types.requests import SearchFields, SearchRequest

T = TypeVar("T")


class NotAwaitedError(UsageError, AttributeError):
    """The result of a call was used before the call was made."""


class Pending(Coroutine[Any, Any, Any]):
    """A coroutine with its name. It is awaited and run like any other."""

    def __init__(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._name, self._coroutine = name, coroutine

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name.startswith("cr_"):  # tools ask each object for these
            raise AttributeError(name)
        self._refuse(f"{name!r} is asked of")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("A loop goes over")

    def __len__(self) -> int:
        self._refuse("The length is asked of")

    def __getitem__(self, index: Any) -> Any:
        self._refuse("An item is asked of")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._name}(…) that is not awaited yet>"

    def _refuse(self, what: str) -> NoReturn:
        call = self._name.rpartition(".")[2]
        self._coroutine.close()
        raise NotAwaitedError(
            f"{what} {self._name}(…), which was not awaited.",
            f"Write await engine.{call}(…) in asynchronous code, run(engine.{call}(…)), or use SyncEngine.",
        )


def awaited(kind: type[T]) -> type[T]:
    """Have the public coroutine methods of a class return ``Pending`` calls, and name all of their arguments."""
    for name, method in list(vars(kind).items()):
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            setattr(kind, name, _pending(f"{kind.__name__}.{name}", method))
    return kind


def _pending(name: str, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Pending]:
    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Pending:
        return Pending(name, method(*arguments, **named))

    call.__signature__ = explicit(inspect.signature(method))  # type: ignore[attr-defined]
    return call


def explicit(signature: inspect.Signature) -> inspect.Signature:
    """A signature with the fields of a search in place of ``**fields``: what notebooks complete and show."""
    parameters = list[inspect.Parameter]()
    for item in signature.parameters.values():
        if item.kind is item.VAR_KEYWORD and "SearchFields" in str(item.annotation):
            parameters += [
                inspect.Parameter(
                    name,
                    item.KEYWORD_ONLY,
                    default=_DEFAULTS.get(name),
                    annotation=getattr(kind, "__forward_arg__", kind),
                )
                for name, kind in SearchFields.__annotations__.items()
            ]
        else:
            parameters.append(item)
    return signature.replace(parameters=parameters)


_DEFAULTS = {
    name: item.default for name, item in SearchRequest.__dataclass_fields__.items() if item.default not in (None, ())
}
