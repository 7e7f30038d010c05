"""Text lines of XML documents: superscripts, formulas, note marks, references, names and choices."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial

from lxml import etree

from indexers.formats.flow.blocks import Block, Item, Paragraph, Remark, Table
from indexers.formats.flow.linear import Piece, equation, linear
from indexers.formats.flow.safety import line_of, words_of
from indexers.formats.xml.front import person
from indexers.formats.xml.vocabularies import BLOCKS, KINDS, children, is_mixed, lacks, tag, texts_of

_RAISED = {"sup": "sup", "superscript": "sup", "sub": "sub", "subscript": "sub"}
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_MOST_INSIDE = 8  # levels of nested lines, such as cells in cells


class LineWriter:
    """A writer that gathers words into blocks."""

    def __init__(
        self, vocabulary: str, root: etree._Element, metadata: dict[str, str], outer: LineWriter | None = None
    ) -> None:
        self._vocabulary, self._kinds, self._root, self._metadata = vocabulary, KINDS[vocabulary], root, metadata
        self._written: list[Block] = []
        self._pieces: list[Piece] = []
        self._label = ""  # label of the section, figure or item whose first words follow
        self._item: tuple[str, int] | None = None  # mark and depth of the current item
        self._marked: tuple[str, int] | None = None  # the same if the mark is a label of the file
        self._notes: list[tuple[str, etree._Element]] = []  # notes that the paragraph refers to
        self._placed: set[etree._Element] = set() if outer is None else outer._placed
        self._left_out: set[etree._Element] = set() if outer is None else outer._left_out
        self._targets: dict[str, etree._Element] | None = None if outer is None else outer._all_targets()
        self._count, self._outer = 0, outer
        self._inside: int = 0 if outer is None else outer._inside + 1  # number of lines that contain this one
        self._numbers: dict[etree._Element, int] = {}  # number of the last item by list

    def _kind(self, element: etree._Element) -> str:
        return self._kinds.get(tag(element), "")

    def _place(self) -> str:
        self._count += 1
        return f"paragraph {self._count}"

    def _say(self, text: str, form: Piece = Piece("")) -> None:
        self._pieces.append(form._replace(text=text))

    def _flush(self) -> None:
        """Write the words gathered so far as a block, followed by the notes that they refer to."""
        text, self._pieces = linear(self._pieces), []
        text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        if text and self._label:
            text, self._label = f"{self._label} {text}", ""
        if text and self._item is not None:
            mark, depth = self._item
            self._written.append(Item(text, mark, depth, self._place()))
            self._item = (" " * len(mark), depth)
        elif text:
            self._written.append(Paragraph(text, self._place()))
        if text:
            self._write_notes()

    def _write_label(self) -> None:
        """Write the label of a section, figure or item as a paragraph if no words followed it."""
        if self._label:
            self._written.append(Paragraph(self._label, self._place()))
        self._label = ""

    def _write_mark(self) -> None:
        """Write the label of a list item as a paragraph if no words followed it."""
        if self._item is not None and self._item is self._marked and (mark := self._item[0].strip()):
            self._written.append(Paragraph(mark, self._place()))
            self._item = (" " * len(mark), self._item[1])

    def _write_notes(self) -> None:
        if self._outer is not None:  # notes in a line inside a paragraph are written with the paragraph
            self._outer._notes += self._notes
            self._notes = []
        while self._notes:
            self._write_note(*self._notes.pop(0))

    def _write_note(self, mark: str, note: etree._Element) -> None:
        labels = [child for child in children(note) if self._kind(child) == "label"]
        text = self._flat(note, skip=labels[:1])
        if text or labels:
            self._written.append(Remark(text, mark, self._place()) if text else Paragraph(mark, self._place()))

    def _misses(self, text: str, element: etree._Element, skip: Container[etree._Element] = ()) -> bool:
        """Return whether a line of text lacks words of the element from which it was made.

        Words in left-out elements, and in notes that are written elsewhere, do not count.
        """
        inside = texts_of(element, lambda node: node in skip or node in self._placed or self._kind(node) == "dropped")
        return lacks(text, inside)

    def _say_whole(self, text: str, element: etree._Element, walk: Callable[[], None], form: Piece) -> None:
        """Write an element as the given short text.

        If this lacks words of the element, write its content by ``walk``.
        """
        if self._misses(text, element):
            walk()
        else:
            self._say(text, form)

    def _flat(self, element: etree._Element, skip: list[etree._Element] | None = None) -> str:
        """Return the words of an element in one line, with superscripts and other marks."""
        if self._inside > _MOST_INSIDE:
            return line_of(element)
        inner = type(self)(self._vocabulary, self._root, {}, self)
        inner._walk(element, 1, 0, 0, skip=skip or [])
        inner._flush()
        inner._write_label()
        inner._write_notes()
        return " ".join(" ".join(map(_block_words, inner._written)).split())

    def _walk(self, element: etree._Element, level: int, lists: int, deep: int, form: Piece = Piece(""),
              skip: list[etree._Element] | tuple[()] = ()) -> None:  # fmt: skip
        """Read the content of an element in order: its text, and its child elements by their kinds."""
        self._say(_one_line(element.text), form)
        for child in element:
            if isinstance(child.tag, str) and child not in skip:
                self._element(child, lists, deep + 1, level, form)
            self._say(_one_line(child.tail), form)

    def _element(self, element: etree._Element, lists: int, deep: int, level: int = 0, form: Piece = Piece("")) -> None:
        """Read an element in the way that its kind requires."""
        raise NotImplementedError

    def _stands_apart(self, element: etree._Element) -> bool:
        """Return whether an element contains only several inline elements, without text between them."""
        inside = list(children(element))
        plain = not any(text and text.strip() for text in (element.text, *(child.tail for child in element)))
        return (
            plain and len(inside) > 1 and not any(self._kind(child) in BLOCKS | {"label", "cross"} for child in inside)
        )

    def _joined(self, element: etree._Element) -> str:
        if self._kind(element) == "person":
            return person(element, self._flat)
        return ", ".join(filter(None, map(self._flat_alone, children(element))))

    def _flat_alone(self, element: etree._Element) -> str:
        return self._joined(element) if self._stands_apart(element) else self._flat(element)

    def _inline(self, element: etree._Element, kind: str, level: int, lists: int, deep: int, form: Piece) -> None:
        """Read an inline element with a meaning, or an element of unknown kind."""
        names = kind in ("note", "cross") or element.get("rid") or element.get("target")
        if names and self._refers(element, kind, form):
            return
        walk = partial(self._walk, element, level, lists, deep, form)
        if kind == "math":
            self._say_whole(f" {equation(element)} ", element, walk, form)
        elif kind in ("person", "fields") and self._stands_apart(element):
            self._say(f" {self._joined(element)} ", form)
        elif kind == "choice" and _is_equation(element):
            math = next(child for child in children(element) if tag(child) == "math")
            self._say_whole(equation(math), math, walk, form)
        elif kind == "choice" and len(element):
            first, *others = self._choices(element)
            self._say_whole(f"{first} ({', '.join(others)})" if others else first, element, walk, form)
        elif kind == "menu":
            self._say_whole(" > ".join(map(self._flat, children(element))), element, walk, form)
        elif kind == "quote":
            self._say(f"“{self._flat(element)}”", form)
        elif kind in ("gap", "lost"):
            self._say("[…]" if kind == "lost" and not words_of(element).strip() else words_of(element), form)
            self._say("" if element.get("break") == "no" or kind == "lost" else " ", form)
        else:
            kind = _RAISED.get(element.get("rend") or "", kind)
            alone = [child for child in children(element) if self._kind(child) == "cross" or tag(child) == "xref"]
            if kind in ("sup", "sub") and not (alone and len(element) == 1):
                form = form._replace(shift=1 if kind == "sup" else -1)
            form = form._replace(struck=form.struck or kind == "struck")
            apart = not kind and any(self._kind(child) in BLOCKS for child in children(element))
            if apart:
                self._flush()
            self._walk(element, level, lists, deep, form)
            if apart:
                self._flush()

    def _choices(self, element: etree._Element) -> list[str]:
        """Return the alternative texts for one place in a line, the corrected or full form first."""
        inside = sorted(children(element), key=lambda child: tag(child) not in ("corr", "reg"))
        return list(dict.fromkeys(filter(None, map(self._flat, inside)))) or [""]

    def _refers(self, element: etree._Element, kind: str, form: Piece) -> bool:
        """Write the mark of a note, or the title of the target of an empty reference.

        Return whether this wrote the whole element.
        """
        links = (element.get(name) for name in ("rid", "target", "linkend"))
        name = next(filter(None, links), "").removeprefix("#").split(" ")[0]
        target = element if kind == "note" else self._target(name) if name else None
        if target is None:
            return False
        if self._kind(target) == "note":
            if kind == "note" and element in self._placed:
                return True
            label = next((self._flat(child) for child in children(target) if self._kind(child) == "label"), "")
            mark = label or target.get("n") or (words_of(element).strip() if kind != "note" else "")
            mark = mark.strip("[]()") or str(1 + len(self._placed))
            if kind == "note" and not self._in_text(element):
                self._flush()
                self._placed.add(element)
                self._write_note(label, element)
                return True
            if target not in self._placed:
                self._placed.add(target)
                self._notes.append((mark, target))
            words = self._flat(element) if kind != "note" else ""
            self._say(f"[{mark}]" if words.strip("[]() ") in mark else f"{words} [{mark}]", form)
            return True
        if not words_of(element).strip():
            titles = [child for child in target.iter() if self._kind(child) in ("title", "label")]
            self._say(element.get("xreflabel") or (self._flat(titles[0]) if titles else ""), form)
            return True
        return False

    def _in_text(self, element: etree._Element) -> bool:
        parent = element.getparent()
        return parent is None or tag(parent) not in ("fn-group", "author-notes", "table-wrap-foot", "noteGrp")

    def _target(self, name: str) -> etree._Element | None:
        return self._all_targets().get(name)

    def _all_targets(self) -> dict[str, etree._Element]:
        """Return ``{id: element}`` for the elements of the file that have an id."""
        if self._targets is None:
            self._targets = {}
            for element in self._root.iter():
                if isinstance(element.tag, str) and (name := element.get("id") or element.get(_ID)):
                    self._targets.setdefault(name, element)
        return self._targets


def _is_equation(element: etree._Element) -> bool:
    """Return whether the alternatives for one place are forms of one equation, one of them MathML."""
    names = [tag(child) for child in children(element)]
    return (
        names.count("math") == 1
        and set(names) <= {"math", "tex-math", "graphic", "inline-graphic"}
        and not is_mixed(element)
    )


def _one_line(text: str | None) -> str:
    return " ".join(text.split("\n")) if text else ""


def _block_words(block: Block) -> str:
    if isinstance(block, Table):
        return " ".join(" ".join(filter(None, row)) for row in block.rows)
    mark = block.mark.strip().removeprefix("-") if isinstance(block, Item) else ""
    return f"{mark} {block.text}".strip()
