"""Jobs through the interfaces: what is shown of them, and what somebody decides about them."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import LeaseLostError, NotFoundError, UsageError
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Job, JobProgress, JobRequest, JobUpdate, Worker
from hybrid_pageindex import Engine, run
from tests.conftest import Cli
from tests.interfaces.mcp_client import answer, refusal, stdio


@pytest.fixture
def queue(engine: Engine) -> Iterator[JobQueue]:
    """Three jobs of two libraries, of which nothing is done."""
    run(engine.libraries.create("reports"))
    run(engine.libraries.create("letters"))
    made = JobQueue(engine._catalog())
    made.enqueue([request("/a.pdf"), request("/b.pdf"), request("/c.pdf", "letters", frozenset({"ocr:deu"}))])
    yield made


def request(subject: str, library: str = "reports", needs: frozenset[str] = frozenset()) -> JobRequest:
    return JobRequest(library, "index", subject, "parse", needs=needs)


def states(engine: Engine, library: str | None = None) -> dict[str, str]:
    return {view.job.subject: view.state for view in run(engine.jobs.list(library=library)).jobs}


def claimed(engine: Engine, queue: JobQueue, worker: str = "w") -> Job:
    Workers(engine._catalog()).register(Worker(worker, "here", 1, "worker"))
    [job] = queue.claim(worker, [])
    return job


def test_whether_a_worker_of_this_machine_lives_is_told(engine: Engine, cli: Cli) -> None:
    assert json.loads(cli("migrate", "--schema", "--json").stdout) == {"schema": SCHEMA_VERSION}
    workers = Workers(engine._catalog())
    workers.register(Worker("elsewhere", "another", 1, "worker"))
    workers.register(Worker("command", platform.node(), 1, "command"))
    assert cli("worker", "--alive").returncode == 1
    workers.register(Worker("here", f"{platform.node()}:home", 1, "worker"))
    alive = cli("worker", "--alive")
    assert (alive.returncode, alive.stdout) == (0, "1 worker of this machine\n")


def test_waiting_is_said_with_what_for(engine: Engine, queue: JobQueue) -> None:
    none = "waiting for a worker, but none is running"
    assert states(engine) == {"/a.pdf": none, "/b.pdf": none, "/c.pdf": none}
    job = claimed(engine, queue)
    assert states(engine) == {"/a.pdf": "parse", "/b.pdf": "next", "/c.pdf": "waiting for a worker that has ocr:deu"}
    queue.progress([JobProgress(job.fence, 7, 42)])
    queue.enqueue([request("/d.pdf")])
    assert states(engine, "reports") == {
        "/a.pdf": "parse, page 7 of 42", "/b.pdf": "next", "/d.pdf": "waiting behind 2 other jobs",
    }  # fmt: skip
    queue.fail(job.fence, "the disk was full.")
    assert states(engine)["/a.pdf"] in {
        f"tried again in {seconds} s, after 1 failure: the disk was full." for seconds in (1, 0)
    } | {"next"}
    listed = run(engine.jobs.list(library="letters"))
    assert (listed.counts.waiting, len(listed.jobs), [worker.id for worker in listed.workers]) == (1, 1, ["w"])


def test_only_what_gives_no_sign_of_life_is_stalled(engine: Engine, queue: JobQueue) -> None:
    job = claimed(engine, queue)
    with engine._catalog().writing() as connection:
        connection.exec_driver_sql("UPDATE jobs SET lease_until = 1, heartbeat_at = heartbeat_at - 75000 WHERE id = 1")
    shown = run(engine.jobs.list()).jobs
    assert [view.job.stalled for view in shown] == [True, False, False]
    assert shown[0].job.id == job.id and shown[0].state.startswith("stalled: its worker has not responded for 7")


def test_decisions_about_one_a_library_or_all(engine: Engine, queue: JobQueue) -> None:
    assert run(engine.jobs.pause(1)).said == "Job 1: paused until resumed."
    assert run(engine.jobs.pause(library="letters")).said == "Library letters: paused until resumed."
    assert list(states(engine).values()).count("paused") == 2
    assert run(engine.jobs.list()).paused == ("job 1", "library letters")
    job = claimed(engine, queue)
    assert job.subject == "/b.pdf"
    run(engine.jobs.pause(everything=True))
    assert states(engine)["/b.pdf"] == "parse, pausing after its current pages"
    assert run(engine.jobs.resume(everything=True)).said == "All jobs: resumed."
    assert run(engine.jobs.resume(1)).said == "Job 1: not paused."
    cancelled = run(engine.jobs.cancel(library="reports"))
    assert cancelled.said == "2 jobs cancelled; 1 of them still run and end within seconds. Published documents stay."
    assert states(engine, "reports") == {
        "/b.pdf": "ending, because it was cancelled",
        "/a.pdf": "cancelled: The job was cancelled.",
    }
    queue.advance(job.fence, JobUpdate("cancelled", cause="The job was cancelled."))
    assert run(engine.jobs.retry(library="reports")).jobs == (), "what was cancelled stays so unless it is named"
    assert run(engine.jobs.retry(1, 2)).said == "2 jobs wait again."
    with pytest.raises(UsageError, match=r"Job 1 cannot be deleted, because it has not ended.*Cancel the job first"):
        run(engine.jobs.forget(1))
    run(engine.jobs.cancel(everything=True))
    assert run(engine.jobs.forget(everything=True)).said == "3 jobs deleted from the list."
    assert run(engine.jobs.list()).jobs == ()


def test_what_is_meant_has_to_be_said(engine: Engine, queue: JobQueue) -> None:
    for decide in (engine.jobs.pause, engine.jobs.resume, engine.jobs.cancel, engine.jobs.retry, engine.jobs.forget):
        with pytest.raises(UsageError, match="does not say which jobs"):
            run(decide())
        with pytest.raises(UsageError, match="does not say which jobs"):
            run(decide(1, library="reports"))
        with pytest.raises(NotFoundError, match="Job 99 does not exist"):
            run(decide(99))
        with pytest.raises(NotFoundError, match="The library 'nowhere' does not exist"):
            run(decide(library="nowhere"))
    with pytest.raises(UsageError, match="'lost' is not the status of a job"):
        run(engine.jobs.list(status=["lost"]))  # type: ignore[list-item]


def test_a_job_tells_its_history(engine: Engine, queue: JobQueue) -> None:
    job = claimed(engine, queue)
    queue.fail(job.fence, "it is encrypted", final=True)
    told = run(engine.jobs.get(job.id)).to_dict()
    assert (told["status"], told["state"], told["library"]) == ("failed", "failed: it is encrypted", "reports")
    assert [event["kind"] for event in told["events"]] == ["enqueued", "claimed", "failed"]
    assert told["events"][1]["worker"] == "w" and told["events"][0]["at"] == told["created_at"]


def test_removing_and_clearing_take_the_work_away(engine: Engine, filings: list[Path]) -> None:
    run(engine.index(filings[:2], library="reports"))
    queue = JobQueue(engine._catalog())
    queue.enqueue([request(str(filings[0]))])
    job = claimed(engine, queue)
    run(engine.documents.remove([filings[0].name], library="reports"))
    with pytest.raises(LeaseLostError):
        queue.advance(job.fence, JobUpdate("done"))
    assert run(engine.jobs.get(job.id)).view.state == "cancelled: The document was removed."
    queue.enqueue([request(str(filings[1]))])
    job = claimed(engine, queue)
    run(engine.jobs.pause(library="reports"))
    run(engine.libraries.clear(library="reports"))
    with pytest.raises(LeaseLostError):
        queue.advance(job.fence, JobUpdate("done"))
    assert run(engine.jobs.list()).jobs == () and run(engine.jobs.list()).paused == ()


def test_the_command_line_says_the_same(engine: Engine, queue: JobQueue, cli: Cli) -> None:
    listed = cli("jobs")
    assert listed.returncode == 0 and "a.pdf" in listed.stdout and "3 waiting" in listed.stdout
    told = json.loads(cli("jobs", "list", "--library", "letters", "--json").stdout)
    assert [(job["id"], job["status"]) for job in told["jobs"]] == [(3, "waiting")] and told["counts"]["waiting"] == 1
    assert cli("jobs", "pause", "--all").stdout == "All jobs: paused until resumed.\n"
    assert "paused everything: continue with 'jobs resume'" in cli("jobs").stdout
    assert json.loads(cli("jobs", "resume", "--all", "--json").stdout)["said"] == "All jobs: resumed."
    assert "2 jobs cancelled" in cli("jobs", "cancel", "1", "2").stdout
    assert cli("jobs", "list", "--status", "cancelled", "--status", "failed").stdout.count("cancelled:") == 2
    assert "enqueued" in cli("jobs", "show", "1").stdout
    unclear = cli("jobs", "cancel")
    assert unclear.returncode == 2 and "does not say which jobs to change" in unclear.stderr
    assert cli("jobs", "show", "77").returncode == 1


def test_a_command_that_waits_for_what_is_paused_says_so(engine: Engine, filings: list[Path]) -> None:
    run(engine.jobs.pause(everything=True))
    command = [sys.executable, "-m", "hybrid_pageindex", "--home", engine.home, "index", filings[0], "--workers", "1"]
    waiting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert waiting.stderr is not None
    said = ""
    while "paused" not in said:
        said = waiting.stderr.readline()
        assert said, "it ended"
    assert "when its job is resumed" in said and run(engine.jobs.list()).jobs[0].state == "paused"
    run(engine.jobs.resume(everything=True))
    assert waiting.wait(600) == 0 and len(run(engine.documents.list())) == 1
    waiting.stderr.close()


def test_agents_see_and_decide_and_a_read_only_server_shows_only(engine: Engine, queue: JobQueue) -> None:
    with stdio(engine.home, "--read-only") as reader:
        shown = answer(reader.call("jobs"))["jobs"]
        assert [job["job"] for job in shown] == [1, 2, 3] and shown[0]["state"].startswith("waiting for a worker")
        events = answer(reader.call("jobs", action="show", jobs=[2]))["jobs"][0]["events"]
        assert events[0].endswith("enqueued")
        assert "read-only" in refusal(reader.call("jobs", action="cancel", jobs=[2]))
    run(engine.jobs.pause(everything=True))  # nothing is begun meanwhile
    with stdio(engine.home, "--root", engine.home) as agent:
        assert answer(agent.call("jobs"))["said"] == "paused: everything"
        assert answer(agent.call("jobs", action="cancel", jobs=[2]))["jobs"] == [2]
        assert answer(agent.call("jobs", action="cancel", library="letters"))["jobs"] == [3]
        assert "Job 99 does not exist" in refusal(agent.call("jobs", action="show", jobs=[99]))


def test_agents_have_documents_made_anew(engine: Engine, filings: list[Path]) -> None:
    run(engine.index(filings[:2], workers=1))
    before = {document.name: document.content_id for document in run(engine.documents.list())}
    with stdio(engine.home, "--root", engine.home) as agent:
        said = answer(agent.call("jobs", action="rebuild", documents=[filings[0].name]))["said"]
        assert "1 file left to workers" in said
        until = time.monotonic() + 600
        while any(job["state"].partition(":")[0] != "done" for job in answer(agent.call("jobs"))["jobs"]):
            assert time.monotonic() < until
            time.sleep(0.2)
    after = {document.name: document.content_id for document in run(engine.documents.list())}
    assert [name for name in before if before[name] != after[name]] == [filings[0].name]
