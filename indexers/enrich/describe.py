"""A document's one-line description by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.session import Session
from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.types.documents import Page, Section
from indexers.build import description
from indexers.enrich.language import language_of

_BEGINNING, _SECTIONS = 700, 2000  # tokens shown
_LISTED = 40
_LONGEST = 400  # characters of a line


class Description(BaseModel):
    description: str


@dataclass(frozen=True, slots=True)
class DescriptionResult:
    """``line`` is the rules' own where ``failure`` says that the model gave none."""

    line: str
    notes: tuple[str, ...] = ()
    failure: EndpointFailure | None = None


def describe_document(
    model: ChatModel, scope: CallScope, title: str, sections: Sequence[Section], pages: Sequence[Page]
) -> DescriptionResult:
    """What kind of document it is, whose, of when, about what: one line, from its beginning and its main sections."""
    session = Session(model, scope, language=language_of([page.text for page in pages]))
    beginning = "\n".join(page.visible or page.summary for page in pages[:3])
    values = {"title": title, "beginning": cut(beginning, _BEGINNING), "sections": "\n".join(_main(sections))}
    try:
        said = session.ask("document-description", Description, values, tokens=300).description
        line = " ".join(said.split()).strip("\"'“”")
        if not line:
            raise ChatError("the description is empty.", failure="reply")
    except ChatError as error:
        note = f"description: {error.message} The one made without a model stays."
        return DescriptionResult(description.describe(title, sections, len(pages)), (note,), error.failure)
    return DescriptionResult(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


def _main(sections: Sequence[Section]) -> list[str]:
    """The top sections, and those below them where there are few, each with its summary as far as it fits."""
    real = [section for section in sections if not section.synthetic] or list(sections)
    deepest = next((n for n in (1, 2, 3) if sum(s.level <= n for s in real) >= 5), 3)
    shown = [section for section in real if section.level <= deepest][:_LISTED]
    lines = [f"{'  ' * (s.level - 1)}{s.title}: {' '.join(s.summary.split())}" for s in shown]
    return [cut(line, given) for line, given in zip(lines, shares(list(map(estimate, lines)), _SECTIONS), strict=True)]
