"""Parse the command line. It imports only the fields of the settings, so that ``--help`` answers at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.requests import OPTIONS
from hybrid_pageindex import __version__
from hybrid_pageindex.config.options import add_option, count

PLUGIN_GROUP = "hybrid_pageindex.commands"
PROGRAM = "hybrid-pageindex"


def build_parser(typed: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser. ``typed`` holds the arguments; they decide whether commands of other packages are loaded."""
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument(
        "--home", metavar="DIR", help="where everything is kept (PAGEINDEX_STORAGE_PATH, else ~/.pageindex)"
    )
    common.add_argument("--json", action="store_true", help="print JSON for programs")
    scoped = _Parser(add_help=False, argument_default=argparse.SUPPRESS, parents=[common])
    add_option(scoped, "library", "-L", metavar="NAME")

    parser = _Parser(
        PROGRAM,
        description="Find the right pages of long documents. Start with: index FILES, then search QUESTION.",
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    index = commands.add_parser("index", parents=[scoped], help="index files, folders and globs")
    index.add_argument(
        "paths", nargs="*", metavar="PATH",
        help="- is standard input; none: what libraries were indexed from is brought up to date",
    )  # fmt: skip
    index.add_argument("--name", metavar="NAME", help="what standard input is, for example notes.md")
    add_option(index, "workers", metavar="N")
    index.add_argument("--password", metavar="P", help="password of encrypted files")
    index.add_argument("--prune", action="store_true", help="remove documents below PATH whose file is gone")
    index.add_argument(
        "--check-hashes", action="store_true", help="read files also where size, times and inode say they are unchanged"
    )
    add_option(index, "outline")
    add_option(index, "vision")
    add_option(index, "enrich")
    index.add_argument(
        "--estimate", action="store_const", const="estimate", dest="enrich",
        help="ask no model, but say what they would be asked: pages, calls, tokens, price",
    )  # fmt: skip
    index.add_argument("--detach", action="store_true", help="only ask for it: workers index the files")
    index.add_argument("--upload", action="store_true", help="keep copies, which workers of other machines can read")

    worker = commands.add_parser("worker", parents=[common], help="do what waits, for whoever asked, until stopped")
    worker.add_argument("--watch", action="store_true", help="also keep libraries up to date with watched folders")
    worker.add_argument("--concurrency", type=count, metavar="N", help="files read at once (default: one a core)")
    worker.add_argument("--only", choices=["index", "embed"], help="do jobs of this kind alone")
    worker.add_argument("--alive", action="store_true", help="only ask whether one of this machine gives signs of life")

    watch = commands.add_parser("watch", parents=[scoped], help="keep libraries up to date with their folders")
    watching = watch.add_subparsers(dest="action", metavar="ACTION")
    add = watching.add_parser("add", parents=[scoped], help="watch a folder from now on")
    add.add_argument("folder", metavar="FOLDER")
    add.add_argument("--poll", action="store_true", help="look again and again; by itself on network drives")
    add_option(add, "outline")
    add_option(add, "vision")
    add_option(add, "enrich")
    watching.add_parser("list", parents=[scoped], help="where documents come from, and which folders are watched")
    unwatch = watching.add_parser("remove", parents=[scoped], help="watch a folder no longer (its documents stay)")
    unwatch.add_argument("folder", metavar="FOLDER")
    unwatch.add_argument("--forget", action="store_true", help="nor let index without a PATH look at it")

    embed = commands.add_parser("embed", parents=[scoped], help="give the documents of a library vectors")
    embed.add_argument(
        "--embedder",
        metavar="MODEL",
        help="onnx:NAME|PATH, bge-m3[:PATH], sentence-transformers:NAME|PATH, openai:MODEL, hashed:DIM; "
        "none takes vectors away",
    )
    embed.add_argument("--export", metavar="FOLDER", help="write that model as one for onnx:FOLDER, and embed nothing")
    embed.add_argument("--resume", action="store_true", help="go on with the embedder that is recorded")

    question_options = _Parser(add_help=False, parents=[common])
    question_options.add_argument("question", metavar="QUESTION", nargs="+")
    for name in OPTIONS:
        add_option(question_options, name, *(("-L",) if name == "libraries" else ()))
    search = commands.add_parser("search", parents=[question_options], help="get the pages that answer, with receipts")
    search.add_argument("--why", action="store_true", help="show each score's parts, terms (stems) and NodeScore")
    ask = commands.add_parser(
        "ask", parents=[question_options], help="get an answer with its sources (needs a language model)"
    )
    ask.add_argument(
        "--vision", action=argparse.BooleanOptionalAction, help="send pictures of all pages along, or of none"
    )
    ask.add_argument("--force", action="store_true", help="ask the model also where there is no evidence")

    grep = commands.add_parser("grep", parents=[common], help="count and list every page that holds words")
    grep.add_argument("pattern", metavar="PATTERN", help="a word, a phrase, or the beginning of a word: 'indemnif*'")
    grep.add_argument("--regex", action="store_true", help="PATTERN is a regular expression (RE2)")
    for name in ("libraries", "all_libraries", "documents", "where"):
        add_option(grep, name, *(("-L",) if name == "libraries" else ()))
    grep.add_argument("--node", default="", metavar="NODE", help="only this section of the one --doc")
    grep.add_argument("--count", action="store_true", help="list documents with their counts instead of pages")
    grep.add_argument("--most", type=count, default=20, metavar="N", help="how many are listed (default: 20)")
    grep.add_argument("--context", type=int, default=0, metavar="N", help="lines before and after a match")
    grep.add_argument("--cursor", default="", metavar="C", help="go on behind what was listed")

    compare = commands.add_parser("compare", parents=[scoped], help="what differs between two documents")
    compare.add_argument("left", metavar="OLD")
    compare.add_argument("right", metavar="NEW")
    compare.add_argument("--right-library", metavar="NAME", help="the library of NEW, where it is another one")
    compare.add_argument("--left-node", default="", metavar="NODE", help="only this section of OLD")
    compare.add_argument("--right-node", default="", metavar="NODE", help="only this section of NEW")
    compare.add_argument("--most", type=count, default=50, metavar="N", help="sections to list (default: 50)")
    compare.add_argument("--each", type=count, default=20, metavar="N", help="changes of a section (default: 20)")
    compare.add_argument("--cursor", default="", metavar="C", help="go on behind what was listed")

    chat = commands.add_parser("chat", parents=[common], help="ask questions that go on from each other; they are kept")
    chat.add_argument("--continue", dest="go_on", metavar="ID", help="go on with one that was kept")
    for name in ("libraries", "all_libraries", "documents", "effort", "top_k", "expert"):
        add_option(chat, name, *(("-L",) if name == "libraries" else ()))
    chats = chat.add_subparsers(dest="action", metavar="ACTION")
    listed_chats = chats.add_parser(
        "list", parents=[common], help="the conversations that are kept, the last used first"
    )
    listed_chats.add_argument("--most", type=count, default=50, metavar="N", help="how many are shown (default: 50)")
    listed_chats.add_argument("--find", default="", metavar="WORDS", help="of the title, a question or an answer")
    read = chats.add_parser("show", parents=[common], help="what was asked and answered")
    read.add_argument("conversation", metavar="ID")
    export = chats.add_parser("export", parents=[common], help="write a conversation as Markdown or JSON")
    export.add_argument("conversation", metavar="ID")
    export.add_argument("--format", choices=("markdown", "json"), default="markdown")
    export.add_argument("--to", metavar="FILE", help="default: standard output")
    drop = chats.add_parser("remove", parents=[common], help="delete conversations with all that was said")
    drop.add_argument("conversations", nargs="+", metavar="ID")

    brief = commands.add_parser(
        "briefing", parents=[scoped], help="what a document or a library is, and what to ask it"
    )
    brief.add_argument("document", metavar="DOC", nargs="?", help="default: the library")
    brief.add_argument("--model", action="store_true", help="as the language model says it")

    outline = commands.add_parser("outline", parents=[scoped], help="a document's section tree")
    outline.add_argument("document", metavar="DOC")
    outline.add_argument("--depth", type=count, metavar="N", help="levels to show")
    outline.add_argument("--query", metavar="Q", help="score every section for a question, as search does")
    add_option(outline, "expert")
    outline.add_argument("--format", choices=("text", "json", "pageindex"), default="text")
    outline.add_argument("--text", action="store_true", help="with the text of every section (json, pageindex)")

    page = commands.add_parser("page", parents=[scoped], help="read pages: text, summary, place in the tree")
    page.add_argument("document", metavar="DOC")
    page.add_argument("pages", metavar="PAGES", help="for example 3,7-9, or a place like 'slide 3'")
    page.add_argument("--quote", metavar="WORDS", help="find a place again by its words, where they stand now")
    page.add_argument("--image", metavar="FILE.png", help="also draw the page; .jpg for JPEG")
    page.add_argument(
        "--view", choices=("page", "office"), default="page", help="office: --image as LibreOffice prints it"
    )
    page.add_argument("--tables", action="store_true", help="write its tables in Markdown")
    page.add_argument("--password", metavar="P", help="password of an encrypted original")

    viewed = commands.add_parser("open", parents=[scoped], help="show the original in the system's viewer")
    viewed.add_argument("document", metavar="DOC")
    viewed.add_argument("--page", type=count, metavar="N", help="begin there, where the viewer can")

    listing = commands.add_parser("list", parents=[scoped], help="the documents of a library")
    listing.add_argument("--where", action="append", default=[], metavar="KEY=VALUE")

    info = commands.add_parser("info", parents=[scoped], help="everything known of a document, or of the whole home")
    info.add_argument("document", nargs="?", metavar="DOC")

    edit = commands.add_parser("edit", parents=[scoped], help="correct by hand what a document is")
    edit.add_argument("document", metavar="DOC")
    edit.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE",
        help="title, organisation, year, quarter, date, type or tags; stays when the file is indexed again",
    )  # fmt: skip
    edit.add_argument("--unset", action="append", default=[], metavar="FIELD", help="take a correction back")

    remove = commands.add_parser("remove", parents=[scoped], help="remove documents (original files stay)")
    remove.add_argument("documents", nargs="+", metavar="DOC")
    remove.add_argument("--for-good", action="store_true", help="delete them now, not after 30 days in the bin")

    trash = commands.add_parser("bin", parents=[common], help="what was removed in the last 30 days; restore it")
    choices = trash.add_subparsers(dest="action", metavar="ACTION")
    choices.add_parser("list", parents=[common], help="what can be restored, the newest first")
    back = choices.add_parser("restore", parents=[common], help="bring documents or a library back as they were")
    back.add_argument("entry", metavar="ENTRY")
    empty = choices.add_parser("empty", parents=[common], help="delete an entry for good, or all with --yes")
    empty.add_argument("entry", nargs="?", metavar="ENTRY")
    empty.add_argument("--yes", action="store_true", help="really delete whatever is in the bin")

    libraries = commands.add_parser("libraries", parents=[common], help="all libraries, the last used first; name them")
    libraries.add_argument("--find", default="", metavar="TEXT", help="only those whose name or alias holds this")
    actions = libraries.add_subparsers(dest="action", metavar="ACTION")
    create = actions.add_parser("create", parents=[common], help="make an empty library")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--alias", default="", metavar="ALIAS", help="a second name, in any script")
    rename = actions.add_parser(
        "rename", parents=[common], help="give a library another name; nothing is indexed again"
    )
    rename.add_argument("name", metavar="NAME")
    rename.add_argument("new", metavar="NEW")
    alias = actions.add_parser("alias", parents=[common], help="give a library a second name, in any script")
    alias.add_argument("name", metavar="NAME")
    alias.add_argument("alias", metavar="ALIAS", help="'' takes it away")

    jobs = commands.add_parser("jobs", parents=[scoped], help="what is being indexed and what waits; decide about it")
    decisions = jobs.add_subparsers(dest="action", metavar="ACTION")
    listed = decisions.add_parser("list", parents=[scoped], help="running, waiting and ended jobs")
    listed.add_argument("--status", action="append", default=[], metavar="S", help="only these; several times for more")
    listed.add_argument("--most", type=count, default=50, metavar="N", help="how many are shown (default: 50)")
    shown = decisions.add_parser("show", parents=[common], help="a job with all that happened to it")
    shown.add_argument("job", type=count, metavar="JOB")
    for name, what in (
        ("pause", "leave jobs as they are until resumed"), ("resume", "let paused jobs go on"),
        ("cancel", "end jobs; what was published stays"), ("retry", "try failed jobs again"),
        ("forget", "delete what is kept of ended jobs"),
    ):  # fmt: skip
        decision = decisions.add_parser(name, parents=[scoped], help=what)
        decision.add_argument("jobs", nargs="*", type=count, metavar="JOB")
        decision.add_argument("--all", action="store_true", help="all jobs of all libraries")

    rebuild = commands.add_parser("rebuild", parents=[scoped], help="make documents anew, or a library, from the files")
    rebuild.add_argument("documents", nargs="*", metavar="DOC", help="none: all of the library that is named")
    rebuild.add_argument("--all", action="store_true", help="all libraries")
    rebuild.add_argument("--index", action="store_true", help="only the search index, from the catalog")
    rebuild.add_argument("--detach", action="store_true", help="leave it to workers")
    rebuild.add_argument("--password", metavar="P", help="password of encrypted files")
    add_option(rebuild, "workers", metavar="N")

    clear = commands.add_parser("clear", parents=[scoped], help="delete a library, or all of them")
    clear.add_argument("--yes", action="store_true", help="really delete")
    clear.add_argument("--for-good", action="store_true", help="delete the library now, not after 30 days in the bin")

    migrate = commands.add_parser(
        "migrate", parents=[scoped], help="move vector indexes, or the catalog, to a server or back"
    )
    target = migrate.add_mutually_exclusive_group(required=True)
    target.add_argument("--to", choices=("server", "embedded"), help="where to build the vector indexes")
    target.add_argument(
        "--catalog", metavar="URL", help="a PostgreSQL database to copy the catalog to; sqlite: to the home"
    )
    target.add_argument("--objects", action="store_true", help="bring this home's originals to the bucket")
    target.add_argument("--replicas", action="store_true", help="copy what a node of the Qdrant cluster has lost")
    target.add_argument("--schema", action="store_true", help="only bring the catalog to this version")

    mcp = commands.add_parser("mcp", parents=[common], help="serve agents: Model Context Protocol on stdio or HTTP")
    mcp.add_argument("--http", metavar="HOST:PORT", help="streamable HTTP at /mcp instead of stdio")
    mcp.add_argument("--root", action="append", default=[], metavar="DIR", help="files below it may be read")
    mcp.add_argument("--read-only", action="store_true", help="never change a library")
    mcp.add_argument("--allow-origin", action="append", default=[], metavar="URL", help="a web origin that may call")
    mcp.add_argument("--max-tokens", type=count, default=5000, metavar="N", help="of one answer (default: 5000)")
    mcp.add_argument("--install", metavar="CLIENT", help="write its entry: claude-desktop, cursor, … (see docs/mcp.md)")

    serve = commands.add_parser("serve", parents=[common], help="serve programs and browsers: an HTTP API, and /mcp")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8323, help="port; 0: a free one (default: 8323)")
    serve.add_argument("--token", default="", metavar="TOKEN", help="to sign in with (http_token, else random)")
    serve.add_argument("--open", action="store_true", help="open it in the browser")
    serve.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="files below it may be indexed by path"
    )
    serve.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name that it answers to")
    serve.add_argument("--allow-origin", action="append", default=[], metavar="URL", help="a web origin that may call")
    serve.add_argument("--user-header", default="", metavar="NAME", help="in which a trusted proxy names the user")
    serve.add_argument("--trust-proxy", action="append", default=[], metavar="IP", help="that proxy's address")

    token = commands.add_parser("token", parents=[common], help="who may call serve: make, list, revoke tokens")
    tokens = token.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = tokens.add_parser("create", parents=[common], help="make one; it is shown once")
    new.add_argument("name", metavar="NAME")
    new.add_argument("--role", choices=("read", "write", "admin"), default="read", help="(default: read)")
    new.add_argument(
        "--library", "-L", action="append", default=[], metavar="NAME[=ROLE]", help="only this one (repeatable)"
    )
    new.add_argument("--days", type=float, default=0, metavar="N", help="it is valid (default: until revoked)")
    new.add_argument("--user", action="store_true", help="whom a trusted proxy names so, without a secret")
    tokens.add_parser("list", parents=[common], help="tokens and signed-in browsers, without their secrets")
    revoke = tokens.add_parser("revoke", parents=[common], help="let one be valid no longer")
    revoke.add_argument("name", metavar="NAME|ID")

    usage = commands.add_parser("usage", parents=[common], help="what models took: tokens and cost")
    usage.add_argument("--since", default="", metavar="DAY", help="YYYY-MM-DD (default: this month)")
    usage.add_argument("--until", default="", metavar="DAY", help="the last day")

    doctor = commands.add_parser("doctor", parents=[common], help="check that everything works")
    doctor.add_argument("--deep", action="store_true", help="compare every stored page with its file")
    doctor.add_argument("--mend", action="store_true", help="compare, and index again what differs")

    commands.add_parser("recover", parents=[common], help="save what a damaged or missing catalog still has")

    if needs_plugins(typed, list(commands.choices)):
        for name, command in plugin_commands():
            other = commands.add_parser(name, help=command.help, description=command.help)
            command.add_arguments(other)
            other.set_defaults(run_command=command.run)
    return parser


