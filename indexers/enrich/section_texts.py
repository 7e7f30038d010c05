"""What a model is shown of a section, and which sections need not be shown at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.types.documents import Page, Section
from indexers.build.chunks import own_ranges

_SHORT = 200  # tokens: a text of fewer is its own summary
_TEXT, _PAGES = 1400, 400  # tokens of a leaf's text, and of what is said of its pages
_OWN, _PARTS = 400, 1200  # tokens of a branch's own text, and of the summaries below it
_ANNOUNCES = re.compile(
    r"\b(?:see|refer(?:red)? to|reference|attached|annexed|enclosed|below|following|follows|set forth|omitted|"
    r"siehe|anlage|voir|annexe|ci-(?:dessous|après|joint)|véase|adjunto|siguiente)\b"
    r"|[见見]|附[件表录錄图圖]|下[表列图圖]|如下|另行|从略",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Material:
    """One section as it is shown. ``at``: its place. ``short``: what is its summary without a call.

    ``asked``: a model is asked, where there is ``short`` only for gaps.
    """

    at: int
    text: str
    short: str | None
    asked: bool

    @property
    def tokens(self) -> int:
        return estimate(self.text)


def leaf_materials(pages: Sequence[Page], sections: Sequence[Section]) -> list[Material]:
    """Of every section without others in it."""
    holders = {section.parent_id for section in sections}
    made = []
    for at, (section, first, last) in enumerate(own_ranges(sections)):
        if section.node_id in holders:
            continue
        own, said = _own(pages, section, first, last, _TEXT)
        if estimate(own) + estimate(said) <= _SHORT:
            short = " ".join(f"{own} {said}".split()) or section.summary
            announced = bool(own) and _ANNOUNCES.search(own) is not None
            made.append(Material(at, f"Wanted: gaps\nTitle: {section.title}\nText:\n{own}", short, announced))
        else:
            made.append(Material(at, _shown(section, own, "Pages", said), None, True))
    return made


def branch_materials(
    pages: Sequence[Page], sections: Sequence[Section], summaries: Sequence[str], open_: Collection[int] = ()
) -> list[Material]:
    """Of every section with others in it; ``summaries`` are those of the leaves at their places.

    ``open_``: places of leaves whose summaries will be others, so that what holds them may not be short by then.
    """
    holders = {section.parent_id for section in sections}
    place = {section.node_id: at for at, section in enumerate(sections)}
    below: list[list[str]] = [[] for _ in sections]
    held_open: set[int] = set()
    for at, section in enumerate(sections):
        if section.node_id not in holders:
            title = "" if section.synthetic else f"{section.title}: "
            parent = section.parent_id
            while parent is not None:
                below[place[parent]].append(f"- {title}{summaries[at]}")
                held_open |= {place[parent]} if at in open_ else set()
                parent = sections[place[parent]].parent_id
    made = []
    for at, (section, first, last) in enumerate(own_ranges(sections)):
        if not below[at]:
            continue
        own, _ = _own(pages, section, first, last, _OWN)
        given = shares(list(map(estimate, below[at])), _PARTS)
        parts = "\n".join(cut(part, size) for part, size in zip(below[at], given, strict=True) if size > 4)
        if at not in held_open and estimate(own) + estimate(parts) <= _SHORT:
            short = " ".join(f"{own} {' '.join(part[2:] for part in below[at])}".split())
            made.append(Material(at, "", short, False))
        else:
            made.append(Material(at, _shown(section, own, "Parts", parts), None, True))
    return made


def _shown(section: Section, own: str, what: str, others: str) -> str:
    title = "" if section.synthetic else f"Title: {section.title}\n"
    return f"{title}Text:\n{own}" + (f"\n{what}:\n{others}" if others else "")


def _own(
    pages: Sequence[Page], section: Section, first: tuple[int, int], last: tuple[int, int | None], tokens: int
) -> tuple[str, str]:
    """The section's text before its first child, without its title and cut, and what is said of pages whose text is
    not shown in full.
    """
    fragments = []
    for number in range(first[0], last[0] + 1):
        start = first[1] if number == first[0] else 0
        fragments.append(pages[number - 1].visible[start : last[1] if number == last[0] else None].strip())
    head, _, rest = fragments[0].partition("\n")
    if head.strip() == section.title:
        fragments[0] = rest.strip()
    given = shares(list(map(estimate, fragments)), tokens)
    shown, said = [], []
    for number, fragment, size in zip(range(first[0], last[0] + 1), fragments, given, strict=True):
        shown.append(cut(fragment, size))
        page = pages[number - 1]
        most = number not in (first[0], last[0]) or len(fragment) > 0.5 * len(page.text)
        if page.described:
            said.append(f"- {page.summary} {page.described}".replace("\n", " "))
        elif most and page.summary and (shown[-1] != fragment or not fragment):
            said.append(f"- {page.summary}")
    return "\n".join(part for part in shown if part), cut("\n".join(said), _PAGES)
