"""Write Markdown as a Word document or a PDF: headings, paragraphs, lists, quotes, code and tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from html import escape as escape_html
from typing import Any, Literal
from xml.sax.saxutils import escape

import pymupdf
from markdown_it import MarkdownIt
from markdown_it.token import Token

_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INDENT = 400  # twentieths of a point for each level of a list or quote
_SIZES = {1: 36, 2: 28, 3: 24}  # half points, by the level of a heading
_MARGINS = (54, 54, -54, -54)  # points
_LONG = re.compile(r"[^\s&;<>]{30}(?=[^\s&;<>])")  # of a word, which would not fit in a line
_STYLE = """
body { font-family: sans-serif; font-size: 10.5pt; }
h1 { font-size: 17pt; } h2 { font-size: 14pt; } h3 { font-size: 12pt; }
pre { white-space: pre-wrap; font-size: 9.5pt; }
table { border-collapse: collapse; } td, th { border: 1px solid #999999; padding: 3pt; text-align: left; }
"""
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_WORD_TYPE}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{_WORD_TYPE}.styles+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="document" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
    ),
    "word/_rels/document.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="styles" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
}


DocumentKind = Literal["docx", "pdf"]


def to_document(markdown: str, kind: DocumentKind) -> bytes:
    """Return a Markdown text as the bytes of a DOCX or PDF file. Pictures become their descriptions."""
    return to_docx(markdown) if kind == "docx" else to_pdf(markdown)


def to_pdf(markdown: str) -> bytes:
    """Return a Markdown text as the bytes of a PDF with pages of A4."""
    parser = _parser()
    parser.add_render_rule("text", _breakable)
    parser.add_render_rule("image", lambda _, tokens, at, *__: escape_html(tokens[at].content))
    story: Any = pymupdf.Story(parser.render(_NOT_XML.sub("", markdown)), user_css=_STYLE)  # type: ignore[no-untyped-call]
    paper = pymupdf.paper_rect("a4")
    with story.write_with_links(lambda *_: (paper, paper + _MARGINS, None)) as document:
        document.subset_fonts()  # a font for Chinese has megabytes
        return bytes(document.tobytes(garbage=3, deflate=True))


def _breakable(_: Any, tokens: Sequence[Token], at: int, *__: object) -> str:
    """Return a text as HTML in which long words may continue on the next line."""
    return _LONG.sub("\\g<0>\N{ZERO WIDTH SPACE}", escape_html(tokens[at].content, quote=False))


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def to_docx(markdown: str) -> bytes:
    """Return a Markdown text as the bytes of a DOCX file."""
    body = "".join(_blocks(_parser().parse(markdown)))
    parts = _PARTS | {
        "word/document.xml": f'<w:document xmlns:w="{_NAMESPACE}"><w:body>{body}<w:sectPr/></w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{_NAMESPACE}">{"".join(map(_heading_style, _SIZES))}</w:styles>',
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, _HEAD + text)
    return written.getvalue()


def _heading_style(level: int) -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        f'<w:pPr><w:keepNext/><w:spacing w:before="240" w:after="120"/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        f'<w:rPr><w:b/><w:sz w:val="{_SIZES[level]}"/></w:rPr></w:style>'
    )


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    style, marker, quotes = "", "", 0
    numbers: list[int] = []  # the next number of each open list, 0 for bullets
    table: list[list[str]] | None = None
    for token in tokens:
        match token.type:
            case "heading_open":
                style = f"Heading{min(int(token.tag[1]), 3)}"
            case "heading_close":
                style = ""
            case "bullet_list_open":
                numbers.append(0)
            case "ordered_list_open":
                numbers.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open":
                marker = f"{numbers[-1]}. " if numbers[-1] else "• "
                numbers[-1] += bool(numbers[-1])
            case "blockquote_open":
                quotes += 1
            case "blockquote_close":
                quotes -= 1
            case "table_open":
                table = []
            case "tr_open" if table is not None:
                table.append([])
            case "table_close" if table is not None:
                yield _table(table)
                table = None
            case "inline" if table is not None:
                table[-1].append(_paragraph("", 0, _runs(token.children or [])))
            case "inline":
                runs = (_run(marker) if marker else "") + _runs(token.children or [])
                yield _paragraph(style, len(numbers) + quotes, runs)
                marker = ""
            case "fence" | "code_block":
                lines = token.content.rstrip("\n").split("\n")
                yield _paragraph("", len(numbers) + quotes + 1, "<w:r><w:br/></w:r>".join(map(_code, lines)))


def _runs(tokens: Sequence[Token]) -> str:
    """Return inline Markdown tokens as Word text runs. The address of a link follows its text in brackets."""
    runs, marks, links = list[str](), list[str](), list[str]()
    for token in tokens:
        match token.type:
            case "strong_open" | "em_open":
                marks.append("<w:b/>" if token.type == "strong_open" else "<w:i/>")
            case "strong_close" | "em_close":
                marks.pop()
            case "code_inline":
                runs.append(_code(token.content))
            case "softbreak":
                runs.append(_run(" "))
            case "hardbreak":
                runs.append("<w:r><w:br/></w:r>")
            case "link_open":
                links.append(str(token.attrGet("href") or ""))
            case "link_close":
                runs.append(_run(f" ({links.pop()})"))
            case _:
                runs.append(_run(token.content, "".join(marks)))
    return "".join(runs)


def _run(text: str, marks: str = "") -> str:
    clean = escape(_NOT_XML.sub("", text))
    return f'<w:r><w:rPr>{marks}</w:rPr><w:t xml:space="preserve">{clean}</w:t></w:r>' if clean else ""


def _code(text: str) -> str:
    return _run(text, '<w:rFonts w:ascii="Courier New" w:hAnsi="Courier New"/>')


def _paragraph(style: str, level: int, runs: str) -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    indent = f'<w:ind w:left="{_INDENT * level}"/>' if level else ""
    return f'<w:p><w:pPr>{named}<w:spacing w:after="120"/>{indent}</w:pPr>{runs}</w:p>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    sides = "".join(
        f'<w:{side} w:val="single" w:sz="4" w:color="999999"/>'
        for side in ("top", "left", "bottom", "right", "insideH", "insideV")
    )
    grid = "<w:gridCol/>" * max(map(len, rows), default=0)
    lines = "".join(f"<w:tr>{''.join(f'<w:tc><w:tcPr/>{cell}</w:tc>' for cell in row)}</w:tr>" for row in rows if row)
    head = f"<w:tblPr><w:tblBorders>{sides}</w:tblBorders></w:tblPr><w:tblGrid>{grid}</w:tblGrid>"
    return f"<w:tbl>{head}{lines}</w:tbl>{_paragraph('', 0, '')}"
