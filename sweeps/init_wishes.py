"""What `stockpot init` was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError, Problem

TEACHERS = ("spans", "late-interaction", "token-classifier", "file")


@dataclass(frozen=True)
class Wishes:
    """What was asked for. Without `corpus` and `train`, the built-in corpus."""

    name: str | None = None
    corpus: Path | None = None
    train: Path | None = None
    dev: tuple[Path, ...] = ()
    confirm: tuple[Path, ...] = ()
    encoder: str = "minilm"
    teacher: str = "spans"  # KIND or KIND:PATH
    trials: int = 8
    slots: int = 2
    gpus: float = 0
    steps: int | None = None

    def check(self) -> None:
        """Raises InputError with every contradiction, by option."""
        problems = []
        if self.corpus and (self.dev or self.confirm):
            problems.append(Problem("--corpus", "is cut into train, dev and confirm itself: give it, or --train and --dev"))
        if self.train and not self.corpus and not self.dev:
            problems.append(Problem("--dev", "is missing: --train needs a corpus to judge on, or --corpus to cut one from"))
        if (self.dev or self.confirm) and not self.train and not self.corpus:
            problems.append(Problem("--train", "is missing: --dev and --confirm stand beside it"))
        kind, _, path = self.teacher.partition(":")
        if kind not in TEACHERS or (path == "" and kind in ("token-classifier", "file")):
            problems.append(Problem("--teacher", f"is one of spans, late-interaction[:DIR], token-classifier:DIR, file:SCORES.parquet; "
                                    f"found {self.teacher!r}"))  # fmt: skip
        if problems:
            raise InputError(problems)

    @property
    def title(self) -> str:
        source = self.corpus or self.train
        return self.name or (source.resolve().name if source else "") or "built-in"
