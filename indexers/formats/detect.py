"""Detection of a file's format by its content: leading bytes, package listing or OLE streams.

Plain texts have no such mark; their suffix decides, or for some formats their first lines.
"""

from __future__ import annotations

import codecs
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

from hybrid_core.errors import DocumentError, PasswordError, UnsupportedFileError

_HEAD = 8192
_TAIL = 65_557  # bytes at the end that contain the last record of a ZIP file
_MOST_ENTRIES = 50_000
_MOST_INFO = 100_000  # maximum bytes of the description of a file's encryption
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = (
    ("EncryptedPackage", "encrypted"), ("WordDocument", "word97"), ("PowerPoint Document", "powerpoint97"),
    ("Workbook", "xls"), ("Book", "xls"), ("__properties_version1.0", "msg"),
)  # fmt: skip
_MIMETYPES = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.graphics": "odp",
}
_CONTENT_TYPES = (  # patterns in [Content_Types].xml that identify the main part
    (re.compile(rb"wordprocessingml\.(?:document|template)\.main|ms-word\.\w+\.macroEnabled\w*\.main"), "docx"),
    (
        re.compile(rb"presentationml\.(?:presentation|slideshow|template)\.main|ms-powerpoint\.\w+\.macro\w+\.main"),
        "pptx",
    ),
    (re.compile(rb"ms-excel\.sheet\.binary\.macroEnabled\.main"), "xlsb"),
    (re.compile(rb"spreadsheetml\.(?:sheet|template)\.main|ms-excel\.\w+\.macroEnabled\.main"), "xlsx"),
)
_PICTURE = re.compile(  # PNG, JPEG, TIFF, WebP, BMP, GIF
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|II[*+]\0|MM\0[*+]|RIFF....WEBP|BM.{4}\0\0\0\0|GIF8[79]a", re.S
)
_TAR = re.compile(rb"\x1f\x8b|BZh[1-9]|\xfd7zXZ\0|\x5d\0\0[\0-\x80]{2}|.{257}ustar", re.S)  # or in a usual compression
_ARCHIVES = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar", b"\x28\xb5\x2f\xfd": "zstd", b"MSCF\0\0\0\0": "cab"}
_WORDPERFECT = b"\xffWPC"
_OLD_WORD = re.compile(rb"[\xdb\x9b]\xa5|\x31\xbe\0\0|\xfe\x37\0[\x1c\x23]")  # of Windows, DOS and Macintosh
_PACKAGES = ("docx", "pptx", "xlsx", "xlsb", "ods", "odt", "odp", "epub")
_XML = re.compile(
    r"\s*\ufeff?(?:<\?[^>]*>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>\s*)*<(?:\w+:)?(\w+)([^>]*)", re.S
)
_FEED = re.compile(r"\s*<(?:rss|feed|opml|TEI|article|book)\b")
_FLAT = re.compile(r"""office:mimetype\s*=\s*["']([^"']{1,100})["']""")
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|table|div|p|h1)\b", re.I | re.S
)
_MAIL = re.compile(
    r"(?:(?:return-path|received|from|to|subject|date|message-id|mime-version|delivered-to|x-[\w-]+|content-type|"
    r"reply-to|dkim-signature|sender|cc|authentication-results)\s?:.*\r?\n(?:[ \t].*\r?\n)*){2}",
    re.I,
)
_MARKED = ("", "xmldoc", "jsondoc", "yamldoc", "tomldoc", "icalendar", "vcards", "bibliography", "gettext")
# beginnings of texts that identify a format without a suffix, or with the suffix of another format in the list
_MARKS = (
    (re.compile(r"\s*BEGIN:VCALENDAR\b", re.I), "icalendar"),
    (re.compile(r"\s*BEGIN:VCARD\b", re.I), "vcards"),
    (re.compile(r"\s*TY {1,2}- [A-Z]+\s*\n"), "bibliography"),
)
_JSON = re.compile(r"""\s*(?:\{\s*(?:"[^"\n]{0,200}"\s*:|\})|\[\s*[\[{"\]\d-])""")
# formats of texts, under whose suffixes plain texts are sometimes sent
_NAMED_PLAIN = ("word97", "docx", "rtf", "odt", "msg")
XML_BASED = frozenset(("fb2", "html", "docx", "odt", "odp", "ods", "xls"))  # formats whose files may be named .xml
_TEXTS = ("markdown", "csv", "html", "txt", "eml", "mbox", "subtitles", "ipynb")  # formats without a reliable mark


