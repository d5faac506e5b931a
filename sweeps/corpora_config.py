"""`corpora` of a sweep's YAML: one folder that is cut, folders by split, or the built-in generator."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from trainables.recipe import Frozen

SPLITS = ("train", "dev", "confirm", "test")

Folders = Annotated[tuple[str, ...], Field(min_length=1)]


class TrainCorpus(Frozen):
    """One of several corpora to train on; each batch comes from one of them, drawn by weight."""

    folder: str
    weight: float = Field(1.0, gt=0, description="share of the batches, beside the others' weights")


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, (str, dict)) else given


def _weighted(given: Any) -> Any:
    return [{"folder": one} if isinstance(one, str) else one for one in _listed(given)] if given is not None else ()


TrainCorpora = Annotated[
    tuple[TrainCorpus, ...], BeforeValidator(_weighted, json_schema_input_type=tuple[TrainCorpus | str, ...])
]


class CutCorpora(Frozen):
    """One folder, cut by family into splits, frozen on first use; with `train`, corpora to train on apart from it."""

    folder: str
    train: TrainCorpora = Field(
        (), description="training corpora of their own: then `folder` is cut into dev, confirm and test only"
    )
    shares: dict[Literal["train", "dev", "confirm", "test"], float] = Field({"train": 0.6, "dev": 0.2, "confirm": 0.2})
    seed: int = Field(0, ge=0)
    threshold: float = Field(
        0.7, gt=0, le=1, description="Jaccard similarity of near-duplicates, where no family is given"
    )

    @model_validator(mode="after")
    def _whole(self) -> CutCorpora:
        shares = self.shares
        needed = {"dev"} if self.train else {"train", "dev"}
        if not needed <= set(shares) or min(shares.values()) <= 0 or abs(sum(shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares need {' and '.join(sorted(needed))}, each over 0, and sum to 1; found {shares}")
        if self.train and "train" in shares:
            raise ValueError("`train` names training corpora of their own: leave train out of the shares")
        return self


class SplitCorpora(Frozen):
    """Splits that are folders of their own: dev, confirm and test may be lists of folders, each a task of its own."""

    train: Annotated[TrainCorpora, Field(min_length=1, description="a folder, or several, each `folder` or {folder, weight}")]
    dev: Folders
    confirm: tuple[str, ...] = ()
    test: tuple[str, ...] = ()

    @field_validator("dev", "confirm", "test", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return _listed(given)


class GeneratedCorpora(Frozen):
    """The built-in generator's corpora."""

    generate: Literal["demo", "quick"]
    seed: int = Field(0, ge=0)


def _form(given: Any) -> str:
    keys = given if isinstance(given, dict) else vars(given)
    return "<generated>" if "generate" in keys else "<cut>" if "folder" in keys else "<split>"


FORMS = {"<cut>": CutCorpora, "<split>": SplitCorpora, "<generated>": GeneratedCorpora}
Corpora = Annotated[
    Annotated[CutCorpora, Tag("<cut>")]
    | Annotated[SplitCorpora, Tag("<split>")]
    | Annotated[GeneratedCorpora, Tag("<generated>")],
    Discriminator(_form),
]


def train_corpora(corpora: CutCorpora | SplitCorpora | GeneratedCorpora) -> tuple[TrainCorpus, ...]:
    """What is trained on, where that is apart from the folder that is cut or generated."""
    return () if isinstance(corpora, GeneratedCorpora) else corpora.train
