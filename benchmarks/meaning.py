"""Measure the benefit of learned sparse terms and small dense vectors on held-out kinds of documents.

    python -m benchmarks meaning --sparse DIR [--dense FILE] --out DIR
        [--data DIR] [--set NAME …] [--pages 300] [--questions 60]

--sparse names a folder with ``model.safetensors`` and ``tokenizer.json`` of a BERT with a masked-language head, trained
as SPLADE. --dense names the ONNX file of a sentence model with the same vocabulary. The benchmark indexes a library of
about --pages pages for each set. Each page is split into windows of 160 words, and the score of the best window becomes
a feature of the page. Weights are learned as in ``eval fit``, without the kind of documents that is ranked. The weights
of all sets then rank the paraphrased and cross-language questions of ``benchmarks/data``. The results of each set are
kept in --out, so that an interrupted run can continue. Times are processor times of one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.datasets import load
from eval.datasets.corpus import Corpus, locate
from eval.datasets.files import kind_of
from eval.datasets.variants import sample
from eval.measures.comparison import paired_bootstrap
from eval.measures.learning import RankedList, first_gold, learn
from eval.records.features import FeatureSet, QuestionFeatures, read_features, write_features
from eval.records.questions import Dataset, EvalQuestion, Gold
from eval.runs.features import candidates_of, gold_of, has_pages
from eval.runs.fit import Fitter
from eval.runs.plan import Plan
from hybrid_core.types.scoring import weight_names
from hybrid_pageindex import Engine, run
from retrievers.ranking.model import shipped_model

Floats = npt.NDArray[np.float32]
SETS = (
    "sets/gitlab_handbook", "sets/aws_docs", "sets/covidqa", "sets/wiki_multi", "sets/policyqa", "sets/openshift",
    "sets/qmsum", "sets/legalquad_de", "sets/contoso", "sets/emanual",
)  # fmt: skip
OWN = ("paraphrases", "cross_language")
ADDED = ("sparse", "sparse_size", "dense", "dense_spread")
Variants = Mapping[str, Sequence[str]]
VARIANTS: Variants = {"none": (), "sparse": ADDED[:2], "dense": ADDED[2:], "both": ADDED}
_WORDS, _STEP, _WINDOWS, _TOKENS, _BATCH = 160, 150, 4, 256, 8


class SparseModel:
    """A SPLADE model with the BERT architecture, in numpy. It turns texts into weights of vocabulary terms."""

    def __init__(self, folder: Path, heads: int) -> None:
        from tokenizers import Tokenizer

        self._tensors, self._heads = read_safetensors(folder / "model.safetensors"), heads
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(_TOKENS)
        self.layers = 1 + max(int(name.split(".")[3]) for name in self._tensors if name.startswith("bert.encoder"))

    def weights(self, texts: Sequence[str], terms: npt.NDArray[np.int64] | None = None) -> Floats:
        """Return the term weights of texts, float32 (texts, terms): the maximum over tokens of log(1 + ReLU(logit)).

        ``terms`` selects vocabulary terms; None selects all.
        """
        words = self._tensors["bert.embeddings.word_embeddings.weight"]
        bias = self._tensors["cls.predictions.bias"]
        if terms is not None:
            words, bias = words[terms], bias[terms]
        result = np.zeros((len(texts), len(words)), np.float32)
        for rows, ids, mask in batches(self.tokenizer, texts):
            logits = self._hidden(ids, mask) @ words.T + bias
            logits[~mask] = 0.0
            result[rows] = np.log1p(np.maximum(logits.max(axis=1), 0.0))
        return result

    def _hidden(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_]) -> Floats:
        place = "bert.embeddings."
        hidden = self._tensors[f"{place}word_embeddings.weight"][ids]
        hidden = hidden + self._tensors[f"{place}position_embeddings.weight"][: ids.shape[1]]
        hidden = self._norm(hidden + self._tensors[f"{place}token_type_embeddings.weight"][0], f"{place}LayerNorm")
        ignored = np.where(mask, 0.0, -1e9).astype(np.float32)[:, None, None, :]
        for layer in range(self.layers):
            place = f"bert.encoder.layer.{layer}."
            attended = self._attend(hidden, ignored, f"{place}attention.self.")
            attended = self._dense(attended, f"{place}attention.output.dense")
            hidden = self._norm(hidden + attended, f"{place}attention.output.LayerNorm")
            wide = gelu(self._dense(hidden, f"{place}intermediate.dense"))
            hidden = self._norm(hidden + self._dense(wide, f"{place}output.dense"), f"{place}output.LayerNorm")
        place = "cls.predictions.transform."
        return self._norm(gelu(self._dense(hidden, f"{place}dense")), f"{place}LayerNorm")

    def _attend(self, hidden: Floats, ignored: Floats, place: str) -> Floats:
        count, length, width = hidden.shape

        def part(name: str) -> Floats:
            split = self._dense(hidden, place + name).reshape(count, length, self._heads, width // self._heads)
            return np.ascontiguousarray(split.transpose(0, 2, 1, 3))

        scores = part("query") @ part("key").transpose(0, 1, 3, 2) / np.float32(math.sqrt(width / self._heads))
        scores = scores + ignored
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ part("value")).transpose(0, 2, 1, 3).reshape(count, length, width))

    def _dense(self, values: Floats, name: str) -> Floats:
        return np.asarray(values @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"])

    def _norm(self, values: Floats, name: str) -> Floats:
        gamma = self._tensors.get(f"{name}.gamma", self._tensors.get(f"{name}.weight"))
        beta = self._tensors.get(f"{name}.beta", self._tensors.get(f"{name}.bias"))
        values = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((values * values).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(values / spread * gamma + beta, np.float32)


class DenseModel:
    """A sentence model in onnxruntime. The vector of a text is the mean of its token vectors, scaled to length 1."""

    def __init__(self, network: Path, tokenizer: Any) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector of length 1 per text, as rows of a matrix."""
        rows: list[Floats] = [np.zeros(0, np.float32)] * len(texts)
        for places, ids, mask in batches(self._tokenizer, texts):
            attention = mask.astype(np.int64)
            inputs = {"input_ids": ids, "attention_mask": attention, "token_type_ids": np.zeros_like(ids)}
            output = self._session.run(None, {name: inputs[name] for name in self._inputs})[0]
            if output.ndim == 3:
                output = (output * attention[:, :, None]).sum(axis=1) / attention.sum(axis=1, keepdims=True)
            for place, row in zip(places, output / np.linalg.norm(output, axis=1, keepdims=True), strict=True):
                rows[place] = row.astype(np.float32)
        return np.stack(rows)


