"""Measure the MCP server over stdio: overhead, start time, tokens, and an agent that only follows hints.

    python -m benchmarks mcp_figures [--data DIR] [--home DIR] [--runs 5] [--expert auto|none] [--json]
    python -m benchmarks mcp_figures --folders DIR … [--documents 10] [--questions 5] [--home DIR] [--json]

The agent uses no model. It searches for the question. Then it repeatedly follows the first unused hint of the newest
answer that has one. For each number of calls, "named" counts the questions for which an answer mentioned a gold page (a
page that answers the question). "read" counts those for which an answer contained the page's text. Tokens are estimated
with the rule of the server's budget.

With --folders, one library is mixed from several question sets, and only tokens are measured: of a search, of reading
its first page, and of each field of the two answers. A folder has questions.jsonl (question, evidence with doc) and the
documents in docs/ or pdfs/.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from benchmarks.filings import indexed, options_of
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.payloads import count_json_tokens, count_tokens
from hybrid_pageindex.mcp.server import build_server

_CALLS = 3


def program(home: Path) -> StdioTransport:
    arguments = ["-m", "hybrid_pageindex", "--home", str(home), "mcp", "--read-only"]
    return StdioTransport(sys.executable, arguments, env=dict(os.environ))


async def call(client: Client[Any], tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Call a tool. Return its answer, and the number of tokens that a model would read."""
    result = await client.call_tool(tool, arguments)
    return result.structured_content or {}, sum(count_tokens(getattr(part, "text", "")) for part in result.content)


def shown(answer: dict[str, Any]) -> Iterator[tuple[str, int, bool]]:
    """Yield (document, page, whether the text is included) for each page in an answer."""
    named = [*answer.get("documents", []), *(page for page in answer.get("results", []) if "document" in page)]
    ids = {document["doc_id"]: document["document"] for document in named}
    for page in answer.get("results", []):
        yield ids[page["doc_id"]], page["page"], False
    for page in answer.get("pages", []):
        yield answer["document"], page["page"], True
    for node in answer.get("nodes", []):
        name = ids[node["doc_id"]] if "doc_id" in node else next(iter(ids.values()))
        for page in node.get("best_pages", []):
            yield name, page, False


async def agent(client: Client[Any], question: str) -> list[set[tuple[str, int, bool]]]:
    """Run the agent, and return the pages that it has seen after each of its calls."""
    hint_rounds = [[{"tool": "search", "arguments": {"question": question}}]]  # hints by answer, the newest last
    seen: set[tuple[str, int, bool]] = set()
    after = []
    for _ in range(_CALLS):
        if hints := next((hints for hints in reversed(hint_rounds) if hints), None):
            hint = hints.pop(0)
            answer, _ = await call(client, hint["tool"], hint["arguments"])
            hint_rounds.append(answer.get("next", []))
            seen |= set(shown(answer))
        after.append(set(seen))
    return after


async def conversation(client: Client[Any], question: str) -> dict[str, int]:
    """Return the tokens of the tool list, a search, the outline of its best document, and the text of its best
    pages.
    """
    tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in await client.list_tools()]
    answer, searched = await call(client, "search", {"question": question})
    tree = {"document": answer["results"][0]["doc_id"], "question": question}
    _, outlined = await call(client, "outline", tree)
    _, read = await call(client, "read", answer["next"][0]["arguments"])
    listed = count_tokens(json.dumps(tools, ensure_ascii=False, separators=(",", ":")))
    return {"tools": listed, "search": searched, "outline": outlined, "read": read}


async def first_answer(home: Path, question: str) -> float:
    """Return the seconds from starting the server process until it answers a search."""
    began = time.perf_counter()
    async with Client(program(home)) as client:
        await client.call_tool("search", {"question": question})
        return time.perf_counter() - began


