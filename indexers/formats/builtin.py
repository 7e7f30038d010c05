"""The built-in formats. A reader is imported when a file of its format is opened."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from indexers.formats.format import Format, Open, OpenFile
from indexers.formats.limits import ParseLimits

_FLOW_LIMITS = frozenset(
    ("max_pages", "max_page_lines", "max_page_characters", "max_bookmarks", "max_entries", "max_expanded_bytes",
     "max_cells")
)  # fmt: skip


# formats whose pages may have pictures
_ILLUSTRATED = frozenset("docx pptx word97 powerpoint97 odt odp html epub fb2 ipynb eml mbox msg".split())
# formats of plain text, of which many small files are indexed in one batch
_PLAIN = frozenset("html txt csv subtitles ipynb rtf fb2".split())
# functions that draw a page from the file
_SKETCHED = {"pptx": "office.slide_drawing:draw_slide"}
# formats that LibreOffice can print
_PRINTED = frozenset("docx pptx word97 powerpoint97 odt odp xlsx xlsb xls ods rtf".split())


def _imported(function: str) -> Any:
    """Import and return a function of this package ("module:function")."""
    module, name = function.split(":")
    return getattr(import_module(f"indexers.formats.{module}"), name)


def _late(function: str) -> Callable[..., Any]:
    """Return a function that imports the one named "module:function" only when it is called."""
    return lambda *arguments: _imported(function)(*arguments)


def _late_on_pdf(function: str) -> Callable[..., Any]:
    """Return a function for pictures that converts the picture to a PDF and passes it to a PDF function.

    ``function`` names the PDF function ("module:function"). It is imported when it is called.
    """

    def call(path: Path, _: str | None, *arguments: Any) -> Any:
        with _imported("raster:as_pdf")(path, arguments[-1]) as pdf:
            return _imported(function)(pdf, None, *arguments)

    return call


def _embeds(path: Path) -> bool:
    """Return whether a PDF may have embedded files.

    The bytes are searched for the names of such entries, which are never compressed. There are three names, because the
    type of an embedded file may be omitted.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(name) >= 0 for name in (b"/EmbeddedFile", b"/FileAttachment", b"/Filespec"))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


PDF = Format(
    name="pdf",
    title="PDF",
    suffixes=(".pdf",),
    version="pdf-8",
    open=_late("pdf.read:PdfFile"),
    sniff=lambda head: b"%PDF-" in head,
    limits=frozenset(field.name for field in fields(ParseLimits)),
    look=_late("pdf.page_layout:look"),
    draw=_late("pdf.picture:draw"),
    show=_late("pdf.picture:draw_picture"),
    layout=_late("pdf.page_layout:pdf_layout"),
    regions=_late("pdf.page_layout:page_regions"),
    annotate=_late("pdf.annotations:annotate"),
    members=_late("pdf.document:pdf_members"),
    embeds=_embeds,
)