def batches(
    tokenizer: Any, texts: Sequence[str]
) -> Iterator[tuple[list[int], npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
    """Yield (indices, token ids, mask) of texts of similar length."""
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        ids = np.zeros((len(rows), len(encoded[rows[-1]])), np.int64)
        mask = np.zeros(ids.shape, bool)
        for at, row in enumerate(rows):
            ids[at, : len(encoded[row])] = encoded[row]
            mask[at, : len(encoded[row])] = True
        yield rows, ids, mask


def gelu(values: Floats) -> Floats:
    """Apply the Gaussian error linear unit. erf is approximated by formula 7.1.26 of Abramowitz and Stegun."""
    size = np.abs(values) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * size)
    factors = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    series = np.zeros_like(values)
    for factor in factors:
        series = (series + np.float32(factor)) * t
    erf = np.sign(values) * (1 - series * np.exp(-size * size))
    return np.asarray(values * np.float32(0.5) * (1 + erf), np.float32)


def read_safetensors(path: Path) -> dict[str, Floats]:
    """Read the float32 tensors of a safetensors file, and return them by name."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + size])
    tensors = {}
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[start:end], np.float32).reshape(entry["shape"])
    return tensors


def windows_of(text: str) -> list[str]:
    """Return overlapping windows of a page's words."""
    words = text.split()
    starts = range(0, max(1, len(words) - (_WORDS - _STEP)), _STEP)
    return [" ".join(words[start : start + _WORDS]) or " " for start in starts][:_WINDOWS]


def own_set(name: str, data: Path | None, of: Sequence[str] | None) -> Dataset:
    """Return a data set of the questions in ``benchmarks/data`` about the sets ``of``.

    Its documents are those of these sets.
    """
    rows = [json.loads(line) for line in (Path(__file__).parent / "data" / f"{name}.jsonl").open(encoding="utf-8")]
    rows = [row for row in rows if of is None or row["set"] in of]
    sets = dict.fromkeys("bookmarks" if row["set"] == "bookmarks" else f"sets/{row['set']}" for row in rows)
    files = {path.name: path for other in sets for path in load(other, data).files}

    def gold(entry: dict[str, Any]) -> Gold:
        if "page" in entry:
            return Gold(entry["doc"], entry["page"])
        text = entry.get("text", "")
        return Gold(entry["doc"], text=text, match="half" if text else "document")

    questions = (EvalQuestion(row["id"], row["question"], tuple(map(gold, row["evidence"]))) for row in rows)
    return Dataset(name, tuple(files.values()), tuple(questions))


def index_part(engine: Engine, dataset: Dataset, pages: int) -> None:
    """Index documents of a set until there are enough pages.

    Two documents with right pages are taken for each one without. Hashes decide the order.
    """

    def drawn(names: Sequence[str]) -> list[str]:
        return sorted(names, key=lambda name: sha256(name.encode()).digest())

    files = {path.name: path for path in dataset.files}
    gold = {g.document for q in dataset.questions if has_pages(q) for g in q.evidence} & set(files)
    with_gold, others = drawn(list(gold)), drawn([name for name in files if name not in gold])
    if dataset.name in OWN:
        run(engine.index([files[name] for name in with_gold], enrich="never"))
        with_gold = []
    indexed = dataset.name in OWN
    while with_gold or others:
        if indexed and sum(document.pages or 0 for document in run(engine.documents.list())) >= pages:
            break
        indexed = True
        chosen = with_gold[:4] + others[: 2 if with_gold else 6]
        with_gold, others = with_gold[4:], others[2 if with_gold else 6 :]
        run(engine.index([files[name] for name in chosen], enrich="never"))


@dataclass
class Costs:
    """Processor seconds per step, and the numbers of scored windows and questions."""

    windows: int = 0
    questions: int = 0
    sparse: float = 0.0
    sparse_question: float = 0.0
    dense: float = 0.0
    dense_question: float = 0.0


def collect(dataset: Dataset, options: argparse.Namespace, models: tuple[SparseModel, DenseModel | None]) -> FeatureSet:
    """Return the features of the candidate pages of a set's questions.

    The last columns are ADDED, computed by the models under test.
    """
    path = options.out / f"{dataset.name.replace('/', '-')}.npz"
    stamp = {
        "pages": options.pages,
        "questions": options.questions,
        "models": [str(options.sparse), str(options.dense)],
    }
    if (features := read_features(path, stamp)) is not None:
        return features
    plan = Plan(dataset.name, expert="none", data=options.data)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home, closing(Engine(home)) as engine:
        index_part(engine, dataset, options.pages)
        indexed = time.monotonic()
        corpus = Corpus(engine)
        usable = [q for q in dataset.questions if has_pages(q) and all(g.document in corpus.ids for g in q.evidence)]
        located = run(locate(engine, sample(usable, options.questions))).questions
        searches = []
        for question in located:
            gold = gold_of(question, corpus)
            candidates = candidates_of(engine, plan, question, corpus) if gold else None
            if candidates is not None and len(candidates.pages):
                searches.append((question, gold, candidates))
        names = {doc_id: name for name, doc_id in corpus.ids.items()}
        places = list(dict.fromkeys(page for _, _, candidates in searches for page in candidates.pages))
        texts = [corpus.texts(names[doc_id])[page - 1] for doc_id, page in places]
    searched = time.monotonic()
    print(
        f"{dataset.name}: {indexed - began:.0f} s index, {searched - indexed:.0f} s search", file=sys.stderr, flush=True
    )
    scores = score([question.text for question, _, _ in searches], texts, models, costs := Costs())
    rows = {place: row for row, place in enumerate(places)}
    questions = []
    for number, (question, gold, candidates) in enumerate(searches):
        own = [rows[page] for page in candidates.pages]
        added = added_features(scores[0][own, number], scores[1][own, number])
        values = np.concatenate([candidates.values, added], axis=1).astype(np.float32)
        right = np.array([page in gold for page in candidates.pages], bool)
        questions.append(QuestionFeatures(question.id, question.evidence[0].document, values, right))
    first = searches[0][2]
    features = FeatureSet(
        dataset.name, "library", "none", (*first.names, *ADDED), first.pairs, tuple(questions),
        (json.dumps({"pages": len(places), "index_s": round(indexed - began, 1), **vars(costs)}),),
    )  # fmt: skip
    write_features(path, features, stamp)
    print(
        f"{dataset.name}: {len(corpus.ids)} documents, {len(places)} pages, {len(questions)} questions; "
        f"{indexed - began:.0f} s index, {searched - indexed:.0f} s search, {time.monotonic() - searched:.0f} s models",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    return features


def score(
    questions: Sequence[str], texts: Sequence[str], models: tuple[SparseModel, DenseModel | None], costs: Costs
) -> tuple[Floats, Floats]:
    """Return the sparse and the dense score of each page's best window, both float32 (pages, questions)."""
    sparse, dense = models
    cut = [windows_of(text) for text in texts]
    starts = np.cumsum([0, *map(len, cut)])[:-1]
    windows = [window for page in cut for window in page]
    costs.windows, costs.questions = len(windows), len(questions)
    clock = time.process_time()
    question_weights = sparse.weights(questions)
    costs.sparse_question, clock = time.process_time() - clock, time.process_time()
    terms = np.flatnonzero(question_weights.any(axis=0))
    by_terms = sparse.weights(windows, terms) @ question_weights[:, terms].T
    costs.sparse, clock = time.process_time() - clock, time.process_time()
    if dense is None:
        return np.maximum.reduceat(by_terms, starts), np.zeros((len(texts), len(questions)), np.float32)
    vectors = dense.embed(questions)
    costs.dense_question, clock = time.process_time() - clock, time.process_time()
    by_vectors = dense.embed(windows) @ vectors.T
    costs.dense = time.process_time() - clock
    return np.maximum.reduceat(by_terms, starts), np.maximum.reduceat(by_vectors, starts)


def added_features(sparse: Floats, dense: Floats) -> Floats:
    """Return the columns named by ADDED: each score unchanged, and relative to the scores of the other candidates."""
    lowest, highest = float(dense.min()), float(dense.max())
    columns = [
        sparse / max(float(sparse.max()), 1e-9), np.log1p(sparse) / 4,
        np.maximum(dense, 0.0), (dense - lowest) / max(highest - lowest, 1e-9),
    ]  # fmt: skip
    return np.stack(columns, axis=1)


def with_columns(features: FeatureSet, added: Sequence[str]) -> FeatureSet:
    """Return the features without those columns of ADDED that are not in ``added``."""
    columns = [at for at, name in enumerate(features.names) if name not in ADDED or name in added]
    questions = tuple(replace(question, values=question.values[:, columns]) for question in features.questions)
    return replace(features, names=tuple(features.names[at] for at in columns), questions=questions)


def held_out(sets: Sequence[FeatureSet], own: Sequence[FeatureSet]) -> dict[str, list[int]]:
    """Return the rank of the first right page of each question, by set.

    Each set is ranked by weights learned without its kind of documents. The questions in ``own`` are ranked by weights
    learned from all of ``sets``.
    """
    fitter = Fitter(sets)
    ranks: dict[str, list[int]] = {}
    for kind in dict.fromkeys(kind_of(features.dataset) for features in sets):
        weights = fitter.learn(without_kind=kind)
        for at, features in enumerate(sets):
            if kind_of(features.dataset) == kind:
                ranks[features.dataset] = fitter.ranks(at, weights)
    if own:
        weights, judged = fitter.learn(), Fitter(own)
        ranks |= {features.dataset: judged.ranks(at, weights) for at, features in enumerate(own)}
    return ranks


def score_only(features: FeatureSet, added: Sequence[str]) -> list[RankedList]:
    """Return a set's candidates with few columns, for learning few weights.

    The columns are the score by the shipped weights, and those in ``added``.
    """
    weights, plain = shipped_model().weights(), len(features.names) - len(ADDED)
    vector = np.array([weights[name] for name in weight_names(features.names[:plain], features.pairs)])
    paired = [features.names.index(name) for name in features.pairs]
    named, extra = features.names.index("named"), [features.names.index(name) for name in added]
    lists = []
    for question in features.questions:
        products = question.values[:, paired] * question.values[:, [named]]
        score = question.values[:, :plain] @ vector[:plain] + products @ vector[plain:]
        values = np.concatenate([score[:, None], question.values[:, extra]], axis=1)
        lists.append(RankedList(values.astype(np.float32), question.gold))
    return lists


def held_out_on_score(
    sets: Sequence[FeatureSet], own: Sequence[FeatureSet], added: Sequence[str]
) -> dict[str, list[int]]:
    """Return ranks by set as ``held_out`` does, but learn fewer weights.

    Only the weight of the shipped score and the weights of ``added`` are learned.
    """
    lists = {features.dataset: score_only(features, added) for features in (*sets, *own)}
    ranks = {}
    for features in (*sets, *own):
        kind = kind_of(features.dataset)
        weights = learn([lists[other.dataset] for other in sets if kind_of(other.dataset) != kind])
        ranks[features.dataset] = [first_gold(entry.values @ weights, entry.gold) for entry in lists[features.dataset]]
    return ranks


def figures(ranks: Sequence[int]) -> tuple[float, float, float]:
    """Return MRR, hit@1 and hit@5 of a list of ranks."""
    values = np.array(ranks)
    reciprocal = np.where(values > 0, 1 / np.maximum(values, 1), 0.0)
    return float(reciprocal.mean()), float((values == 1).mean()), float(((values > 0) & (values <= 5)).mean())


def table(sets: Sequence[FeatureSet], own: Sequence[FeatureSet], variants: Variants, *, on_score: bool) -> list[str]:
    """Return the result table as Markdown lines: MRR, hit@1 and hit@5 by set and variant."""
    ranks = {
        name: held_out_on_score(sets, own, added)
        if on_score
        else held_out([with_columns(f, added) for f in sets], [with_columns(f, added) for f in own])
        for name, added in variants.items()
    }
    lines = [f"| set | questions | {' | '.join(variants)} |", f"|---|---|{'---|' * len(variants)}"]
    for features in (*sets, *own):
        cells = [" / ".join(f"{x:.3f}" for x in figures(ranks[name][features.dataset])) for name in variants]
        lines.append(f"| {features.dataset} | {len(features.questions)} | {' | '.join(cells)} |")
    means = {name: np.mean([figures(ranks[name][f.dataset]) for f in sets], axis=0) for name in variants}
    cells = [" / ".join(f"{x:.3f}" for x in means[name]) for name in variants]
    lines.append(f"| **mean of the sets** | {sum(len(f.questions) for f in sets)} | {' | '.join(cells)} |")
    lines.append("")
    for name in variants:
        differences = [
            (1 / new if new else 0.0) - (1 / old if old else 0.0)
            for features in sets
            for new, old in zip(ranks[name][features.dataset], ranks["none"][features.dataset], strict=True)
        ]
        interval = paired_bootstrap(differences)
        lines.append(
            f"{name}: mean MRR of the sets {means[name][0] - means['none'][0]:+.3f}; over the questions "
            f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sparse", type=Path, required=True, help="folder of the SPLADE model")
    parser.add_argument("--heads", type=int, default=2, help="attention heads of the SPLADE model")
    parser.add_argument("--dense", type=Path, help="ONNX file of the sentence model (default: sparse terms only)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the features of each set")
    parser.add_argument("--data", type=Path, help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--set", action="append", help=f"default: the ten of sets/, and {', '.join(OWN)}")
    parser.add_argument("--of", action="append", help="only the paraphrases on this set, such as covidqa")
    parser.add_argument("--pages", type=int, default=300, help="indexed pages of a set")
    parser.add_argument("--questions", type=int, default=60, help="questions of a set")
    options = parser.parse_args()
    sparse = SparseModel(options.sparse, options.heads)
    models = (sparse, DenseModel(options.dense, sparse.tokenizer) if options.dense else None)
    collected = []
    for name in options.set or (*SETS, *OWN):
        dataset = own_set(name, options.data, options.of) if name in OWN else load(name, options.data)
        collected.append(collect(dataset, options, models))
    sets = [features for features in collected if features.dataset not in OWN]
    own = [features for features in collected if features.dataset in OWN]
    variants = VARIANTS if options.dense else {name: VARIANTS[name] for name in ("none", "sparse")}
    print("The score by the shipped weights, which know these sets, as one feature:\n")
    print("\n".join(table(sets, own, variants, on_score=True)), flush=True)
    print("\nAll weights learned:\n")
    print("\n".join(table(sets, own, variants, on_score=False)) + "\n")
    costs = [json.loads(features.notes[0]) for features in collected]
    windows, questions = (sum(cost[name] for cost in costs) for name in ("windows", "questions"))
    print(
        f"{windows} windows of {sum(cost['pages'] for cost in costs)} pages, in ms a window: "
        f"sparse {1000 * sum(cost['sparse'] for cost in costs) / windows:.1f} (terms of the questions only), "
        f"dense {1000 * sum(cost['dense'] for cost in costs) / windows:.1f}; in ms a question: "
        f"sparse {1000 * sum(cost['sparse_question'] for cost in costs) / questions:.1f}, "
        f"dense {1000 * sum(cost['dense_question'] for cost in costs) / questions:.1f}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
