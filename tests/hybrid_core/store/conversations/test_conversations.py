"""Conversations in both databases: one turn at a time, leases, branches, citations, events that fold away."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError

from hybrid_core.errors import BusyError, LeaseLostError, NotFoundError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.conversations import tables
from hybrid_core.store.conversations.conversations import (
    ConversationReader,
    ConversationWriter,
    conversations_about,
    forget_library,
)
from hybrid_core.store.conversations.tables import messages
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.types.conversations import Citation, ConversationScope, Summary, TurnResult
from tests.hybrid_core.store.jobs.clocks import Clock
from tests.hybrid_core.store.jobs.conftest import Store

CITED = Citation(
    1, "default", "d1", "tides.pdf", "c1", "s1", 3, "iii", ("Tides", "Spring"), "It is «high».", cited=True
)  # fmt: skip


@pytest.fixture
def reader(store: Store) -> ConversationReader:
    return ConversationReader(store)


@pytest.fixture
def writer(store: Store) -> ConversationWriter:
    return ConversationWriter(store)


@pytest.fixture
def turns(store: Store) -> Turns:
    return Turns(store)


def test_a_turn_is_told_event_by_event_and_replayed_from_rows(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns
) -> None:
    made = writer.create(ConversationScope(("default", "other"), ("d1",)), owner="ann")
    assert reader.listed(owner="ann") == [made] and reader.listed(owner="bob") == []
    fence = turns.begin(made.id, "How high\0 is it?", "w1")
    turns.searches(fence, "How high is the tide?", "model")
    turns.cite(fence, [CITED])
    for piece in ("It is ", "high [[source:1]]."):
        turns.log(fence, [("text", {"text": piece})])
    running = reader.message(fence.message)
    assert (running.status, running.text, running.searched_from) == ("running", "It is high [[source:1]].", "model")
    result = TurnResult(
        "answered", evidence="strong", unsupported=(("It is.", "why"),), notes=("n",), usage={"calls": 1}
    )
    turns.end(fence, "complete", "It is high [[source:1]].", result, [replace(CITED, boxes=((1.0, 2.0, 3.0, 4.0),))])
    asked, answered = reader.path(made.id)
    assert (asked.role, asked.text, asked.parent) == ("user", "How high� is it?", 0)
    assert (answered.parent, answered.status, answered.result) == (asked.id, "complete", result)
    assert answered.citations == (replace(CITED, boxes=((1.0, 2.0, 3.0, 4.0),), state="gone"),)
    told, end = reader.events(fence.message)
    assert [one.kind for one in told] == ["begun", "question", "sources", "text", "text", "ended"]
    assert [one.number for one in told] == [1, 2, 3, 4, 5, 6] and end == answered
    assert reader.events(fence.message, after=4)[0] == told[4:]


def test_one_question_at_a_time(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns, store: Store
) -> None:
    made, other = (writer.create(ConversationScope()) for _ in range(2))
    outcomes: list[object] = []

    def ask() -> None:
        try:
            outcomes.append(turns.begin(made.id, "What?", threading.current_thread().name))
        except BusyError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(not isinstance(one, BusyError) for one in outcomes) == 1
    with pytest.raises(BusyError):
        turns.begin(made.id, "What?", "w", after=0)
    turns.begin(other.id, "What?", "w")
    (running,) = [one for one in reader.path(made.id) if one.status == "running"]
    with pytest.raises(IntegrityError), store.writing() as connection:
        connection.execute(
            insert(messages).values(conversation=made.id, parent=0, role="assistant", status="running", created_at=0)
        )
    assert turns.cancel(running.id) and turns.cancel(running.id)
    with pytest.raises(NotFoundError):
        turns.begin("nobody's", "What?", "w")


def test_a_turn_whose_process_died_is_interrupted_and_taken_again(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns, clock: Clock
) -> None:
    made = writer.create(ConversationScope())
    dead = turns.begin(made.id, "What?", "w1")
    turns.log(dead, [("text", {"text": "So far"})])
    clock.seconds += tables.ANSWER_LEASE_MS / 2000
    assert not turns.keep(dead) and turns.expire() == 0
    clock.seconds += tables.ANSWER_LEASE_MS / 1000 + 1
    seen = reader.message(dead.message)
    assert (seen.status, seen.text) == ("interrupted", "So far") and "ended before" in seen.cause
    assert reader.events(dead.message)[1] == seen, "whoever listens hears of it"
    taken = turns.again(dead.message, "w2")
    assert (taken.message, taken.claim) == (dead.message, 2) and turns.expire() == 0
    for late in (lambda: turns.keep(dead), lambda: turns.log(dead, [("text", {"text": "x"})])):
        with pytest.raises(LeaseLostError):
            late()
    with pytest.raises(LeaseLostError):
        turns.end(dead, "complete", "x")
    assert reader.message(dead.message).text == "", "what came of it before counts no more"
    turns.end(taken, "complete", "Whole")
    assert [one.kind for one in reader.events(dead.message)[0]] == ["begun", "text", "ended", "begun", "ended"]
    again = turns.again(dead.message, "w2")
    assert again.message != dead.message and reader.message(again.message).siblings == (dead.message, again.message)


def test_a_clock_that_was_put_back_holds_nobody_up(writer: ConversationWriter, turns: Turns, clock: Clock) -> None:
    made = writer.create(ConversationScope())
    turns.begin(made.id, "What?", "w1")
    clock.seconds -= 3600
    assert turns.expire(made.id) == 1


def test_an_earlier_question_that_is_edited_begins_a_branch(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns
) -> None:
    made = writer.create(ConversationScope())
    answers = []
    for question in ("One?", "Two?"):
        fence = turns.begin(made.id, question, "w")
        turns.end(fence, "complete", question.rstrip("?"))
        answers.append(fence.message)
    edited = turns.begin(made.id, "Other?", "w", after=answers[0])
    turns.end(edited, "complete", "Other")
    path = reader.path(made.id)
    assert [one.text for one in path] == ["One?", "One", "Other?", "Other"] and len(path[2].siblings) == 2
    writer.turn_to(made.id, answers[1])
    assert [one.text for one in reader.path(made.id)] == ["One?", "One", "Two?", "Two"]
    first = turns.begin(made.id, "Else?", "w", after=0)
    assert [one.text for one in reader.path(made.id)] == ["Else?", ""]
    turns.end(first, "complete", "Else")
    with pytest.raises(UsageError):
        turns.begin(made.id, "What?", "w", after=path[2].id)
    with pytest.raises(UsageError):
        writer.turn_to(made.id, path[2].id)
    writer.summarise(Summary(answers[0], "One was said.", "v1"))
    writer.summarise(Summary(answers[0], "One was said again.", "v2"))
    assert reader.summary([one.id for one in path]) == Summary(answers[0], "One was said again.", "v2")
    assert reader.summary([first.message]) is None


def test_events_fold_away_and_a_late_listener_hears_how_it_is(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns, store: Store
) -> None:
    made = writer.create(ConversationScope())
    ended = []
    for number in range(3):
        fence = turns.begin(made.id, f"{number}?", "w")
        turns.end(fence, "complete", str(number))
        ended.append(fence.message)
    with store.writing() as connection:
        tables.fold(connection, limit=1)
    assert [len(reader.events(one)[0]) for one in ended] == [0, 0, 2]
    told, state = reader.events(ended[0], after=1)
    assert told == [] and state is not None and (state.text, state.last_event) == ("0", 2)


def test_a_name_that_a_user_gave_stays(reader: ConversationReader, writer: ConversationWriter) -> None:
    made = writer.create(ConversationScope())
    writer.name(made.id, "By rule", "rule")
    writer.name(made.id, "Mine", "user")
    writer.name(made.id, "By model", "model")
    assert reader.conversation(made.id).title == "Mine"
    with pytest.raises(NotFoundError):
        writer.name("nobody's", "x", "user")


def test_what_was_said_stays_when_its_library_goes(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns, store: Store
) -> None:
    alone, both, everything = (writer.create(ConversationScope(one)) for one in (("a",), ("a", "b"), ()))
    fence = turns.begin(alone.id, "What?", "w")
    turns.end(fence, "complete", "That.", sources=[replace(CITED, library="a")])
    with store.writing() as connection:
        assert conversations_about(connection, "a") == 2 and conversations_about(connection, "b") == 1
        forget_library(connection, "a")
    scopes = {one.id: one.scope.libraries for one in reader.listed()}
    assert scopes == {alone.id: ("a",), both.id: ("b",), everything.id: ()}, "none is about everything now"
    assert reader.message(fence.message).text == "That."
    assert [one.state for one in reader.message(fence.message).citations] == ["gone"]


def test_a_citation_says_what_became_of_its_document(
    reader: ConversationReader, writer: ConversationWriter, turns: Turns, store: Store
) -> None:
    content = {
        "content_id": "c1", "sha256": "s1", "format": "pdf", "pages": 3, "sections": 1, "title": "", "description": "",
        "metadata": "{}", "warnings": "[]",
    }  # fmt: skip
    document = {
        "doc_id": "d1", "library": "default", "path": "/tides.pdf", "name": "tides.pdf", "content_id": "c1",
        "card": "{}", "size": 1, "mtime": 0.0, "indexed_at": "", "error": "",
    }  # fmt: skip
    with store.writing() as connection:
        connection.execute(insert(schema.libraries).values(id="default", name="default", created_at=""))
        connection.execute(insert(schema.contents).values(**content))
        connection.execute(insert(schema.documents).values(**document))
    made = writer.create(ConversationScope(("default",)))
    fence = turns.begin(made.id, "What?", "w")
    turns.end(fence, "complete", "It.", sources=[CITED])

    def state() -> str:
        (citation,) = reader.message(fence.message).citations
        assert replace(citation, state="current") == CITED, "it stays readable"
        return citation.state

    assert state() == "current"
    with store.writing() as connection:
        connection.execute(update(schema.contents).values(sha256="s2"))
    assert state() == "changed"
    with store.writing() as connection:
        connection.execute(delete(schema.documents))
    assert state() == "gone"
    writer.locate(fence.message, 1, [(1, 2, 3, 4)])
    assert reader.message(fence.message).citations[0].boxes == ((1, 2, 3, 4),)


def test_lists_go_on_where_they_ended(reader: ConversationReader, writer: ConversationWriter) -> None:
    made = [writer.create(ConversationScope(), title=str(number)) for number in range(5)]
    first = reader.listed(limit=2)
    rest = reader.listed(before=(first[-1].updated_at, first[-1].id))
    assert {one.id for one in (*first, *rest)} == {one.id for one in made} and len(first) + len(rest) == 5