async def measure(home: Path, engine: Engine, questions: list[Any], runs: int) -> dict[str, Any]:
    starts = [await first_answer(home, questions[0].text) for _ in range(runs + 1)]
    inside, through = [], []
    named, read = [0] * _CALLS, [0] * _CALLS
    async with Client(program(home)) as client:
        for question in questions[:5]:  # the first five only warm up
            await call(client, "search", {"question": question.text})
            await engine.search(question.text)
        for question in questions:
            began = time.perf_counter()
            await engine.search(question.text)
            middle = time.perf_counter()
            await call(client, "search", {"question": question.text})
            inside.append((middle - began) * 1000)
            through.append((time.perf_counter() - middle) * 1000)
        some = questions[:: max(len(questions) // 20, 1)]
        conversations = [await conversation(client, question.text) for question in some]
        for question in questions:
            gold = {(gold.document, gold.page) for gold in question.evidence}
            for number, seen in enumerate(await agent(client, question.text)):
                named[number] += any((document, page) in gold for document, page, _ in seen)
                read[number] += any((document, page) in gold for document, page, text in seen if text)
    total = len(questions)
    return {
        "questions": total,
        "first_answer_s": statistics.median(starts[1:]),
        "engine_p50_ms": statistics.median(inside),
        "stdio_p50_ms": statistics.median(through),
        "overhead_p50_ms": statistics.median(b - a for a, b in zip(inside, through, strict=True)),
        **{f"{name}_tokens_p50": statistics.median(c[name] for c in conversations) for name in conversations[0]},
        "conversation_tokens_p50": statistics.median(c["search"] + c["outline"] + c["read"] for c in conversations),
        **{f"named_after_{number + 1}": hits / total for number, hits in enumerate(named)},
        **{f"read_after_{number + 1}": hits / total for number, hits in enumerate(read)},
    }


def mix_sets(folders: Sequence[Path], documents: int, questions: int) -> tuple[list[Path], list[str]]:
    """Choose documents and questions of several sets. Return the files and the questions.

    Of each set these are the first ``documents`` that questions ask about, and one question on each of the first
    ``questions`` documents.
    """
    files, texts = [], []
    for folder in folders:
        pages = folder / "docs" if (folder / "docs").is_dir() else folder / "pdfs"
        by_document: dict[Path, str] = {}
        for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for name in [gold["doc"] for gold in row["evidence"]][:1]:
                path = pages / name if (pages / name).is_file() else pages / f"{name}.pdf"
                by_document.setdefault(path, row["question"])
        chosen = list(by_document.items())[:documents]
        files += [path for path, _ in chosen]
        texts += [question for _, question in chosen[:questions]]
    return files, texts


def tokens_by_field(answer: dict[str, Any]) -> Counter[str]:
    """Return the tokens of each field of an answer.

    Fields of list items are added up under "list.field".
    """
    tokens: Counter[str] = Counter()
    for name, value in answer.items():
        rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
        for row in rows:
            for field, part in row.items():
                tokens[f"{name}.{field}"] += count_json_tokens({field: part})
        if not rows:
            tokens[name] += count_json_tokens({name: value})
    return tokens


async def count_fields(engine: Engine, questions: Sequence[str]) -> dict[str, Any]:
    """Return the median tokens of a search and of reading its first page, and the mean tokens of their fields."""
    searched, read = [], []
    fields: Counter[str] = Counter()
    async with Client(build_server(engine, Access(read_only=True))) as client:
        for question in questions:
            answer, tokens = await call(client, "search", {"question": question})
            searched.append(tokens)
            fields.update({f"search {name}": count for name, count in tokens_by_field(answer).items()})
            for page in answer["results"][:1]:
                answer, tokens = await call(client, "read", {"document": page["doc_id"], "pages": str(page["page"])})
                read.append(tokens)
                fields.update({f"read {name}": count for name, count in tokens_by_field(answer).items()})
    return {
        "questions": len(searched),
        "search_tokens_p50": statistics.median(searched),
        "search_tokens_mean": statistics.mean(searched),
        "read_tokens_p50": statistics.median(read),
        "both_tokens_p50": statistics.median(a + b for a, b in zip(searched, read, strict=False)),
        **{name: count / len(searched) for name, count in fields.most_common()},
    }


def measure_tokens(options: argparse.Namespace) -> dict[str, Any]:
    """Index the mixed library and return its figures."""
    files, questions = mix_sets(options.folders, options.documents, options.questions)
    with tempfile.TemporaryDirectory() as temporary, closing(Engine(Path(options.home or temporary))) as engine:
        run(engine.index(files))
        return asyncio.run(count_fields(engine, questions))


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--folders", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=10, help="of each folder")
    parser.add_argument("--questions", type=int, default=5, help="of each folder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--expert", default="auto")
    options = parser.parse_args()
    os.environ["PAGEINDEX_EXPERT"] = options.expert  # of the engine here and of the servers
    if options.folders:
        figures = measure_tokens(options)
    else:
        with indexed(options) as (home, engine, dataset):
            figures = asyncio.run(measure(home, engine, list(dataset.questions), options.runs))
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps(rounded) if options.json else "\n".join(f"{name:<34}{value}" for name, value in rounded.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
