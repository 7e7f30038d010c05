"""Parse the command line. To keep ``--help`` fast, import only the names and defaults of settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import hybrid_pageindex
from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.requests import OPTIONS
from hybrid_pageindex.config.options import add_option, count

PLUGIN_GROUP = "hybrid_pageindex.commands"
PROGRAM = "hybrid-pageindex"


def build_parser(typed: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of all commands. Load plugin commands only if the arguments ``typed`` need them."""
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument(
        "--home", metavar="DIR", help="home folder for all data (default: PAGEINDEX_STORAGE_PATH, else ~/.pageindex)"
    )
    common.add_argument("--json", action="store_true", help="print JSON for programs")
    scoped = _Parser(add_help=False, argument_default=argparse.SUPPRESS, parents=[common])
    add_option(scoped, "library", "-L", metavar="NAME")

    parser = _Parser(
        PROGRAM,
        description="Find the right pages of long documents. Start with: index FILES, then search QUESTION.",
        parents=[common],
    )
    parser.add_argument("--version", action=_Version, nargs=0, dest=argparse.SUPPRESS, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    index = commands.add_parser("index", parents=[scoped], help="index files, folders and globs")
    index.add_argument(
        "paths", nargs="*", metavar="PATH",
        help='files, folders or globs; - for standard input; without a path, update all libraries '
'from the paths indexed before',
    )  # fmt: skip
    index.add_argument("--name", metavar="NAME", help="file name for standard input, for example notes.md")
    add_option(index, "workers", metavar="N")
    index.add_argument("--password", metavar="P", help="password of encrypted files")
    index.add_argument("--prune", action="store_true", help="remove documents below PATH whose file is missing")
    index.add_argument(
        "--check-hashes", action="store_true", help="read every file, even if its size and times have not changed"
    )
    add_option(index, "outline")
    add_option(index, "vision")
    add_option(index, "enrich")
    index.add_argument(
        "--estimate", action="store_const", const="estimate", dest="enrich",
        help='print how many pages, calls and tokens models would need, and the cost, without '
'calling a model',
    )  # fmt: skip
    index.add_argument("--detach", action="store_true", help="only queue the files; worker processes index them")
    index.add_argument(
        "--upload", action="store_true", help="store copies of the files that workers on other machines can read"
    )

    worker = commands.add_parser("worker", parents=[common], help="process queued jobs until interrupted")
    worker.add_argument("--watch", action="store_true", help="also index changes in watched folders")
    worker.add_argument(
        "--concurrency", type=count, metavar="N", help="number of files to index at once (default: one per CPU core)"
    )
    worker.add_argument("--only", choices=["index", "embed"], help="process only jobs of this kind")
    worker.add_argument(
        "--alive",
        action="store_true",
        help="exit with status 0 if a worker is running on this machine; process no jobs",
    )

    watch = commands.add_parser("watch", parents=[scoped], help="index changes in watched folders until interrupted")
    watching = watch.add_subparsers(dest="action", metavar="ACTION")
    add = watching.add_parser("add", parents=[scoped], help="start watching a folder")
    add.add_argument("folder", metavar="FOLDER")
    add.add_argument(
        "--poll",
        action="store_true",
        help="scan the folder regularly instead of waiting for events (always done on network drives)",
    )
    add_option(add, "outline")
    add_option(add, "vision")
    add_option(add, "enrich")
    watching.add_parser("list", parents=[scoped], help="list the sources of documents, and which folders are watched")
    unwatch = watching.add_parser("remove", parents=[scoped], help="stop watching a folder (its documents stay)")
    unwatch.add_argument("folder", metavar="FOLDER")
    unwatch.add_argument(
        "--forget",
        action="store_true",
        help="also remove the folder from the sources that 'index' without a PATH updates",
    )

    embed = commands.add_parser("embed", parents=[scoped], help="compute vectors for the documents of a library")
    embed.add_argument(
        "--embedder",
        metavar="MODEL",
        help="onnx:NAME|PATH, bge-m3[:PATH], sentence-transformers:NAME|PATH, openai:MODEL, hashed:DIM; "
        "none removes the vectors",
    )
    embed.add_argument(
        "--export", metavar="FOLDER", help="export the model to FOLDER for use as onnx:FOLDER, and embed nothing"
    )
    embed.add_argument("--resume", action="store_true", help="continue with the embedder that the library has recorded")

    question_options = _Parser(add_help=False, parents=[common])
    question_options.add_argument("question", metavar="QUESTION", nargs="+")
    for name in OPTIONS:
        add_option(question_options, name, *(("-L",) if name == "libraries" else ()))
    search = commands.add_parser(
        "search", parents=[question_options], help="find the pages that answer a question, with the reasons for each"
    )
    search.add_argument(
        "--why",
        action="store_true",
        help="show the parts of each score, the matched word stems and the section's score",
    )
    search.add_argument(
        "--no-daemon", dest="daemon", action="store_false",
        help="open the libraries in this process, even if the command 'serve' runs on the same home",
    )  # fmt: skip
    ask = commands.add_parser(
        "ask", parents=[question_options], help="answer a question with citations (needs a language model)"
    )
    ask.add_argument(
        "--vision",
        action=argparse.BooleanOptionalAction,
        help="send page images of all sources to the model, or of none",
    )
    ask.add_argument("--force", action="store_true", help="call the model even if the search finds no evidence")

    grep = commands.add_parser(
        "grep", parents=[common], help="count and list all pages that contain a word, phrase or regular expression"
    )
    grep.add_argument("pattern", metavar="PATTERN", help="a word, a phrase, or the beginning of a word: 'indemnif*'")
    grep.add_argument("--regex", action="store_true", help="PATTERN is a regular expression (RE2)")
    for name in ("libraries", "all_libraries", "documents", "where"):
        add_option(grep, name, *(("-L",) if name == "libraries" else ()))
    grep.add_argument("--node", default="", metavar="NODE", help="search only this section; needs one --doc")
    grep.add_argument("--count", action="store_true", help="list documents with their counts instead of pages")
    grep.add_argument(
        "--limit", type=count, default=20, metavar="N", help="number of pages or documents to list (default: 20)"
    )
    grep.add_argument("--context", type=int, default=0, metavar="N", help="lines to show before and after a match")
    grep.add_argument("--cursor", default="", metavar="C", help="continue after the previous results")

    compare = commands.add_parser(
        "compare", parents=[scoped], help="show the differences between two documents, section by section"
    )
    compare.add_argument("left", metavar="OLD")
    compare.add_argument("right", metavar="NEW")
    compare.add_argument(
        "--right-library", metavar="NAME", help="library of NEW, if it differs from the library of OLD"
    )
    compare.add_argument("--left-node", default="", metavar="NODE", help="compare only this section of OLD")
    compare.add_argument("--right-node", default="", metavar="NODE", help="compare only this section of NEW")
    compare.add_argument(
        "--limit", type=count, default=50, metavar="N", help="number of sections to list (default: 50)"
    )
    compare.add_argument(
        "--each", type=count, default=20, metavar="N", help="changes to list per section (default: 20)"
    )
    compare.add_argument("--cursor", default="", metavar="C", help="continue after the previous results")

    chat = commands.add_parser(
        "chat", parents=[common], help="hold a conversation; each question may refer to earlier ones"
    )
    chat.add_argument("--continue", dest="go_on", metavar="ID", help="continue a stored conversation")
    for name in ("libraries", "all_libraries", "documents", "effort", "top_k", "expert"):
        add_option(chat, name, *(("-L",) if name == "libraries" else ()))
    chats = chat.add_subparsers(dest="action", metavar="ACTION")
    listed_chats = chats.add_parser(
        "list", parents=[common], help="list the stored conversations, the most recent first"
    )
    listed_chats.add_argument(
        "--limit", type=count, default=50, metavar="N", help="number of entries to show (default: 50)"
    )
    listed_chats.add_argument(
        "--find", default="", metavar="WORDS", help="show only conversations that contain these words"
    )
    read = chats.add_parser("show", parents=[common], help="print the questions and answers of a conversation")
    read.add_argument("conversation", metavar="ID")
    export = chats.add_parser("export", parents=[common], help="write a conversation as Markdown, Word, PDF or JSON")
    export.add_argument("conversation", metavar="ID")
    export.add_argument("--format", choices=("markdown", "docx", "pdf", "json", "bibtex", "csl"), default="markdown")
    export.add_argument("--to", metavar="FILE", help="file to write (default: standard output)")
    drop = chats.add_parser("remove", parents=[common], help="delete conversations with all their messages")
    drop.add_argument("conversations", nargs="+", metavar="ID")

    brief = commands.add_parser(
        "briefing", parents=[scoped], help="summarise a document or a library, with questions to ask"
    )
    brief.add_argument("document", metavar="DOC", nargs="?", help="document to summarise (default: the whole library)")
    brief.add_argument("--model", action="store_true", help="let the language model write the summary")

    outline = commands.add_parser("outline", parents=[scoped], help="print the section tree of a document")
    outline.add_argument("document", metavar="DOC")
    outline.add_argument("--depth", type=count, metavar="N", help="number of levels to show")
    outline.add_argument("--query", metavar="Q", help="score every section for this question")
    add_option(outline, "expert")
    outline.add_argument("--format", choices=("text", "json", "pageindex"), default="text")
    outline.add_argument(
        "--text", action="store_true", help="include the text of every section (for the formats json and pageindex)"
    )

    page = commands.add_parser(
        "page", parents=[scoped], help="print pages: text, summary, position in the section tree"
    )
    page.add_argument("document", metavar="DOC")
    page.add_argument("pages", metavar="PAGES", help="page numbers such as 3,7-9, or a place such as 'slide 3'")
    page.add_argument(
        "--quote", metavar="WORDS", help="find these words, even if they have moved since they were cited"
    )
    page.add_argument("--image", metavar="FILE.png", help="also write an image of the page; .jpg for JPEG")
    page.add_argument(
        "--view",
        choices=("page", "office"),
        default="page",
        help="with office, draw --image as LibreOffice prints the page",
    )
    page.add_argument("--tables", action="store_true", help="print the tables of the page in Markdown")
    page.add_argument("--password", metavar="P", help="password of an encrypted file")

    viewed = commands.add_parser("open", parents=[scoped], help="open the original file in the system's viewer")
    viewed.add_argument("document", metavar="DOC")
    viewed.add_argument("--page", type=count, metavar="N", help="open the file at this page, if the viewer supports it")

    original = commands.add_parser("original", parents=[scoped], help="write a copy of the original file to FILE")
    original.add_argument("document", metavar="DOC")
    original.add_argument("file", metavar="FILE", help="a new file; an existing one is not overwritten")
    original.add_argument(
        "--highlights", action="store_true", help="write the highlights and notes into the copy as PDF annotations"
    )
    original.add_argument("--password", metavar="P", help="password of an encrypted file, for --highlights")

    listing = commands.add_parser("list", parents=[scoped], help="list the documents of a library")
    listing.add_argument("--where", action="append", default=[], metavar="KEY=VALUE")

    info = commands.add_parser(
        "info", parents=[scoped], help="show all metadata of a document, or the state of the whole home"
    )
    info.add_argument("document", nargs="?", metavar="DOC")

    edit = commands.add_parser("edit", parents=[scoped], help="correct the metadata of a document")
    edit.add_argument("document", metavar="DOC")
    edit.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE",
        help="set title, organisation, year, quarter, date, type or tags; kept when the file is indexed again",
    )  # fmt: skip
    edit.add_argument("--unset", action="append", default=[], metavar="FIELD", help="undo a correction")

    remove = commands.add_parser("remove", parents=[scoped], help="remove documents (your own files stay)")
    remove.add_argument("documents", nargs="+", metavar="DOC")
    remove.add_argument(
        "--for-good", action="store_true", help="delete them and their uploads now, not after 30 days in the bin"
    )

    trash = commands.add_parser("bin", parents=[common], help="list and restore what was removed in the last 30 days")
    choices = trash.add_subparsers(dest="action", metavar="ACTION")
    choices.add_parser("list", parents=[common], help="list what can be restored, the newest first")
    back = choices.add_parser("restore", parents=[common], help="restore documents or a library")
    back.add_argument("entry", metavar="ENTRY")
    empty = choices.add_parser("empty", parents=[common], help="delete an entry for good, or all with --yes")
    empty.add_argument("entry", nargs="?", metavar="ENTRY")
    empty.add_argument("--yes", action="store_true", help="confirm that everything in the bin is deleted")

    libraries = commands.add_parser("libraries", parents=[common], help="list, create and rename libraries")
    libraries.add_argument(
        "--find", default="", metavar="TEXT", help="list only libraries whose name or alias contains this"
    )
    actions = libraries.add_subparsers(dest="action", metavar="ACTION")
    create = actions.add_parser("create", parents=[common], help="create an empty library")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--alias", default="", metavar="ALIAS", help="a second name, in any script")
    rename = actions.add_parser(
        "rename", parents=[common], help="rename a library (its documents are not indexed again)"
    )
    rename.add_argument("name", metavar="NAME")
    rename.add_argument("new", metavar="NEW")
    alias = actions.add_parser("alias", parents=[common], help="give a library a second name, in any script")
    alias.add_argument("name", metavar="NAME")
    alias.add_argument("alias", metavar="ALIAS", help="second name; '' removes it")

    jobs = commands.add_parser("jobs", parents=[scoped], help="list, pause, resume and cancel indexing jobs")
    decisions = jobs.add_subparsers(dest="action", metavar="ACTION")
    listed = decisions.add_parser("list", parents=[scoped], help="list running, waiting and ended jobs")
    listed.add_argument(
        "--status", action="append", default=[], metavar="S", help="list only jobs with this status (repeatable)"
    )
    listed.add_argument("--limit", type=count, default=50, metavar="N", help="number of entries to show (default: 50)")
    shown = decisions.add_parser("show", parents=[common], help="show a job and its history")
    shown.add_argument("job", type=count, metavar="JOB")
    for name, what in (
        ("pause", "pause jobs until they are resumed"), ("resume", "continue paused jobs"),
        ("cancel", "cancel jobs (published documents stay)"), ("retry", "retry failed jobs"),
        ("forget", "delete ended jobs from the list"),
    ):  # fmt: skip
        decision = decisions.add_parser(name, parents=[scoped], help=what)
        decision.add_argument("jobs", nargs="*", type=count, metavar="JOB")
        decision.add_argument("--all", action="store_true", help="act on all jobs of all libraries")

    rebuild = commands.add_parser(
        "rebuild", parents=[scoped], help="index documents or a library again from their files"
    )
    rebuild.add_argument(
        "documents", nargs="*", metavar="DOC", help="documents to rebuild (default: all documents of the library)"
    )
    rebuild.add_argument("--all", action="store_true", help="all libraries")
    rebuild.add_argument("--index", action="store_true", help="rebuild only the search index, from the catalog")
    rebuild.add_argument("--detach", action="store_true", help="only queue the work; worker processes do it")
    rebuild.add_argument("--password", metavar="P", help="password of encrypted files")
    add_option(rebuild, "workers", metavar="N")

    clear = commands.add_parser("clear", parents=[scoped], help="delete a library, or all of them")
    clear.add_argument("--yes", action="store_true", help="confirm the deletion")
    clear.add_argument("--for-good", action="store_true", help="delete the library now, not after 30 days in the bin")

    migrate = commands.add_parser(
        "migrate", parents=[scoped], help="move the search indexes or the catalog to a server or back"
    )
    target = migrate.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to",
        choices=("server", "embedded"),
        help="where to build the search indexes: on the Qdrant server or in the home",
    )
    target.add_argument(
        "--catalog", metavar="URL", help="copy the catalog to this PostgreSQL database; sqlite: to a file in the home"
    )
    target.add_argument("--objects", action="store_true", help="copy the original files in this home to the bucket")
    target.add_argument(
        "--replicas", action="store_true", help="copy data again that a node of the Qdrant cluster has lost"
    )
    target.add_argument("--schema", action="store_true", help="only upgrade the catalog to this version")

    mcp = commands.add_parser(
        "mcp", parents=[common], help="serve AI agents by the Model Context Protocol, on stdio or HTTP"
    )
    mcp.add_argument(
        "--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp of this address instead of stdio"
    )
    mcp.add_argument("--root", action="append", default=[], metavar="DIR", help="allow reading files below this folder")
    mcp.add_argument("--read-only", action="store_true", help="refuse all changes to libraries")
    mcp.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="allow calls from web pages of this origin"
    )
    mcp.add_argument(
        "--max-tokens", type=count, default=5000, metavar="N", help="limit on the tokens of one answer (default: 5000)"
    )
    mcp.add_argument(
        "--install",
        metavar="CLIENT",
        help="add the server to the settings of a client: claude-desktop, cursor, … (see docs/mcp.md)",
    )

    serve = commands.add_parser("serve", parents=[common], help="serve the web page, the HTTP API and MCP")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8323, help="port to listen on; 0: a free port (default: 8323)")
    serve.add_argument(
        "--token",
        default="",
        metavar="TOKEN",
        help="token to sign in with (default: the setting http_token, else a random token)",
    )
    serve.add_argument("--open", action="store_true", help="open the web page in the browser")
    serve.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="allow indexing files below this folder by path"
    )
    serve.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="accept requests for this host name"
    )
    serve.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="allow calls from web pages of this origin"
    )
    serve.add_argument(
        "--user-header", default="", metavar="NAME", help="header in which a trusted proxy names the user"
    )
    serve.add_argument("--trust-proxy", action="append", default=[], metavar="IP", help="address of the trusted proxy")

    token = commands.add_parser("token", parents=[common], help="create, list and revoke tokens for the HTTP server")
    tokens = token.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = tokens.add_parser("create", parents=[common], help="create a token and show it once")
    new.add_argument("name", metavar="NAME")
    new.add_argument("--role", choices=("read", "write", "admin"), default="read", help="(default: read)")
    new.add_argument(
        "--library",
        "-L",
        action="append",
        default=[],
        metavar="NAME[=ROLE]",
        help="give access to this library only (repeatable)",
    )
    new.add_argument(
        "--days", type=float, default=0, metavar="N", help="days for which the token is valid (default: until revoked)"
    )
    new.add_argument(
        "--user", action="store_true", help="create an entry without a secret for a user whom the trusted proxy names"
    )
    tokens.add_parser("list", parents=[common], help="list tokens and signed-in browsers, without their secrets")
    revoke = tokens.add_parser("revoke", parents=[common], help="revoke a token")
    revoke.add_argument("name", metavar="NAME|ID")

    usage = commands.add_parser("usage", parents=[common], help="show the tokens and the cost of model calls")
    usage.add_argument(
        "--since", default="", metavar="DAY", help="first day, YYYY-MM-DD (default: first of this month)"
    )
    usage.add_argument("--until", default="", metavar="DAY", help="last day, YYYY-MM-DD")

    doctor = commands.add_parser("doctor", parents=[common], help="check that everything works")
    doctor.add_argument("--deep", action="store_true", help="compare every stored page with its file")
    doctor.add_argument("--mend", action="store_true", help="compare, and index files again that differ")

    commands.add_parser("recover", parents=[common], help="rebuild a damaged or missing catalog from what can be read")

    backup = commands.add_parser("backup", parents=[common], help="write the home to one file while it is in use")
    backup.add_argument("file", metavar="FILE", help="the new file")
    restore = commands.add_parser("restore", parents=[common], help="restore a backup into an empty home")
    restore.add_argument("file", metavar="FILE", help="a file that 'backup' wrote")
    restore.add_argument("--check", action="store_true", help="restore into a scratch home, compare, change nothing")

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
    """A parser that raises UsageError instead of ending the process, so that ``--json`` can print the error as
    JSON.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **(options | {"allow_abbrev": False}))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise UsageError(f"{message}.", f"See {self.prog} --help.")


class _Version(argparse.Action):
    """Print the version and exit. Look the version up only now, because that takes longer than parsing."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"{PROGRAM} {hybrid_pageindex.__version__}\n")
        parser.exit()


def needs_plugins(typed: Sequence[str], known_commands: Sequence[str]) -> bool:
    """Return whether plugin commands must be loaded: no command is typed, or an unknown one."""
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
    """A command-line command of another package, registered as an entry point.

    ``run`` returns the exit code and may raise PageIndexError.
    """

    @property
    def help(self) -> str: ...
    @property
    def add_arguments(self) -> Callable[[argparse.ArgumentParser], None]: ...
    @property
    def run(self) -> Callable[[argparse.Namespace], int]: ...


class _BrokenCommand:
    """A replacement for a command whose package cannot be imported, so that the other commands still work."""

    def __init__(self, name: str, error: Exception) -> None:
        self.help = f"(cannot be loaded: {' '.join(str(error).split())})"
        self._name = name

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)

    def run(self, _: argparse.Namespace) -> int:
        raise PageIndexError(
            f"The command {self._name} {self.help.strip('()')}.", "Repair or remove the package that contains it."
        )
