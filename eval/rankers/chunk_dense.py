"""What a typical vector RAG does: fixed-size chunks, one vector each, the most similar ones win."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eval.datasets.corpus import Corpus
from eval.records.progress import Progress
from eval.records.rankings import RankedPage, Ranking
from hybrid_core.errors import UsageError

if TYPE_CHECKING:
    from hybrid_core.embed.embedder import Embedder

WORDS, OVERLAP = 190, 40
Vectors = npt.NDArray[np.float32]


def chunks(pages: Sequence[str]) -> list[tuple[int, str]]:
    """A document's words in runs of 190 that share 40 with the one before: (page of most words, text)."""
    words = [(number, word) for number, text in enumerate(pages, 1) for word in text.split()]
    found = []
    for start in range(0, max(len(words) - OVERLAP, min(len(words), 1)), WORDS - OVERLAP):
        taken = words[start : start + WORDS]
        numbers = [number for number, _ in taken]
        found.append((max(dict.fromkeys(numbers), key=numbers.count), " ".join(word for _, word in taken)))
    return found


class ChunkDense:
    """Cosine similarity over all chunks, exactly. Vectors are kept in ``cache``, one file for each document."""

    name = "chunk-dense"

    def __init__(self, corpus: Corpus, embedder: Embedder | None, cache: Path, progress: Progress) -> None:
        """Raises UsageError without an embedder, ModelError where it fails."""
        if embedder is None:
            raise UsageError(
                "The ranker chunk-dense needs an embedder.", "Name one, for example --embedder bge-m3 or hashed:256."
            )
        self._embedder = embedder
        self.options: Mapping[str, Any] = {"words": WORDS, "overlap": OVERLAP, "embedder": embedder.id.name}
        self._places: list[tuple[str, int]] = []
        self._texts: list[str] = []
        rows: list[Vectors] = []
        names = sorted(corpus.documents)
        with progress.bar("embedding chunks", len(names)) as step:
            for name in names:
                made = chunks(corpus.texts(name))
                self._places += [(name, page) for page, _ in made]
                self._texts += [text for _, text in made]
                rows.append(self._vectors([text for _, text in made], cache))
                step()
        self._vectors_all = np.vstack(rows) if rows else np.zeros((0, embedder.id.dimension), np.float32)

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        scores = self._vectors_all @ self._embedder.embed([question], "query")[0]
        asked = None if documents is None else set(documents)
        pages: dict[tuple[str, int], RankedPage] = {}
        for at in np.argsort(-scores, kind="stable").tolist():
            place = self._places[at]
            if place not in pages and (asked is None or place[0] in asked):
                pages[place] = RankedPage(place[0], place[1], float(scores[at]), text=self._texts[at])
        ranked = tuple(pages.values())
        return Ranking(pages=ranked[:depth], documents=tuple(dict.fromkeys(page.document for page in ranked)))

    def _vectors(self, texts: list[str], cache: Path) -> Vectors:
        """float32 (n, dimension), unit rows."""
        if not texts:
            return np.zeros((0, self._embedder.id.dimension), np.float32)
        key = hashlib.sha256("\0".join([self._embedder.id.fingerprint, *texts]).encode()).hexdigest()[:32]
        kept = cache / f"{key}.npy"
        if kept.exists():
            return np.asarray(np.load(kept), dtype=np.float32)
        vectors = self._embedder.embed(texts, "document")
        cache.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(".new.npy")
        np.save(draft, vectors)
        draft.replace(kept)
        return vectors
