"""The plan of an evaluation run: its options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Effort, Fusion, Strategy
from hybrid_core.types.requests import SearchFields

SETTINGS = ("library", "given", "oracle-section", "oracle-pages")
RANKERS = ("engine", "page-bm25", "page-bm25-stemmed", "rank-bm25", "chunk-dense", "pageindex-tree", "whole-tree")
MODELS = ("scripted:oracle", "scripted:reader", "scripted:random")
VISION = ("always", "never")
OUTLINE_SETS = ("bookmarks", "outlines", "hips")
DEPTH = 20
RUNS = "eval-runs"
"""The default folder of runs and homes, below the current folder."""
_PLACES = ("home", "out", "data", "parallel")  # options that do not affect the results


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of an evaluation run.

    ``depth`` is the number of requested results. ``kinds`` and ``min_pages`` filter questions by kind and by the
    minimum pages of their document. ``sample`` is the number of questions to ask, 0 for all. ``parallel`` is the number
    of questions asked at the same time.

    ``embedder`` provides the library's vectors for the ranker "engine", "" for none. ``paraphrases`` is a file that
    rephrases some of the questions; only these are asked. ``misspelt`` is the number of misspelled words per question,
    chosen by ``seed``. ``hide_names`` gives the files meaningless names.

    ``effort``, ``strategy`` and ``scoring`` (changes to ScoringConfig) are for the ranker "engine". ``model`` is the
    name of a scripted model (eval.runs.scripted), "" for the model in the engine's settings. With ``answers``, the
    model answers each question from the first pages. Then ``judge_model``, at the same endpoint, decides whether the
    answer is right; "" uses the model itself. ``vision`` tells whether the model sees pictures of the pages; "" leaves
    this to the engine.
    """

    dataset: str
    setting: str = "library"
    ranker: str = "engine"
    expert: str = "auto"
    embedder: str = ""
    fusion: Fusion = "weighted"
    effort: Effort = "fast"
    strategy: Strategy = "outline"
    scoring: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    answers: bool = False
    vision: str = ""
    judge_model: str = ""
    sample: int = 0
    seed: int = 0
    distractors: Path | None = None
    kinds: tuple[str, ...] = ()
    min_pages: int = 0
    depth: int = DEPTH
    docs: Path | None = None
    questions: Path | None = None
    wording: str | None = None
    paraphrases: Path | None = None
    misspelt: int = 0
    hide_names: bool = False
    data: Path | None = None
    home: Path | None = None
    out: Path | None = None
    parallel: int = 1

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise UsageError(f"The setting '{self.setting}' does not exist.", f"Choose one of: {', '.join(SETTINGS)}.")
        if self.ranker not in RANKERS:
            raise UsageError(f"The ranker '{self.ranker}' does not exist.", f"Choose one of: {', '.join(RANKERS)}.")
        if not 5 <= self.depth <= 1000:
            raise UsageError(f"The number of results per question (--depth) is {self.depth}.", "Choose 5 to 1000.")
        if self.model and self.model not in MODELS:
            raise UsageError(
                f"--model cannot be '{self.model}'.",
                f"Choose {' or '.join(MODELS)}; leave --model out to use the configured model.",
            )
        if self.vision not in ("", *VISION):
            raise UsageError(
                f"--vision cannot be '{self.vision}'.", f"Choose {' or '.join(VISION)}, or leave --vision out."
            )
        if self.vision and not self.answers:
            raise UsageError("--vision is used only with answers, but --answers is missing.", "Add --answers.")
        if not 1 <= self.parallel <= 64:
            raise UsageError(
                f"{self.parallel} is not a valid number of parallel questions (--parallel).", "Choose 1 to 64."
            )
        if self.judge_model and not self.answers:
            raise UsageError("--judge-model judges answers, but --answers is missing.", "Add --answers.")
        if self.sample < 0 or self.min_pages < 0 or self.misspelt < 0:
            raise UsageError(
                "--sample, --min-pages and --misspelt cannot be negative.",
                "Use numbers of 0 or more, or leave these options out to ask all questions.",
            )

    @property
    def needs_model(self) -> bool:
        """Return whether the plan requires a model."""
        return self.answers or self.ranker == "whole-tree"

    @property
    def label(self) -> str:
        """Return the set's name in a form that can be part of a folder name."""
        return self.dataset.replace("/", "-")

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that determine the results.

        ``run.json`` records them, and a resumed run must have equal ones.
        """
        written = {name: value for name, value in asdict(self).items() if name not in _PLACES}
        paths = {name: str(value.absolute()) for name, value in written.items() if isinstance(value, Path)}
        usual = {name for name in ("scoring", "misspelt", "vision") if not written[name]}
        fields = written | paths | {"kinds": list(self.kinds)}
        return {name: value for name, value in fields.items() if name not in usual}

    @property
    def search(self) -> SearchFields:
        """Return the search options of every question."""
        return {
            "effort": self.effort, "strategy": self.strategy, "expert": self.expert, "fusion": self.fusion,
            "scoring": self.scoring or None,
        }  # fmt: skip

    def folder(self, now: datetime | None = None) -> Path:
        """Return the folder of the run: ``out``, or a new one named after the plan and the time."""
        if self.out is not None:
            return self.out
        stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
        return Path(RUNS) / f"{self.label}-{self.setting}-{self.ranker}-{stamp}"

    def home_folder(self, files: Sequence[Path]) -> Path:
        """Return the folder of the engine's home: ``home``, or a folder beside the runs.

        Runs with equal files and embedder share a folder.
        """
        if self.home is not None:
            return self.home
        listed = "\n".join(sorted(str(path.absolute()) for path in files))
        name = f"{self.label}-{hashlib.sha256(listed.encode()).hexdigest()[:8]}"
        if self.ranker == "engine" and self.embedder:
            name += "-" + re.sub(r"[^A-Za-z0-9.]+", "-", self.embedder).strip("-")
        return self.folder().parent / "homes" / name
