"""`stockpot evaluate`: any checkpoint, soup, baseline, encoder of one's own or vectors, on any corpus."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from corpora.errors import FAILED, InputError, Problem
from stockpot import evaluation_folder, output
from stockpot.options import check_target, words

Texts = list[str] | None
SUITE_FILES = (".yaml", ".yml")


def register(app: typer.Typer) -> None:
    app.command(name="evaluate")(evaluate)


def evaluate(
    checkpoint: Annotated[str | None, typer.Argument(help="Folder of a checkpoint, a soup or a base+ (the untrained student); or `bm25`; `isolated` (MiniLM over chunks alone) or isolated:FOLDER; `late` (late chunking: MiniLM over whole documents) or late:FOLDER, of a transformers encoder; sentence-transformers:FOLDER.")] = None,
    corpus: Annotated[list[Path] | None, typer.Option(help="Folder of a corpus in the native format; several are several tasks.")] = None,
    suite: Annotated[Texts, typer.Option(help="Suites, repeated or separated by commas: q2c, q2d, context, chunk-size, storage, spans, conteb, needle; or a suite file (.yaml).")] = None,
    suite_file: Annotated[Path | None, typer.Option(help="YAML of tasks, suites and axes (examples/suite.yaml); the options below come before what it says.")] = None,
    encoder: Annotated[str | None, typer.Option(help="An encoder of your own instead of a checkpoint: module.path:factory, a function without arguments that returns one (protocol: evaluators/encoder.py). Runs your code.")] = None,
    vectors: Annotated[Path | None, typer.Option(help='Vectors instead of a checkpoint: JSON {"queries": {id: vector}, "chunks": {document: \\[vector, ...]}}, or a folder with queries.npy, queries.txt, chunks.npy, chunks.txt (ids, one a line; chunks are DOCUMENT#000000); `given` chunks in every suite.')] = None,
    sweep: Annotated[Path | None, typer.Option(metavar="SWEEP_DIR", help="Evaluate on the dev split of this sweep, instead of --corpus.")] = None,
    open_test: Annotated[bool, typer.Option("--open-test", help="With --sweep: evaluate on its test split. The ledger records each opening.")] = False,
    backfill: Annotated[Path | None, typer.Option(metavar="SWEEP_DIR", help="Measure the suites (--suite) on all kept checkpoints and baselines of this sweep; what it holds is not done again. Names: on its dev split; a file: on its tasks.")] = None,
    dimensions: Annotated[Texts, typer.Option(help="Matryoshka cuts, e.g. 384,128,64; the full dimension by default.")] = None,
    precision: Annotated[Texts, typer.Option(help="float32, int8, binary; all by default.")] = None,
    k: Annotated[Texts, typer.Option(help="Cuts of the rankings, e.g. 1,5,10.")] = None,
    chunking: Annotated[str | None, typer.Option(help="Chunks of q2c, q2d, context, storage and spans: sentence, paragraph, tokens:256, tokens:256/0.2, given, whole.")] = None,
    chunk_sizes: Annotated[Texts, typer.Option(help="Sizes in tokens of the chunk-size suite, e.g. 64,128,256,512.")] = None,
    needle_lengths: Annotated[Texts, typer.Option(help="Haystacks of the needle suite in tokens, needle included; 128 to 8192, as far as the corpus goes, by default. The corpora are the filler.")] = None,
    needles: Annotated[Path | None, typer.Option(help="JSONL of needles of your own: id, category, default, inverted, literal, one_hop, literal_expansion?, one_hop_expansion?.")] = None,
    needle_expansions: Annotated[Path | None, typer.Option(help='JSONL of query expansions: {"id": needle, "literal_expansion"?, "one_hop_expansion"?}.')] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder with the tokenizer.json that counts tokens for encoders without one (bm25, some of your own); MiniLM's by default.")] = None,
    device: Annotated[str, typer.Option(help="Where encoders run: cpu, cuda, cuda:1.")] = "cpu",
    runs: Annotated[Path | None, typer.Option(help="Folder for TREC run and qrels files.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="Parquet file for the value of every query.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for everything: per-query.parquet, results.json, report.md and report.html with figures, mteb/, and runs/ unless --runs says otherwise.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier evaluation in --out, once the new one is complete: what it wrote, and nothing else.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout: `results`, rows of suite, task, chunking, dimension, precision, metric, value, queries.")] = False,
) -> None:
    """Scores a checkpoint, any encoder, or vectors on corpora: per query first, then means."""
    if backfill is not None:
        alone = {"CHECKPOINT": checkpoint, "--corpus": corpus, "--encoder": encoder, "--vectors": vectors, "--sweep": sweep, "--out": out,
                 "--dimensions": dimensions, "--precision": precision, "--k": k, "--chunking": chunking, "--chunk-sizes": chunk_sizes,
                 "--needle-lengths": needle_lengths, "--needles": needles, "--needle-expansions": needle_expansions}  # fmt: skip
        _backfill(backfill, _suites(suite, suite_file), [name for name, given in alone.items() if given], json_output)
        return
    from evaluators.metrics import DEEPEST, LARGEST

    problems = _problems(checkpoint, encoder, vectors, sweep, open_test, corpus, chunking, suite, precision)
    numbers = {option: _numbers(option, given, problems, most) for option, given, most in (
        ("--dimensions", dimensions, LARGEST), ("--k", k, DEEPEST), ("--chunk-sizes", chunk_sizes, LARGEST), ("--needle-lengths", needle_lengths, LARGEST),
    )}  # fmt: skip
    if problems:
        raise InputError(problems)
    if out is not None:
        runs, per_query = runs or out / evaluation_folder.RUNS, per_query or out / evaluation_folder.PER_QUERY
    for option, target in {"--out": out, "--runs": runs, "--per-query": per_query}.items():
        if target is not None:
            check_target(option, target, folder=option != "--per-query")
    earlier = evaluation_folder.earlier(out, overwrite) if out is not None else []
    from evaluators.evaluate import evaluate as measure
    from stockpot.encoding_progress import EncodingProgress
    from sweeps.evaluations import open_tasks

    file, names = _suites(suite, suite_file)
    needle = {"lengths": numbers["--needle-lengths"], "needles": needles and str(needles),
              "expansions": needle_expansions and str(needle_expansions)}  # fmt: skip
    given = {
        "suites": names, "dimensions": numbers["--dimensions"], "precisions": words("--precision", precision),
        "ks": numbers["--k"], "chunk_sizes": numbers["--chunk-sizes"],
        "chunking": "given" if vectors else chunking, "needle": _needle_plan(file, needle),
    }  # fmt: skip
    settings = (file.settings() if file else {}) | {name: value for name, value in given.items() if value}
    opened = _encoder(checkpoint, encoder, device) if vectors is None else None
    if file and file.tasks and (corpus or sweep):
        output.say(f"{'--corpus' if corpus else '--sweep'} comes before the {len(file.tasks)} tasks of the suite file: they are not evaluated")
    tasks = open_tasks(corpus or (), file, sweep, checkpoint or encoder or str(vectors) if open_test else None)
    encoding = opened or _vectors(vectors, tasks)
    with evaluation_folder.replacing(out, earlier) if out is not None else nullcontext(Path) as place:
        with EncodingProgress() as shown:
            if hasattr(encoding, "watch"):
                encoding.watch = shown.watch
            tokens = _tokenizer(tokenizer, settings) if encoding.tokenizer is None else None
            results = measure(encoding, tasks, **settings, tokenizer=tokens, runs=runs and place(runs), say=shown.say)
        content = _content(results)
        if per_query is not None:
            results.to_parquet(place(per_query))
        if out is not None:
            evaluation_folder.write(place(out), content, results)
    _told(content, json_output)


def _problems(
    checkpoint: str | None, encoder: str | None, vectors: Path | None, sweep: Path | None, open_test: bool,
    corpus: list[Path] | None, chunking: str | None, suite: Texts, precision: Texts,
) -> list[Problem]:
    """What contradicts itself or is unknown, before anything is read."""
    from corpora.chunkings import Chunking
    from evaluators.evaluate import unknown

    problems = unknown([word for word in words("--suite", suite) if not word.endswith(SUITE_FILES)], words("--precision", precision))
    if sum(given is not None for given in (checkpoint, encoder, vectors)) != 1:
        problems.append(Problem("CHECKPOINT", "give one of a checkpoint's folder (or a word such as bm25), --encoder and --vectors"))
    if vectors is not None and chunking not in (None, "given"):
        problems.append(Problem("--chunking", f"vectors from a file belong to the `given` chunks, found {chunking!r}: leave it out"))
    elif chunking is not None:
        try:
            Chunking.parse(chunking)
        except ValueError as error:
            problems.append(Problem("--chunking", str(error)))
    if open_test and sweep is None:
        problems.append(Problem("--open-test", "opens the test split of a sweep: name it by --sweep SWEEP_DIR"))
    if sweep is not None and corpus:
        problems.append(Problem("--sweep", "evaluates on the sweep's own split: leave --corpus out"))
    return problems


def _suites(suite: Texts, suite_file: Path | None) -> tuple[Any, list[str]]:
    """The suite file, if one is named by either option, and the suites named in words."""
    named = words("--suite", suite)
    files = [Path(word) for word in named if word.endswith(SUITE_FILES)] + [suite_file] * (suite_file is not None)
    if len(files) > 1:
        raise InputError(Problem("--suite-file", f"one suite file at a time, found {', '.join(map(str, files))}"))
    if not files:
        return None, named
    from evaluators.suite_file import load

    return load(files[0]), [word for word in named if Path(word) != files[0]]


def _needle_plan(file: Any, options: dict[str, Any]) -> Any:
    """The needle suite as the options change it; None where they say nothing."""
    told = {name: value for name, value in options.items() if value}
    if not told:
        return None
    from evaluators.suite_file import NeedleSuite

    return NeedleSuite.model_validate({**(file.needle.model_dump() if file else {}), **told}).plan()


def _encoder(checkpoint: str | None, encoder: str | None, device: str) -> Any:
    from trainables import encoders

    return encoders.own(encoder) if encoder else encoders.encoder_of(*encoders.named(checkpoint), device)


def _vectors(vectors: Path, tasks: list[Any]) -> Any:
    from evaluators.vectors import FileVectors

    if len(tasks) != 1:
        raise InputError(Problem("--vectors", f"holds the vectors of one corpus, found {len(tasks)}"))
    return FileVectors.read(vectors, tasks[0].corpus)


def _tokenizer(folder: Path | None, settings: dict[str, Any]) -> Any:
    """Counts tokens for an encoder that has no tokenizer; None where no suite counts any, so that none need be there."""
    from corpora.tokens import Tokenizer
    from evaluators.evaluate import DEFAULT_SUITES
    from trainables.base import encoder_folder

    counts = {"chunk-size", "needle"} & set(settings.get("suites", DEFAULT_SUITES))
    if folder is None and not counts and not str(settings.get("chunking")).startswith("tokens:"):
        return None
    return Tokenizer.from_folder(folder or encoder_folder("minilm"))


def _numbers(option: str, given: Texts, problems: list[Problem], most: int) -> list[int]:
    """What is no number from 1 to `most` goes to `problems`."""
    found = words(option, given)
    wrong = [word for word in found if not (word.isascii() and word.isdigit() and len(word) < 10 and 0 < int(word) <= most)]
    if wrong:
        shown = ", ".join(repr(word if len(word) < 40 else f"{word[:40]}...") for word in wrong)
        problems.append(Problem(option, f"takes whole numbers from 1 to {most}, separated by commas; found {shown}"))
    return [int(word) for word in found if word not in wrong]


def _content(results: Any) -> dict[str, Any]:
    rows = results.rows().astype({"dimension": int}).to_dict("records")
    return {"encoder": results.encoder, "results": rows, "figures": results.figures(), "chance": _chance(results)}


def _told(content: dict[str, Any], json_output: bool) -> None:
    """The table, or the object, on stdout."""
    if json_output:
        output.print_json(content)
        return
    _show(content["encoder"], content["results"])
    if content["chance"]:
        typer.echo("by chance: " + ", ".join(f"{name} {chance}" for name, chance in content["chance"].items()))


def _chance(results: Any) -> dict[str, float | str]:
    """What chance gives for the figures that are read against it."""
    from evaluators.suites.needle_figures import CHANCE

    if not (results.per_query.suite == "needle").any():
        return {}
    return {f"needle/{name}": value for name, value in CHANCE.items()} | {"needle/Normalised": "needle/NormalisedChance"}


def _show(name: str, rows: list[dict[str, Any]]) -> None:
    """The table; what needles say at each depth is left to --json and the report."""
    columns = ("suite", "metric", "task", "chunking", "dimension", "precision", "value", "queries")
    output.print_table(
        f"{name}",
        columns,
        [[f"{row[c]:.4f}" if c == "value" else str(row[c]) for c in columns] for row in rows if "[depth=" not in row["metric"]],
    )


def _backfill(folder: Path, suites: tuple[Any, list[str]], beside: list[str], json_output: bool) -> None:
    file, names = suites
    problems = [Problem(name, "says nothing to a backfill: the sweep, or the suite file, decides that") for name in beside]
    if (file is None) == (not names):
        problems.append(Problem("--suite", "a backfill takes suites by name, or one suite file"))
    if problems:
        raise InputError(problems)
    from sweeps.backfill import backfill

    def say(what: str) -> None:
        output.progress.print(what, markup=False, soft_wrap=True)

    filled = backfill(folder, file or names, time.time, say, os.cpu_count() or 1)
    if json_output:
        output.print_json(vars(filled))
    else:
        typer.echo(f"measured {len(filled.measured)}, held already {len(filled.held)}, checkpoints removed {len(filled.missing)}, "
                   f"failed {len(filled.failed)}")
    for name, reason in filled.failed.items():
        output.progress.print(f"not evaluated: {name} ({reason})", markup=False)
    if filled.failed:
        raise typer.Exit(FAILED)
