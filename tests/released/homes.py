"""A home with something of everything that an upgrade must keep, and what must be found in it."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from hybrid_pageindex import Engine, run
from tests import pdfs

FOLDER = Path(__file__).parent
HOME, BACKUP, CONTENTS = "home", "home.backup", "contents.json"
WORDS = {"avocet.md": "Where does the avocet nest?", "tern.csv": "harbour of the tern", "curlew.pdf": ""}
"""A question about each document, or "" for the words of one of its pages."""


def fill(engine: Engine) -> None:
    """Index documents in two libraries, and make what only people make: corrections, notes, ratings, conversations."""
    avocet = b"# Avocet\n\nThe avocet nests in the bay.\n\n## Eggs\n\n| year | eggs |\n|---|---|\n| 2025 | 4 |\n"
    run(engine.index(avocet, name="avocet.md"))
    run(engine.index(b"bird,harbour\ntern,Vesna\n", name="tern.csv", library="second"))
    with tempfile.TemporaryDirectory() as folder:
        run(engine.index(pdfs.numbered(Path(folder, "curlew.pdf"), 3, "curlew").read_bytes(), name="curlew.pdf"))
    run(engine.models.embed("hashed:16"))
    run(engine.documents.edit("avocet.md", set={"title": "The avocet of the bay", "tags": "blue; old"}))
    document = {each.name: each for each in run(engine.documents.list())}["avocet.md"].doc_id
    engine.notes.add("default", "ann", "A title", "A note that stays.", document, 1)
    engine.feedback.add("default", "ann", "Where is the avocet?", document, 1, right=True)
    engine.tokens.create("reader", "read", ["second"])
    talk = run(engine.conversations.create(libraries=["default"], title="Birds", owner="ann"))
    run(engine.conversations.wait(run(engine.conversations.ask(talk.id, "Where does the avocet nest?")).id))


def contents(engine: Engine) -> dict[str, Any]:
    """Return what a later version must find: texts, corrections, hits, and what people made."""
    seen: dict[str, Any] = {"documents": {}, "hits": {}, "talks": {}}
    for library in ("default", "second"):
        for document in run(engine.documents.list(library=library)):
            pages = run(engine.pages(document.name, list(range(1, document.pages + 1)), library=library))
            digest = hashlib.sha256("\f".join(page.text for page in pages).encode()).hexdigest()
            original = run(engine.documents.original(document.name, library=library)).read_bytes()
            seen["documents"][document.name] = [document.title, digest, hashlib.sha256(original).hexdigest()]
            words = WORDS[document.name] or pdfs.landmark("curlew", 2)
            seen["hits"][words] = run(engine.search(words, library=library)).results[0].doc_name
    seen["notes"] = [[note.title, note.text, note.page] for note in engine.notes.all("default")]
    seen["ratings"] = [[rating.question, rating.page] for rating in engine.feedback.all("default")]
    seen["tokens"] = [[token.name, *token.grants.items()] for token in engine.tokens.all()]
    for talk in run(engine.conversations.listed()):
        seen["talks"][talk.title] = [message.text for message in run(engine.conversations.messages(talk.id))]
    return dict(json.loads(json.dumps(seen)))


def keep(file: Path) -> None:
    """Write a zip file with a new home, a backup of it, and what must be found in both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(Engine(folder / HOME)) as engine:
            fill(engine)
            run(engine.admin.backup(folder / BACKUP))
            (folder / CONTENTS).write_text(json.dumps(contents(engine), indent=1))
        shutil.rmtree(folder / HOME / "tmp", ignore_errors=True)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as bundle:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                bundle.write(path, path.relative_to(folder))


def unpack(file: Path, folder: Path) -> dict[str, Any]:
    """Unpack a kept home into a folder, and return what must be found in it. Holes of files stay holes."""
    with zipfile.ZipFile(file) as bundle:
        for name in bundle.namelist():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with bundle.open(name) as packed, path.open("wb") as target:
                while block := packed.read(1 << 16):
                    if any(block):
                        target.write(block)
                    else:
                        target.seek(len(block), 1)
                target.truncate()
        return dict(json.loads(bundle.read(CONTENTS)))