REFUSED: dict[str, tuple[type[DocumentError], str, str]] = {
    "encrypted": (PasswordError, "the file is encrypted.", "Save a copy of the file without a password."),
    "encrypted for a certificate": (
        PasswordError,
        "the file is encrypted for the owner of a certificate, not with a password.",
        "Open it with that certificate and save it without encryption.",
    ),
    "protected by rights": (
        PasswordError,
        "the file is encrypted by a rights management service (IRM).",
        "Open it with an account that has the rights, and save it without restrictions.",
    ),
    "ole": (UnsupportedFileError, "an Office file of an unsupported kind.", "Save it as DOCX, XLSX, PPTX or PDF."),
    **{
        kind: (UnsupportedFileError, f"{title}, which is not read.", f"Save it as {better}.")
        for kind, title, better in (
            ("iwork", "a document of Apple Pages, Numbers or Keynote", "DOCX, XLSX, PPTX or PDF"),
            ("xps", "an XPS document", "PDF"),
            ("openoffice1", "a document of OpenOffice 1 or StarOffice", "ODT or ODS"),
            ("wordperfect", "a WordPerfect document", "DOCX or PDF"),
            ("old word", "a Word document of before 1993 (Word 1 to 5)", "DOCX"),
        )
    },
    **{
        kind: (UnsupportedFileError, f"an archive of the kind {title}, which is not read.",
               "Unpack it and index the folder, or pack it as ZIP.")
        for kind, title in (("7z", "7z"), ("rar", "RAR"), ("zstd", "Zstandard"), ("cab", "Cabinet"))
    },
}  # fmt: skip
"""Formats that are recognised but not read: the error, its message and its advice."""


