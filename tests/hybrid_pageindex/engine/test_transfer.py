"""What people made of a library survives its export and its import, equal."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.store.conversations.conversations import ConversationReader
from hybrid_core.store.notes import Highlight
from hybrid_core.types.conversations import ConversationMessage, ConversationScope
from hybrid_core.types.documents import Document
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from tests.indexers.formats.test_archives import mail

MILL = b"# The mill\n\nThe mill was sold to the town in 1987.\n"
LETTER = mail(("report.md", "text/markdown", b"# Report\n\nOf the bridge.\n"))


def opened(home: Path) -> Engine:
    return Engine(settings=load_settings(home, {"PAGEINDEX_WORKERS": "1"}))


def by_name(engine: Engine, library: str) -> dict[str, Document]:
    return {one.name: one for one in run(engine.documents.list(library=library))}


def library_id(engine: Engine, name: str) -> str:
    with engine._catalog().snapshot() as snapshot:
        return snapshot.library(name).id


async def completed(engine: Engine, answer: ConversationMessage) -> ConversationMessage:
    """Wait for an answer, also if a busy machine lets its lease lapse for a while."""
    while answer.status != "complete":
        answer = await engine.conversations.wait(answer.id)
        await asyncio.sleep(0.1)
    return answer


async def converse(engine: Engine, mill: str) -> None:
    """Hold three conversations: one with branches and a title, an empty one of a document, one that is not exported."""
    talk = engine.conversations
    titled = await talk.create(libraries="mills", owner="ann")
    answer = await completed(engine, await talk.ask(titled.id, "When was the mill sold?"))
    await completed(engine, await talk.ask(titled.id, "And to whom?"))
    question = (await talk.messages(titled.id))[0].id
    await completed(engine, await talk.edit(question, "Who bought the mill?"))
    await talk.rename(titled.id, "Sales of mills")
    await talk.turn_to(titled.id, answer.id)
    await talk.create(libraries="mills", documents=[mill], title="Of one document")
    await talk.create(all_libraries=True, title="Of everything")


def conversations(engine: Engine, library: str, doc_ids: dict[str, str]) -> dict[str, Any]:
    """Return all conversations by title, without ids: message ids are counted within each, others are mapped."""
    reader = ConversationReader(engine._catalog())
    listed: dict[str, Any] = {}
    for one in reader.about_only(library):
        messages = reader.messages(one.id)
        at = {message.id: number for number, message in enumerate(messages, 1)} | {0: 0}
        scope = ConversationScope((), tuple(doc_ids[doc_id] for doc_id in one.scope.documents))
        copies = [
            replace(
                message, id=at[message.id], parent=at[message.parent], conversation="", last_event=0,
                citations=tuple(
                    replace(cited, library="", doc_id=doc_ids[cited.doc_id]) for cited in message.citations
                ),
            )
            for message in messages
        ]  # fmt: skip
        listed[one.title] = replace(one, id="", leaf=at[one.leaf], scope=scope), copies
    return listed


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Engine, Path]:
    engine = opened(tmp_path / "from")
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "mill.md").write_bytes(MILL)
    (folder / "deep" / "copy.md").write_bytes(MILL)
    (folder / "offer.eml").write_bytes(bytes(LETTER))
    run(engine.index(folder, library="mills"))
    run(engine.index(b"# Field\n\nOf wheat.\n", name="field.md", library="mills"))
    run(
        engine.documents.edit(
            "mill.md", set={"year": "2008", "title": "About a mill", "tags": "old; sold"}, library="mills"
        )
    )
    if by_name(engine, "mills")["copy.md"].corrections:
        run(engine.documents.edit("copy.md", unset=["year", "title", "tags"], library="mills"))
    run(engine.documents.edit("offer.eml!/report.md", set={"organisation": "Bridges"}, library="mills"))
    library = library_id(engine, "mills")
    there = by_name(engine, "mills")
    engine.notes.add(library, "ann", "Library", "of it all")
    engine.notes.add(library, "ann", "Page", "of a page", there["mill.md"].doc_id, 1)
    engine.notes.add(library, "ann", "Marked", "", there["mill.md"].doc_id, 1, Highlight("the mill", 1, "old"))
    engine.notes.add(library, "bob", "Upload", "of what was sent", there["field.md"].doc_id, 0)
    engine.notes.add(library, "bob", "Member", "of what is inside", there["offer.eml!/report.md"].doc_id, 1)
    engine.feedback.add(library, "ann", "Who?", there["mill.md"].path, 1, right=True, answer="The town.")
    engine.feedback.add(library, "ann", "When?", "", 0, right=False)
    run(engine.libraries.name("mills", alias="The mills"))
    run(converse(engine, there["mill.md"].doc_id))
    run(engine.libraries.export_to(tmp_path / "mills.zip", library="mills"))
    return engine, tmp_path / "mills.zip"


def test_what_people_made_survives(packed: tuple[Engine, Path]) -> None:
    before, file = packed
    after = opened(file.parent / "to")
    run(after.libraries.import_from(file, name="arrived"))
    run(after.jobs.work(enough=lambda: True))
    old, new = by_name(before, "mills"), by_name(after, "arrived")
    assert {name: dict(one.corrections) for name, one in old.items()} == {
        name: dict(one.corrections) for name, one in new.items()
    }
    assert new["mill.md"].title == "About a mill" and new["mill.md"].card.years == (2008,)
    assert not new["copy.md"].corrections
    assert all(one.published and not one.error for one in new.values())
    same_place = {one.doc_id: new[name].doc_id for name, one in old.items()} | {"": ""}
    library, arrived = library_id(before, "mills"), library_id(after, "arrived")
    notes = [replace(one, library=arrived, id="", doc_id=same_place[one.doc_id]) for one in before.notes.all(library)]
    assert sorted(notes, key=repr) == sorted((replace(one, id="") for one in after.notes.all(arrived)), key=repr)
    paths = {one.path: new[name].path for name, one in old.items()} | {"": ""}
    feedback = [
        replace(one, library=arrived, id="", document=paths[one.document]) for one in before.feedback.all(library)
    ]
    assert sorted(feedback, key=repr) == sorted((replace(one, id="") for one in after.feedback.all(arrived)), key=repr)
    talks = conversations(before, library, same_place)
    assert talks == conversations(after, arrived, {one.doc_id: one.doc_id for one in new.values()})
    titled, messages = talks["Sales of mills"]
    assert (set(talks), titled.owner, titled.leaf, len(messages)) == (
        {"Sales of mills", "Of one document"},
        "ann",
        2,
        6,
    )
    assert messages[1].citations and {cited.state for cited in messages[1].citations} == {"current"}
    [copy] = [one for one in run(after.conversations.listed()) if one.title == "Sales of mills"]
    following = run(completed(after, run(after.conversations.ask(copy.id, "When was it sold?"))))
    assert following.citations[0].library == arrived
    for engine in (before, after):
        engine.close()


def test_conversations_of_others_are_left_out(packed: tuple[Engine, Path]) -> None:
    before, file = packed
    own, other = file.with_name("own.zip"), opened(file.parent / "other")
    run(before.libraries.export_to(own, library="mills", owner="bob"))
    assert run(other.libraries.import_from(own)).conversations == 0
    with before._catalog().snapshot() as snapshot:
        assert snapshot.library("The mills").name == "mills"
    [arrived] = run(other.libraries.named())
    assert (arrived.name, arrived.alias) == ("mills", "The mills")
    for engine in (before, other):
        engine.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda talk: talk["messages"].insert(0, {"id": 9, "parent": 99, "role": "assistant"}),
        lambda talk: talk["messages"].extend(
            [*talk["messages"], "no message", {"role": "system", "id": 1, "parent": 0}]
        ),
        lambda talk: talk["messages"][0].update(id=-5, text=["no text"], created_at="yesterday", parent=None),
        lambda talk: talk["messages"][1].update(citations=[{"boxes": [[1]], "number": "x", "place": [1, 2, 3]}, None]),
        lambda talk: talk["messages"][1].update(result={"unknown": 1}, status="running", searched_from="nobody"),
        lambda talk: talk.update(messages={"a": 1}, leaf=10**30, title_from=5, documents="none", owner=None),
        lambda talk: talk.clear(),
    ],
)
def test_a_spoilt_conversation_does_not_stop_an_import(
    packed: tuple[Engine, Path], spoil: Callable[[dict[str, Any]], object]
) -> None:
    before, file = packed
    before.close()
    spoilt = file.with_name("spoilt.zip")
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(spoilt, "w") as target:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "library.json":
                manifest = json.loads(data)
                spoil(next(talk for talk in manifest["conversations"] if talk["messages"]))
                data = json.dumps(manifest).encode()
            target.writestr(name, data)
    after = opened(file.parent / "to")
    assert run(after.libraries.import_from(spoilt, name="arrived")).conversations == 2
    for talk in run(after.conversations.listed()):
        path = run(after.conversations.messages(talk.id))
        assert [message.role for message in path] == (["user", "assistant"] * len(path))[: len(path)]
        assert all(message.status != "running" for message in path)
    after.close()


def test_a_file_of_an_older_version_gives_places_as_well(packed: tuple[Engine, Path]) -> None:
    before, file = packed
    before.close()
    older = file.with_name("older.zip")
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(older, "w") as target:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "library.json":
                manifest = json.loads(data)
                del manifest["corrections"]
                for one in (*manifest["notes"], *manifest["feedback"]):
                    del one["place"]
                data = json.dumps(manifest).encode()
            target.writestr(name, data)
    after = opened(file.parent / "to")
    run(after.libraries.import_from(older, name="arrived"))
    run(after.jobs.work(enough=lambda: True))
    new = by_name(after, "arrived")
    notes = {one.title: (one.doc_id, one.page) for one in after.notes.all(library_id(after, "arrived"))}
    assert notes == {
        "Library": ("", 0), "Page": (new["mill.md"].doc_id, 1), "Upload": (new["field.md"].doc_id, 0),
        "Member": ("", 0), "Marked": (new["mill.md"].doc_id, 1),
    }  # fmt: skip
    after.close()