def _open_markdown(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
    file: OpenFile = _imported("markdown:MarkdownFile")(path, limits)
    return file


MARKDOWN = Format(
    name="markdown",
    title="Markdown",
    suffixes=(".md", ".markdown", ".mkd", ".mdown", ".mdx", ".qmd", ".rmd"),
    version="markdown-7",
    open=_open_markdown,
    needs_whole_file=True,
    limits=frozenset({"max_pages", "max_page_lines", "max_page_characters", "max_bookmarks"}),
    place="lines",
    may_have_pictures=True,
    reads_siblings=True,
    bytes_are_text=True,
)


def _flow(name: str, title: str, suffixes: str, read: str, place: str, members: str = "", version: int = 1) -> Format:
    return Format(
        name, title, tuple(f".{suffix}" for suffix in suffixes.split()), f"{name}-{version}", _flow_opener(read),
        needs_whole_file=True, limits=_FLOW_LIMITS, place=place, members=_late(members) if members else None,
        may_have_pictures=name in _ILLUSTRATED, reads_siblings=name == "html", office_prints=name in _PRINTED,
        bytes_are_text=name in _PLAIN, sketch=_late(_SKETCHED[name]) if name in _SKETCHED else None,
    )  # fmt: skip


def _flow_opener(read: str) -> Open:
    def open_flow(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
        flow = _imported(read)(path, limits)
        file: OpenFile = _imported("flow.pages:FlowFile")(path, flow, limits)
        return file

    return open_flow


_EMBEDDED = "office.ooxml:office_members"
_OBJECTS = "office.flat_odf:odf_members"
_MAILS = "eml emlx mht mhtml"  # including web pages that a browser saved as one file
_TARS = "tar tgz gz tbz2 bz2 txz xz lzma tlz"
_XML = "xml nxml jats dbk docbook tei dita ditamap rss atom opml xlf xliff tmx"
_JSON = "json jsonl ndjson geojson jsonld"

FLOWS = (
    _flow("docx", "Word", "docx docm dotx dotm", "office.docx:read_docx", "paragraphs", _EMBEDDED, version=8),
    _flow(
        "pptx", "PowerPoint", "pptx pptm ppsx ppsm potx potm", "office.pptx:read_pptx", "slide", _EMBEDDED, version=8
    ),
    _flow("word97", "Word 97", "doc dot", "office.office97:read_doc", "paragraphs", version=7),
    _flow("powerpoint97", "PowerPoint 97", "ppt pps", "office.office97:read_ppt", "slide", version=5),
    _flow("xlsx", "Excel", "xlsx xlsm xltx xltm", "office.sheets:read_workbook", "rows", _EMBEDDED, version=7),
    _flow("xlsb", "Excel (binary)", "xlsb", "office.sheets:read_workbook", "rows", _EMBEDDED, version=5),
    _flow("xls", "Excel 97", "xls xlt", "office.sheets:read_workbook", "rows", version=6),
    _flow("ods", "OpenDocument sheet", "ods ots fods", "office.sheets:read_workbook", "rows", _OBJECTS, version=7),
    _flow(
        "odt",
        "OpenDocument text",
        "odt ott fodt",
        "office.opendocument:read_opendocument",
        "paragraphs",
        _OBJECTS,
        version=8,
    ),
    _flow(
        "odp",
        "OpenDocument slides",
        "odp otp fodp odg otg fodg",
        "office.opendocument:read_opendocument",
        "slide",
        _OBJECTS,
        version=8,
    ),
    _flow("html", "HTML", "html htm xhtml", "web.html:read_html", "paragraphs", version=8),
    _flow("epub", "EPUB", "epub", "web.epub:read_epub", "part of a chapter", version=8),
    _flow("fb2", "FictionBook", "fb2", "web.fb2:read_fb2", "paragraphs", version=4),
    _flow("txt", "plain text", "txt text", "plain_text:read_txt", "lines", version=5),
    _flow("markuptext", "marked-up text", "adoc asciidoc rst org tex", "plain_text:read_marked", "lines"),
    _flow("rtf", "RTF", "rtf", "office.rtf:read_rtf", "paragraphs", version=8),
    _flow("csv", "table", "csv tsv", "office.sheets:read_table", "rows", version=6),
    _flow("ipynb", "Jupyter notebook", "ipynb", "plain_text:read_notebook", "cells", version=5),
    _flow("subtitles", "subtitles", "vtt srt ass ssa sbv", "subtitles:read_subtitles", "times", version=4),
    _flow("xmldoc", "XML", _XML, "xml.read:read_xml_file", "paragraphs", version=4),
    _flow("jsondoc", "JSON", _JSON, "records.json_values:read_json", "values"),
    _flow("yamldoc", "YAML", "yaml yml", "records.settings_files:read_yaml", "lines"),
    _flow("tomldoc", "TOML", "toml", "records.settings_files:read_toml", "lines"),
    _flow("icalendar", "calendar", "ics ical ifb", "records.calendars:read_calendar", "events"),
    _flow("vcards", "visiting cards", "vcf vcard", "records.calendars:read_cards", "cards"),
    _flow("bibliography", "bibliography", "bib bibtex ris", "records.citations:read_citations", "entries"),
    _flow("gettext", "translations", "po pot", "records.translations:read_po", "entries"),
    _flow("eml", "mail", _MAILS, "mail.message:read_eml", "message", "mail.message:eml_members", version=6),
    _flow("mbox", "mailbox", "mbox", "mail.message:read_mbox", "message", "mail.message:mbox_members", version=6),
    _flow("msg", "Outlook mail", "msg", "mail.outlook:read_msg", "message", "mail.outlook:msg_members", version=6),
    _flow("archive", "archive", "zip", "archives:read_zip", "entries", "archives:zip_members", version=4),
    _flow("tarball", "packed archive", _TARS, "archives:read_tar", "entries", "archives:tar_members", version=2),
)


RASTER = Format(
    name="raster",
    title="picture",
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"),
    version="raster-2",
    open=_late("raster:open_raster"),
    limits=frozenset({"max_pages", "max_page_lines", "max_page_characters", "max_pixels"}),
    place="frame",
    look=_late("raster:look_at_raster"),
    draw=_late_on_pdf("pdf.picture:draw"),
    show=_late_on_pdf("pdf.picture:draw_picture"),
    layout=_late_on_pdf("pdf.page_layout:pdf_layout"),
)

FORMATS = (PDF, MARKDOWN, *FLOWS, RASTER)
