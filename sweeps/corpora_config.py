"""`corpora` of a sweep's YAML: one folder that is cut, folders by split, or the built-in generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from corpora.cutting import SHARES, THRESHOLD, shares_problem
from corpora.wording import short
from corpora.yaml_model import LARGEST_SEED
from trainables.recipe import Frozen

SPLITS = ("train", "dev", "confirm", "test")

Folder = Annotated[str, Field(min_length=1)]
Folders = Annotated[tuple[Folder, ...], Field(min_length=1)]


class TrainCorpus(Frozen):
    """One of several corpora to train on; each batch comes from one of them, drawn by weight."""

    folder: Folder
    weight: float = Field(1.0, gt=0, description="share of the batches, beside the others' weights")


def _listed(given: Any) -> Any:
    """Folders, of which one may stand alone."""
    listed = [given] if isinstance(given, str) else () if given is None else given
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) for one in listed):
        raise ValueError(f"a folder or a list of folders, found {short(given)}")
    _once(listed)
    return listed


def _weighted(given: Any) -> Any:
    """Training corpora, of which one may stand alone, by folder or as {folder, weight}."""
    listed = [given] if isinstance(given, (str, dict, TrainCorpus)) else () if given is None else given
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, (str, dict, TrainCorpus)) for one in listed):
        raise ValueError(f"a folder or a list of folders, each by name or as {{folder: ..., weight: ...}}; found {short(given)}")
    _once([one if isinstance(one, str) else one.get("folder") for one in listed if not isinstance(one, TrainCorpus)])
    return [{"folder": one} if isinstance(one, str) else one for one in listed]


def _once(folders: Sequence[Any]) -> None:
    """A folder that stands twice would be two tasks of one name, or count double."""
    twice = [one for place, one in enumerate(folders) if one in folders[:place]]
    if twice:
        raise ValueError(f"names {twice[0]} twice")


TrainCorpora = Annotated[
    tuple[TrainCorpus, ...], BeforeValidator(_weighted, json_schema_input_type=tuple[TrainCorpus | str, ...])
]


class CutCorpora(Frozen):
    """One folder, cut by family into splits, frozen on first use; with `train`, corpora to train on apart from it."""

    folder: Folder
    train: TrainCorpora = Field(
        (), description="training corpora of their own: then `folder` is cut into dev, confirm and test only"
    )
    shares: dict[Literal["train", "dev", "confirm", "test"], float] = Field(SHARES)
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    threshold: float = Field(
        THRESHOLD, gt=0, le=1, description="Jaccard similarity of near-duplicates, where no family is given"
    )

    @model_validator(mode="after")
    def _whole(self) -> CutCorpora:
        shares = self.shares
        needed = {"dev"} if self.train else {"train", "dev"}
        if not needed <= set(shares) or shares_problem(shares):
            wrong = shares_problem(shares) or f"{' and '.join(sorted(needed - set(shares)))} has no share"
            raise ValueError(f"shares need {' and '.join(sorted(needed))}, each over 0, and sum to 1: {wrong}")
        if self.train and "train" in shares:
            raise ValueError("`train` names training corpora of their own: leave train out of the shares")
        return self


class SplitCorpora(Frozen):
    """Splits that are folders of their own: dev, confirm and test may be lists of folders, each a task of its own."""

    train: Annotated[TrainCorpora, Field(min_length=1, description="a folder, or several, each `folder` or {folder, weight}")]
    dev: Folders
    confirm: tuple[Folder, ...] = ()
    test: tuple[Folder, ...] = ()

    @field_validator("dev", "confirm", "test", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return _listed(given)


class GeneratedCorpora(Frozen):
    """The built-in generator's corpora."""

    generate: Literal["demo", "quick"]
    seed: int = Field(0, ge=0, le=LARGEST_SEED)


def _form(given: Any) -> str | None:
    if not isinstance(given, (dict, Frozen)):
        return None
    keys = given if isinstance(given, dict) else vars(given)
    return "<generated>" if "generate" in keys else "<cut>" if "folder" in keys else "<split>"


FORMS = {"<cut>": CutCorpora, "<split>": SplitCorpora, "<generated>": GeneratedCorpora}
Corpora = Annotated[
    Annotated[CutCorpora, Tag("<cut>")]
    | Annotated[SplitCorpora, Tag("<split>")]
    | Annotated[GeneratedCorpora, Tag("<generated>")],
    Discriminator(
        _form, custom_error_type="form_of_corpora",
        custom_error_message="takes {folder: ...}, {train: ..., dev: ...} or {generate: demo}",
    ),
]


def train_corpora(corpora: CutCorpora | SplitCorpora | GeneratedCorpora) -> tuple[TrainCorpus, ...]:
    """What is trained on, where that is apart from the folder that is cut or generated."""
    return () if isinstance(corpora, GeneratedCorpora) else corpora.train
