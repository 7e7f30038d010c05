"""Counting and listing questions over contracts, statutes, code documentation, mails and sheets, with known answers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest
import xlsxwriter

from hybrid_pageindex import Engine, run
from tests.indexers.formats.test_archives import mail

TEXTS = {
    "contracts/supply-agreement.md": "# Supply Agreement\n\nThis Supply Agreement is made by Acme Corporation and Bolt "
    "GmbH.\n\n## Prices\n\nThe Supplier grants most-favoured-nation pricing.\n\n## Indemnity\n\nEach party shall "
    "indemnify the other.\n",
    "contracts/licence-agreement.md": "# Licence Agreement\n\nThis Licence Agreement is made by Acme Corporation.\n\n"
    "## Royalties\n\nRoyalties are due each quarter. A change of\ncontrol ends the licence.\n",
    "contracts/services-agreement.md": "# Services Agreement\n\nThis Services Agreement is made by Bolt GmbH.\n\n"
    "## Liability\n\nIndemnification survives a Change-of-Control. No royalty is due.\n",
    "statutes/water-act.md": "# Water Act 1991\n\n## Section 4\n\nThe Secretary of State may set a charge. A fine of "
    "£500 applies.\n\n## Section 5\n\nA second fine is added after a month.\n",
    "statutes/forest-act.md": "# Forest Act 1967\n\n## Section 2\n\nWho fells a tree is liable to a fine or to "
    "imprisonment.\n",
    "statutes/roads-act.md": "# Roads Act 1980\n\n## Section 9\n\nThe Secretary of State may levy a toll. Highways are "
    "kept by the county.\n",
    "docs/client.md": "# Client\n\nSet `max_retries` to 3. A `TimeoutError` is raised after that. It speaks HTTP/2.\n",
    "docs/server.html": "<html><head><title>Server</title></head><body><h1>Server</h1><p>The <code>backlog</code> is "
    "128. Unlike the client it has no max_retries.</p></body></html>",
    "docs/errors.md": "# Errors\n\n## TimeoutError\n\nThe peer did not answer.\n\n## ConnectionError\n\nThe peer is "
    "gone. Call `client.close()`.\n",
    "mails/kickoff.eml": "Subject: Kick-off\n\nProject Heron begins on Monday. Send the invoice to Bolt GmbH.",
    "mails/delay.eml": "Subject: Delay\n\nProject Heron is two weeks late; travel is cancelled.",
    "mails/lunch.eml": "Subject: Lunch\n\nShall we meet at noon? No herons today.",
    "sheets/stock.csv": "sku,name,place\nSKU-4471,valve,Leeds\nSKU-4472,pump,Hull\n",
    "sheets/budget.xlsx": "item,amount\nProject Heron,1200\ntravel,300\n",
}


def _written(name: str, text: str) -> bytes:
    """Return the bytes of a file in its format."""
    if name.endswith(".eml"):
        subject, _, body = text.partition("\n\n")
        message = mail(Subject=subject.removeprefix("Subject: "))
        message.set_content(body)
        return bytes(message)
    if name.endswith(".xlsx"):
        buffer = io.BytesIO()
        with xlsxwriter.Workbook(buffer) as book:
            sheet = book.add_worksheet()
            for number, line in enumerate(text.splitlines()):
                sheet.write_row(number, 0, line.split(","))
        return buffer.getvalue()
    return text.encode()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("mixed")
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(_written(name, text))
    engine = Engine(folder / "home")
    run(engine.index([folder / part for part in ("contracts", "statutes", "docs", "mails", "sheets")]))
    yield engine
    engine.close()


HERON = {"kickoff.eml", "delay.eml", "budget.xlsx"}
QUESTIONS = [
    ("How many agreements mention most-favoured-nation?", {"supply-agreement.md"}),
    ("How many contracts mention change of control?", {"licence-agreement.md", "services-agreement.md"}),
    ("Which agreements name Acme Corporation?", {"supply-agreement.md", "licence-agreement.md"}),
    ("List all contracts that mention royalties", {"licence-agreement.md", "services-agreement.md"}),
    ("List every document that names Bolt GmbH", {"supply-agreement.md", "services-agreement.md", "kickoff.eml"}),
    ('Which documents contain "indemnify" but not "royalties"?', {"supply-agreement.md"}),
    ("How many acts mention the Secretary of State?", {"water-act.md", "roads-act.md"}),
    ("In which statutes is a fine mentioned?", {"water-act.md", "forest-act.md"}),
    ("Which statutes mention both a fine and imprisonment?", {"forest-act.md"}),
    ("Show me all the acts which mention a toll or imprisonment.", {"forest-act.md", "roads-act.md"}),
    ("What is the number of documents that mention max_retries?", {"client.md", "server.html"}),
    ("Find all documents where TimeoutError is mentioned", {"client.md", "errors.md"}),
    ('Which documents contain "client.close()"?', {"errors.md"}),
    ("How many documents refer to HTTP/2?", {"client.md"}),
    ("How many documents mention Project Heron?", HERON),
    ("In wie vielen Dokumenten wird Project Heron erwähnt?", HERON),
    ("Could you tell me how many files contain the word travel?", {"delay.eml", "budget.xlsx"}),
    ("Name every document that mentions SKU-4471.", {"stock.csv"}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "names"), QUESTIONS)
def test_a_count_over_mixed_kinds_is_true_and_complete(mixed: Engine, question: str, names: set[str]) -> None:
    answer = run(mixed.ask(question))
    assert answer.status == "answered", answer.why
    counted = re.match(r"(\d+) (?:of|von) (\d+)", answer.text)
    assert counted and int(counted[1]) == len(names), answer.text
    assert {source.doc_name for source in answer.sources} == names, answer.text
    assert "The count is complete: all" in answer.text or "Die Zählung ist vollständig: Alle" in answer.text
    assert answer.usage.calls == 0


@pytest.mark.parametrize(
    ("question", "head"),
    [
        ("How often is a fine mentioned?", "“fine” stands at 3 places on 2 pages of 2 documents."),
        ("How many pages mention Project Heron?", "“Project Heron” stands at 3 places on 3 pages of 3 documents."),
    ],
)
def test_places_and_pages_over_mixed_kinds_are_counted(mixed: Engine, question: str, head: str) -> None:
    assert run(mixed.ask(question)).text.startswith(head)