def wants_json(typed: Sequence[str]) -> bool:
    """Return whether ``--json`` was typed, even if the other arguments are invalid."""
    options = typed[: typed.index("--")] if "--" in typed else typed
    return "--json" in options


class _Parser(argparse.ArgumentParser):
    """Raise UsageError instead of ending the process, so that ``--json`` is answered with JSON."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **(options | {"allow_abbrev": False}))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise UsageError(f"{message}.", f"See {self.prog} --help.")


def needs_plugins(typed: Sequence[str], known_commands: Sequence[str]) -> bool:
    """Return whether no command is typed, or one that is not in ``known_commands``."""
    words = iter(typed)
    for word in words:
        if word == "--home":
            next(words, None)
        elif not word.startswith("-"):
            return word not in known_commands
    return True


def plugin_commands() -> Iterator[tuple[str, PluginCommand]]:
    """Yield (name, command) of every installed plugin."""
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry: entry.name):
        try:
            yield entry.name, entry.load()
        except (ImportError, AttributeError) as error:
            yield entry.name, _BrokenCommand(entry.name, error)


class PluginCommand(Protocol):
    """A command of an entry point. ``run`` returns the exit code and may raise PageIndexError."""

    @property
    def help(self) -> str: ...
    @property
    def add_arguments(self) -> Callable[[argparse.ArgumentParser], None]: ...
    @property
    def run(self) -> Callable[[argparse.Namespace], int]: ...


class _BrokenCommand:
    """Stand for a command whose package cannot be imported, so that the others still work."""

    def __init__(self, name: str, error: Exception) -> None:
        self.help = f"(cannot be loaded: {' '.join(str(error).split())})"
        self._name = name

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)

    def run(self, _: argparse.Namespace) -> int:
        raise PageIndexError(f"The command {self._name} {self.help.strip('()')}.", "Repair the package it comes from.")