def detect(path: Path, named: str) -> str:
    """Return the format of a file from its content. ``named``, the format of its suffix, decides between text formats.

    Besides readable formats it returns keys of ``REFUSED``, such as "encrypted" (an office file with a password) or
    "ole", and "" if unknown. It reads only a little of the file, since it is called outside the workers.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    if head.startswith(_OLE):
        return _ole(path)
    if head.startswith(_WORDPERFECT):
        return "wordperfect"
    if named == "word97" and _OLD_WORD.match(head):
        return "old word"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        format = _package(path)
        # the reader's error says what is missing
        return named if format == "archive" and named in _PACKAGES else format
    if _TAR.match(head):
        return "tarball"
    if (kind := next((kind for mark, kind in _ARCHIVES.items() if head.startswith(mark)), "")) and named not in _TEXTS:
        return kind
    if b"%PDF-" in head[:1024] and (named not in _TEXTS or head.startswith(b"%PDF-")):
        return "pdf"
    if b"{\\rtf" in head[:64]:
        return "rtf"
    if _PICTURE.match(head):
        return "raster"
    return named if named == "pdf" else _detect_text(head, named)


def _ole(path: Path) -> str:
    import olefile

    try:
        with olefile.OleFileIO(str(path)) as file:
            stream_format = next((format for name, format in _STREAMS if file.exists(name)), "ole")
            return _encryption(file) if stream_format == "encrypted" else stream_format
    except (OSError, ValueError, IndexError):
        return ""  # damaged, as below


def _encryption(file: Any) -> str:
    """Return the kind of encryption of an encrypted office package.

    It is "encrypted" if a password opens the package.
    """
    if any("DRMEncrypted" in part for name in file.listdir() for part in name):
        return "protected by rights"
    if file.exists("EncryptionInfo"):
        info = file.openstream("EncryptionInfo").read(_MOST_INFO)
        if b"keyEncryptor/certificate" in info and b"keyEncryptor/password" not in info:
            return "encrypted for a certificate"
    return "encrypted"


def _package(path: Path) -> str:
    try:
        if _entries(path) > _MOST_ENTRIES:
            return ""
        with zipfile.ZipFile(path) as package:
            names = set(package.namelist())
            if "mimetype" in names:
                with package.open("mimetype") as file:
                    media_type = file.read(100).decode("ascii", "replace").strip()
                if named_format := next(
                    (format for kind, format in _MIMETYPES.items() if media_type.startswith(kind)), ""
                ):
                    return named_format
                if media_type.startswith("application/vnd.sun.xml."):
                    return "openoffice1"
            if "Index/Document.iwa" in names or {"Index.zip", "preview.jpg"} <= names:
                return "iwork"
            if any(name.endswith(".fdseq") and "/" not in name for name in names):
                return "xps"
            if "META-INF/container.xml" in names:
                return "epub"
            if "[Content_Types].xml" in names:
                with package.open("[Content_Types].xml") as file:
                    types = file.read(1_000_000)
                for mark, format in _CONTENT_TYPES:
                    if mark.search(types):
                        return format
            for folder, format in (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx")):
                if any(name.startswith(folder) for name in names) and any(name.endswith(".rels") for name in names):
                    return format
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError):
        return ""  # damaged: the reader of the named format reports it
    return "archive"


def _entries(path: Path) -> int:
    """Return the number of files in a ZIP package, read from the record at its end; 0 if there is none."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[at + 10 : at + 12], "little") if at >= 0 else 0


def _detect_text(head: bytes, named: str) -> str:
    text = _decoded(head)
    if (root := _XML.match(text)) and root[1] == "FictionBook":
        return "fb2"
    if root and (root[1] == "wordDocument" or (root[1] == "package" and "office/2006/xmlPackage" in root[2])):
        return "docx"
    if root and root[1] == "document" and (flat := _FLAT.search(root[2])):
        return _MIMETYPES.get(flat[1].removesuffix("-template"), "")
    if text.lstrip("\ufeff").startswith("WEBVTT"):
        return "subtitles"
    if named in _TEXTS:
        return named
    if root and root[1] == "Workbook" and "office:spreadsheet" in root[2] and named in _MARKED:
        return "xls"
    if _HTML.match(text) and (named != "xmldoc" or not root or root[1].lower() == "html"):
        return "html"
    if named in _MARKED and (kind := _marked(text.lstrip("\ufeff"), bool(root), named)):
        return kind
    if text.startswith("From ") and _MAIL.search(text):
        return "mbox"
    if _MAIL.match(text):
        return "eml"
    return "txt" if named in _NAMED_PLAIN and _is_plain(head) else ""


def _marked(text: str, is_xml: bool, named: str) -> str:
    """Return the format of a text, identified by its first words.

    If they do not identify one, return ``named``, the format of the file's suffix, or "".
    """
    if is_xml:
        return "xmldoc" if named or text.lstrip().startswith(("<?xml", "<!DOCTYPE")) or _FEED.match(text) else ""
    if kind := next((kind for mark, kind in _MARKS if mark.match(text)), ""):
        return kind
    if named in ("", "xmldoc") and _JSON.match(text):
        return "jsondoc"
    return named


def _is_plain(head: bytes) -> bool:
    """Return whether bytes look like lines of text.

    They must have a line break, and no control characters except white space.
    """
    return b"\n" in head and not head.translate(None, bytes(range(32, 256)) + b"\t\n\r\f") and b"\x7f" not in head


def _decoded(head: bytes) -> str:
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return head[2:].decode(encoding, "replace")
    return head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
