"""Contact sheets of the pages that might show something: the model says which of them need no call of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from pydantic import BaseModel, ValidationError

from hybrid_core.errors import ChatError, DocumentError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.session import Session
from hybrid_core.types.usage import Usage

PROMPT = "pages-glance"
_FEWEST = 3  # pages of a sheet: fewer are seen one by one, which costs little more
_REPLY = 300  # tokens

Sheet = Callable[[Sequence[int]], "Future[object]"]


class Glance(BaseModel):
    """The reply to the prompt ``pages-glance``."""

    skip: list[int] = []


def passed_over(
    model: ChatModel, scope: CallScope, title: str, numbers: Sequence[int], each: int, drawn: Sheet
) -> frozenset[int]:
    """Which of these pages show nothing that is worth a call. ``each`` stand on a sheet, which ``drawn`` draws.

    A sheet that cannot be drawn, or of which the model says nothing usable, leaves all of its pages to be seen. What it
    said of a sheet is kept.
    """
    session, found = Session(model, scope), set[int]()
    for sheet in _sheets(numbers, each):
        try:
            image = drawn(sheet).result()
            if not isinstance(image, bytes):
                raise TypeError(f"a contact sheet was drawn as {type(image).__name__}")
            found |= set(_said(session, title, sheet, image).skip).intersection(sheet)
        except (ChatError, DocumentError):
            continue  # each of its pages is seen then, and says what is wrong
    return frozenset(found)


def _said(session: Session, title: str, sheet: Sequence[int], image: bytes) -> Glance:
    key = session.key(PROMPT, title, image)
    if (held := session.held(key)) is not None:
        try:
            said = Glance.model_validate_json(held)
        except ValidationError:  # kept before the shape changed
            pass
        else:
            session.scope.add(Usage(cached=1))
            return said
    values = {"document": title, "pages": ", ".join(map(str, sheet))}
    said = session.ask(PROMPT, Glance, values, tokens=_REPLY, images=(image,))
    session.put(key, said.model_dump_json())
    return said


def _sheets(numbers: Sequence[int], each: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), each):
        if len(sheet := numbers[start : start + each]) >= _FEWEST:
            yield sheet
