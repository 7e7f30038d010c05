"""The formats that flow. What reads one is imported when such a file is opened, and nothing of it before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from indexers.formats.format import Format, Open, OpenFile
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Member, Members

_KEPT = frozenset(
    ("max_pages", "max_page_lines", "max_page_characters", "max_bookmarks", "max_entries", "max_expanded_bytes",
     "max_cells")
)  # fmt: skip


_ILLUSTRATED = frozenset("docx pptx word97 powerpoint97 odt odp html epub fb2 ipynb eml mbox msg".split())
_PRINTED = frozenset("docx pptx word97 powerpoint97 odt odp xlsx xlsb xls ods rtf".split())


def _opener(module: str, function: str) -> Open:
    def open(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
        from indexers.formats.flow.blocks import Flow
        from indexers.formats.flow.pages import FlowFile

        read: Callable[[Path, ParseLimits], Flow] = getattr(import_module(f"indexers.formats.{module}"), function)
        return FlowFile(path, read(path, limits), limits)

    return open


def _lister(module: str, function: str) -> Members:
    def members(path: Path, limits: ParseLimits) -> Iterator[Member]:
        listed: Members = getattr(import_module(f"indexers.formats.{module}"), function)
        return listed(path, limits)

    return members


def _flow(name: str, title: str, suffixes: str, read: str, place: str, members: str = "", version: int = 1) -> Format:
    return Format(
        name, title, tuple(f".{suffix}" for suffix in suffixes.split()), f"{name}-{version}", _opener(*read.split(":")),
        whole=True, limits=_KEPT, place=place,
        members=_lister(*members.split(":")) if members else None, illustrated=name in _ILLUSTRATED,
        nearby=name == "html", printed=name in _PRINTED,
    )  # fmt: skip


_EMBEDDED = "office.embedded:office_members"
_TARS = "tar tgz gz tbz2 bz2 txz xz"

FLOWS = (
    _flow("docx", "Word", "docx docm dotx dotm", "office.docx:read_docx", "paragraphs", _EMBEDDED, version=4),
    _flow("pptx", "PowerPoint", "pptx pptm ppsx ppsm potx", "office.pptx:read_pptx", "slide", _EMBEDDED, version=3),
    _flow("word97", "Word 97", "doc dot", "office.older:read_doc", "paragraphs", version=3),
    _flow("powerpoint97", "PowerPoint 97", "ppt pps", "office.older:read_ppt", "slide", version=3),
    _flow("xlsx", "Excel", "xlsx xlsm xltx xltm", "office.sheets:read_workbook", "rows", _EMBEDDED, version=2),
    _flow("xlsb", "Excel (binary)", "xlsb", "office.sheets:read_workbook", "rows", _EMBEDDED, version=2),
    _flow("xls", "Excel 97", "xls xlt", "office.sheets:read_workbook", "rows", version=2),
    _flow("ods", "OpenDocument sheet", "ods", "office.sheets:read_workbook", "rows", version=2),
    _flow("odt", "OpenDocument text", "odt ott", "office.opendocument:read_opendocument", "paragraphs", version=4),
    _flow("odp", "OpenDocument slides", "odp otp", "office.opendocument:read_opendocument", "slide", version=4),
    _flow("html", "HTML", "html htm xhtml", "web.html:read_html", "paragraphs", version=4),
    _flow("epub", "EPUB", "epub", "web.epub:read_epub", "part of a chapter", version=4),
    _flow("fb2", "FictionBook", "fb2", "web.fb2:read_fb2", "paragraphs", version=3),
    _flow("txt", "plain text", "txt text", "plain.text:read_txt", "lines", version=2),
    _flow("rtf", "RTF", "rtf", "office.rtf:read_rtf", "paragraphs", version=3),
    _flow("csv", "table", "csv tsv", "office.sheets:read_table", "rows", version=2),
    _flow("ipynb", "Jupyter notebook", "ipynb", "plain.notebook:read_notebook", "cells", version=3),
    _flow("subtitles", "subtitles", "vtt srt", "plain.subtitles:read_subtitles", "times", version=2),
    _flow("eml", "mail", "eml", "mail.message:read_eml", "message", "mail.attachments:eml_members", version=3),
    _flow("mbox", "mailbox", "mbox", "mail.message:read_mbox", "message", "mail.attachments:mbox_members", version=3),
    _flow("msg", "Outlook mail", "msg", "mail.outlook:read_msg", "message", "mail.outlook:msg_members", version=3),
    _flow("archive", "archive", "zip", "archive.zip:read_zip", "entries", "archive.zip:zip_members", version=2),
    _flow("tarball", "packed archive", _TARS, "archive.tar:read_tar", "entries", "archive.tar:tar_members"),
)
