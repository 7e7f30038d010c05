"""Clients of a cluster that upload, search, ask and read without a pause, and what they were answered."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import httpx

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from tests.endurance.machines import TOKEN, Machines

DOCUMENTS = 40
LONGEST = 60.0
"""Seconds until a request must be answered, or refused with a reason."""
_ACCEPTED = {"upload": 202}
_STOPPED = (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)  # the server was killed


class Load:
    """Threads that send requests until the end. ``clients`` says how many there are of each kind.

    Each upload sends a new text of one of the documents. A refusal must be 503 with a message and ``Retry-After``.
    """

    def __init__(self, url: str, **clients: int) -> None:
        self._url = url
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._number = 0
        self.sent: dict[str, list[str]] = {}
        """All texts of each document, in the order of sending."""
        self.accepted: dict[str, str] = {}
        """The last text of each document that was accepted."""
        self.answers: Counter[str] = Counter()
        self.unexplained: list[str] = []
        self.wrong: list[str] = []
        self.slowest = 0.0
        kinds = {"upload": self._upload, "search": self._search, "ask": self._ask, "read": self._read}
        self._threads = [
            threading.Thread(target=self._run, args=(kinds[kind], number))
            for kind, count in (clients or {"upload": 1, "search": 2}).items()
            for number in range(count)
        ]
        self._uploaders = max(1, clients.get("upload", 1))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Any, number: int) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=self._url, headers=headers, timeout=2 * LONGEST) as client:
            step = number
            while not self._stop.wait(0.25):
                step += self._uploaders  # each uploader has its own documents, whose order of texts is its own
                work(client, step)

    def _upload(self, client: httpx.Client, step: int) -> None:
        bay = step % DOCUMENTS
        name = f"bay-{bay}.md"
        text = f"# Bay {bay}\n\nThe heron of the bay was seen by {step} people.\n"
        self.sent.setdefault(name, []).append(text)
        content = {"content": text.encode(), "headers": {"Content-Type": "application/octet-stream"}}
        answer = self._send("upload", client, "/libraries/bays/documents", params={"name": name}, **content)
        if answer is not None:
            self.accepted[name] = text

    def _search(self, client: httpx.Client, step: int) -> None:
        name = self._one(step)
        body = {"question": "who saw the heron of the bay", "libraries": ["bays"], "effort": "fast"}
        answer = self._send("search", client, "/search", json=body | ({"documents": [name]} if name else {}))
        if answer is None:
            return
        names = {result["doc_name"] for result in answer["results"]}
        if name and names - {name}:
            self.wrong.append(f"search in {name}: {sorted(names)}")
        elif not names:
            self.answers["search: nothing found"] += 1

    def _ask(self, client: httpx.Client, step: int) -> None:
        body = {"question": "How many people saw the heron of the bay?", "libraries": ["bays"], "effort": "fast"}
        self._send("ask", client, "/ask", json=body)

    def _read(self, client: httpx.Client, step: int) -> None:
        if name := self._one(step):
            text = self._send("read", client, f"/libraries/bays/documents/{name}/pages/1", method="GET")
            if text is not None and "heron of the bay" not in str(text):
                self.wrong.append(f"page 1 of {name}: {str(text)[:200]}")

    def _one(self, step: int) -> str:
        """Return the name of a document that was published, if there is one."""
        names = sorted(name for name in self.published() if name in self.sent)
        return names[step % len(names)] if names else ""

    def published(self) -> set[str]:
        """Return the names of the documents whose pages are read and searched."""
        return set()

    def _send(self, kind: str, client: httpx.Client, path: str, method: str = "POST", **request: Any) -> Any:
        """Return the body of an accepted request, and None for one that was refused or reached nobody."""
        began = time.monotonic()
        try:
            answer = client.request(method, path, **request)
        except httpx.TransportError as error:
            self.answers[f"{kind}: no answer"] += 1
            if isinstance(error, httpx.TimeoutException):
                self.unexplained.append(f"{kind}: nothing within {2 * LONGEST} s")
            return None
        self.slowest = max(self.slowest, time.monotonic() - began)
        body = answer.json()
        good = answer.status_code == _ACCEPTED.get(kind, 200)
        self.answers[f"{kind}: {answer.status_code} {'' if good else body.get('code', '')}".strip()] += 1
        if good:
            return body
        if not (answer.status_code == 503 and body.get("detail") and answer.headers.get("Retry-After")):
            self.unexplained.append(f"{kind}: {answer.status_code} {dict(answer.headers)} {answer.text[:500]}")
        return None


def compare(catalog: Catalog, load: Load, cluster: Machines) -> None:
    """Check that the published text is the accepted one or a later one, once each, and that searches find it."""
    with catalog.snapshot() as snapshot:
        documents = {document.name: document for document in snapshot.documents("bays")}
        assert set(load.accepted) <= set(documents) <= set(load.sent)
        for name, accepted in load.accepted.items():
            content = snapshot.published("bays")[documents[name].doc_id]
            text = snapshot.pages(content)[0].text
            sent = load.sent[name]
            possible = sent[sent.index(accepted) :]
            assert any(one.split("\n\n")[1].strip() in text for one in possible), (name, text, possible)
        log = [(change.doc_id, change.content_id) for change in snapshot.changes("bays", 0)]
        twice = [one for one, times in Counter(log).items() if times > 1]
        assert not twice, twice
    reader = JobReader(catalog)
    failed = [(job.subject, job.stage, job.cause) for job in reader.listed(status=["failed"], limit=5)]
    assert reader.counts().failed == 0, failed
    with httpx.Client(base_url=cluster.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
        for name in documents:
            words = load.sent[name][0].split("\n\n")[1].strip()
            asked = {"question": words, "libraries": ["bays"], "documents": [name], "effort": "fast"}
            found = client.post("/search", json=asked).json()
            assert [one["doc_name"] for one in found["results"]] == [name], found
    asked = [sys.executable, "-m", "hybrid_pageindex", "doctor", "--deep"]
    checked = subprocess.run(
        asked,
        env={**os.environ, **cluster.variables, "PAGEINDEX_LLM_MODEL": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout
