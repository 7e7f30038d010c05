"""The formats that flow. What reads one is imported when such a file is opened, and nothing of it before."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from indexers.formats.format import Format, Open, OpenFile
from indexers.formats.limits import ParseLimits

_KEPT = frozenset(
    ("max_pages", "max_page_lines", "max_page_characters", "max_bookmarks", "max_entries", "max_expanded_bytes",
     "max_cells")
)  # fmt: skip


def _opener(module: str, function: str) -> Open:
    def open(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
        from indexers.formats.flow.blocks import Flow
        from indexers.formats.flow.pages import FlowFile

        read: Callable[[Path, ParseLimits], Flow] = getattr(import_module(f"indexers.formats.{module}"), function)
        return FlowFile(path, read(path, limits), limits)

    return open


def _flow(name: str, title: str, suffixes: str, read: str, place: str, children: str = "") -> Format:
    return Format(
        name, title, tuple(f".{suffix}" for suffix in suffixes.split()), f"{name}-1", _opener(*read.split(":")),
        whole=True, limits=_KEPT, place=place, children=children,
    )  # fmt: skip


FLOWS = (
    _flow("docx", "Word", "docx docm dotx dotm", "office.docx:read_docx", "paragraphs"),
    _flow("pptx", "PowerPoint", "pptx pptm ppsx ppsm potx", "office.pptx:read_pptx", "slide"),
    _flow("word97", "Word 97", "doc dot", "office.older:read_doc", "paragraphs"),
    _flow("powerpoint97", "PowerPoint 97", "ppt pps", "office.older:read_ppt", "slide"),
    _flow("xlsx", "Excel", "xlsx xlsm xltx xltm", "office.sheets:read_workbook", "rows"),
    _flow("xlsb", "Excel (binary)", "xlsb", "office.sheets:read_workbook", "rows"),
    _flow("xls", "Excel 97", "xls xlt", "office.sheets:read_workbook", "rows"),
    _flow("ods", "OpenDocument sheet", "ods", "office.sheets:read_workbook", "rows"),
    _flow("odt", "OpenDocument text", "odt ott", "office.opendocument:read_opendocument", "paragraphs"),
    _flow("odp", "OpenDocument slides", "odp otp", "office.opendocument:read_opendocument", "slide"),
    _flow("html", "HTML", "html htm xhtml", "web.html:read_html", "paragraphs"),
    _flow("epub", "EPUB", "epub", "web.epub:read_epub", "part of a chapter"),
    _flow("fb2", "FictionBook", "fb2", "web.fb2:read_fb2", "paragraphs"),
    _flow("txt", "plain text", "txt text", "plain.text:read_txt", "lines"),
    _flow("rtf", "RTF", "rtf", "plain.text:read_rtf", "paragraphs"),
    _flow("csv", "table", "csv tsv", "office.sheets:read_table", "rows"),
    _flow("ipynb", "Jupyter notebook", "ipynb", "plain.notebook:read_notebook", "cells"),
    _flow("subtitles", "subtitles", "vtt srt", "plain.subtitles:read_subtitles", "times"),
    _flow("eml", "mail", "eml", "mail.message:read_eml", "message", "attachments"),
    _flow("mbox", "mailbox", "mbox", "mail.message:read_mbox", "message", "attachments"),
    _flow("msg", "Outlook mail", "msg", "mail.outlook:read_msg", "message", "attachments"),
)
