"""Compare how many words this project and other readers extract from the same files, and how many they add.

    python -m benchmarks readers FOLDER... [--files 25] [--json]

The reference is the text in the file's markup. For Office, OpenDocument and EPUB, these are the text elements of the
package, and for a web page everything except scripts and navigation. For a mail they are the text parts, and for a
notebook the cells. Recall is the share of the reference's words that a reader returns. Precision is the share of the
returned words that are in the reference. Words have at least two letters, and repeated words count each time. Numbers
are ignored, because spreadsheets format them. A file has recall 0 if the reader refuses it or takes more than half a
minute. The other readers are ``pandoc``, ``markitdown``, ``soffice`` and ``docling``, if they are installed.
"""

from __future__ import annotations

import argparse
import email
import email.policy
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from lxml import etree, html

from hybrid_core.errors import PageIndexError
from hybrid_core.types.documents import ParsedPage
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import open_file

_WORD = re.compile(r"[^\W\d_]{2,}")
_PARTS = re.compile(
    r"word/(?:document|footnotes|endnotes|comments)\.xml|ppt/(?:slides|notesSlides)/[^/]+\.xml|"
    r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml|content\.xml"
)
_TEXTS = frozenset(("t", "p", "span", "h", "a"))
_DROPPED = frozenset(
    "delText instrText rPh ruby-text tracked-changes Fallback script style template nav head noscript".split()
)
_MOST_BYTES = 3_000_000  # of a file
_SECONDS = 30
_TRIALS = 3


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def of_package(path: Path) -> str:
    """Return the text of an Office or OpenDocument package, or of a book's pages."""
    texts: list[str] = []
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            if path.suffix == ".epub" and name.endswith((".xhtml", ".html", ".htm")) and "nav" not in name:
                texts.append(of_web(package.read(name)))
            elif _PARTS.fullmatch(name):
                texts += _marked(etree.fromstring(package.read(name), etree.XMLParser(recover=True)))
    return "\n".join(texts)


def _marked(root: Any) -> Iterator[str]:
    """Yield the paragraphs of an XML part, with the runs of each paragraph joined."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        tag = str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""
        if not tag or tag in _DROPPED:
            continue
        if tag in ("p", "h", "si", "is"):
            yield "".join(_inside(element))
        else:
            waiting += reversed(element)


def _inside(element: Any) -> Iterator[str]:
    tag = str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""
    if not tag or tag in _DROPPED:
        return
    if tag in _TEXTS:
        yield element.text or ""
    for child in element:
        yield " " if str(child.tag).endswith(("}tab", "}br", "}s", "}line-break", "}p")) else ""
        yield from _inside(child)
        if tag in ("p", "span", "h", "a"):
            yield child.tail or ""


def of_web(data: bytes) -> str:
    root: Any = html.fromstring(data)
    for element in list(root.iter(*_DROPPED)):
        element.drop_tree()
    return " ".join(root.itertext())


def of_mail(path: Path) -> str:
    message = email.message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=email.policy.default)
    body: Any = message.get_body(("plain", "html"))
    text = str(body.get_content()) if body is not None else ""
    return of_web(text.encode()) if body is not None and body.get_content_subtype() == "html" else text


def of_notebook(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    return "\n".join("".join(cell.get("source", "")) for cell in cells)


REFERENCES: dict[str, Callable[[Path], str]] = {
    **dict.fromkeys((".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub"), of_package),
    ".html": lambda path: of_web(path.read_bytes()), ".eml": of_mail, ".ipynb": of_notebook,
}  # fmt: skip


def ours(path: Path) -> str:
    file = open_file(path, None, ParseLimits())
    try:
        pages = file.read(range(1, file.pages + 1), lambda _: None)
        return "\n".join(page.text for page in pages if isinstance(page, ParsedPage))
    finally:
        file.close()


def _printed(*command: str) -> Callable[[Path], str]:
    def read(path: Path) -> str:
        done = subprocess.run([*command, str(path)], capture_output=True, timeout=_SECONDS, check=True)
        return done.stdout.decode("utf-8", "replace")

    return read


def _converted(*command: str) -> Callable[[Path], str]:
    """Return a reader that runs a converter command.

    The output folder and the file are appended to the command.
    """

    def read(path: Path) -> str:
        with TemporaryDirectory() as folder:
            subprocess.run([*command, folder, str(path)], capture_output=True, timeout=_SECONDS, check=True)
            return "\n".join(file.read_text(errors="replace") for file in Path(folder).iterdir())

    return read


def readers() -> dict[str, Callable[[Path], str]]:
    installed: dict[str, Callable[[Path], str]] = {"this reader": ours}
    commands = {
        "markitdown": _printed("markitdown"),
        "pandoc": _printed("pandoc", "-t", "plain", "--wrap=none"),
        "soffice": _converted("soffice", "--headless", "--convert-to", "txt:Text", "--outdir"),
        "docling": _converted("docling", "--to", "md", "--output"),
    }
    return installed | {name: read for name, read in commands.items() if shutil.which(name)}


def measure(read: Callable[[Path], str], path: Path, reference: Counter[str]) -> tuple[float, float | None]:
    """Return the recall and the precision of a reader; the precision is None if the reader returns no words."""
    try:
        output = words(read(path))
    except (PageIndexError, subprocess.SubprocessError, OSError):
        return 0.0, None
    both = (output & reference).total()
    return both / reference.total(), both / output.total() if output else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--files", type=int, default=25, help="of each format at most, spread over the folders")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    by: dict[str, list[tuple[Path, Counter[str]]]] = defaultdict(list)
    for path in sorted(path for folder in options.folders for path in folder.rglob("*") if path.is_file()):
        reference = REFERENCES.get(path.suffix.lower())
        if reference is None or path.stat().st_size > _MOST_BYTES:
            continue
        try:
            text = words(reference(path))
        except Exception:  # noqa: BLE001 - a file whose markup cannot be read has no reference
            continue
        if text.total() >= 5:
            by[path.suffix.lower()].append((path, text))
    figures: dict[str, dict[str, tuple[float, float]]] = {}
    for suffix, files in sorted(by.items()):
        chosen = files[:: max(1, -(-len(files) // options.files))]
        figures[f"{suffix[1:]} ({len(chosen)})"] = row = {}
        for name, read in readers().items():
            pairs = []
            for path, text in chosen:
                pairs.append(measure(read, path, text))
                if len(pairs) == _TRIALS and not any(recall for recall, _ in pairs):
                    break  # it does not read this format
            precise = [precision for _, precision in pairs if precision is not None]
            if precise:
                row[name] = (round(mean(recall for recall, _ in pairs), 3), round(mean(precise), 3))
        print(suffix, row, file=sys.stderr)
    if options.json:
        print(json.dumps(figures))
        return 0
    names = list(readers())
    print(f"| format (files) | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for kind, row in figures.items():
        cells = [f"{row[name][0]:.3f} / {row[name][1]:.3f}" if name in row else "" for name in names]
        print(f"| {kind} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
