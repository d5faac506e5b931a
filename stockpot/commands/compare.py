"""`stockpot compare`: which of several evaluations is better, whether that can be told at all, and why."""

from __future__ import annotations

import string
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from corpora.errors import InputError, Problem
from stockpot import output
from stockpot.options import check_target

EXPLAINED = ("context/Answer@10", "q2c/nDCG@10", "conteb/nDCG@10", "q2d/nDCG@10", "spans/SpanHit@10")


def register(app: typer.Typer) -> None:
    app.command(name="compare")(compare)


def compare(
    evaluations: Annotated[list[str], typer.Argument(metavar="A B [C ...]", help="Folders that `stockpot evaluate --out` wrote, parquet files of `--per-query`, checkpoints of a sweep as SWEEP_DIR:TRIAL (its best on dev, as `status` shows it), SWEEP_DIR:TRIAL@STEP or their folder, or its baselines as SWEEP_DIR:NAME.")],
    figure: Annotated[list[str] | None, typer.Option(help="Figures to compare, e.g. q2c/nDCG@10, or whole suites, e.g. storage; repeated. All headline figures that the evaluations share by default.")] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Every pair; by default the first against each other one.")] = False,
    split: Annotated[str, typer.Option(help="Of a sweep's checkpoints: the split whose scores are compared.")] = "dev",
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap: the same seed, the same intervals.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for compare.html: the tables, a figure of the differences, and the queries that flipped; and for report.html and report.md, all of them side by side.")] = None,
    explain: Annotated[str | None, typer.Option(help="The figure whose flipped queries are shown; context/Answer@10 or q2c/nDCG@10 by default.")] = None,
    corpus: Annotated[list[Path] | None, typer.Option(help="Folder of a corpus that was evaluated: shows the flipped queries' texts, answers and retrieved chunks.")] = None,
    teacher: Annotated[list[Path] | None, typer.Option(help="Parquet file of teacher scores, shown as shades over the documents asked for; those of a sweep are found by themselves.")] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder with the tokenizer that cut `tokens:N` chunks, e.g. the checkpoint's.")] = None,
    flips: Annotated[int, typer.Option(min=1, help="How many flipped queries of a pair are shown.")] = 20,
    top: Annotated[int, typer.Option(min=1, help="How many retrieved chunks of each side are shown.")] = 5,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout: `evaluations` by letter, and `rows` with the columns of the tables.")] = False,
) -> None:
    """Compares evaluations on the same queries: paired differences, intervals, sign tests, and a verdict.

    One is called better only where the 95% interval of the difference (bootstrap over families of documents) excludes 0
    and an exact sign test on the queries whose values differ, adjusted by Holm over the tasks, gives p <= 0.05.
    Otherwise no difference can be told.
    """
    if not 2 <= len(evaluations) <= len(string.ascii_uppercase):
        raise InputError(Problem("A B [C ...]", f"takes 2 to {len(string.ascii_uppercase)} evaluations, found {len(evaluations)}"))
    if out is not None:
        check_target("--out", out, folder=True)
    import numpy as np

    from evaluators.compare import compare as compared_rows
    from evaluators.compare import shared_figures
    from evaluators.explain.flipped import Compared

    found = [_read(place, split) for place in evaluations]
    compared = [Compared.of(letter, name, results, runs)
                for letter, (name, results, runs, _) in zip(string.ascii_uppercase, found, strict=False)]
    for each in compared:
        output.progress.print(f"{each.letter} = {each.place} ({each.encoder})", markup=False, soft_wrap=True)
    results = [each.results for each in compared]
    names = shared_figures(results, figure or ())
    rows = compared_rows(results, names, np.random.default_rng(seed), every_pair=all_pairs)
    if out is not None:
        from evaluators.explain.page import write_comparison
        from evaluators.report import write_report

        sweeps = dict.fromkeys(sweep for *_, sweep in found if sweep is not None)
        explained = _explained(compared, rows, _figure(explain, results), corpus or [],
                               [*(teacher or []), *_teachers(list(sweeps))], tokenizer, flips, top)
        write_comparison(out, compared, rows, explained)
        write_report(out, [replace(each.results, encoder=f"{each.letter} {each.encoder}") for each in compared])
        output.progress.print(f"written: {out / 'compare.html'}, {out / 'report.html'}", markup=False, soft_wrap=True)
    if json_output:
        about = {each.letter: {"from": each.place, "encoder": each.encoder} for each in compared}
        known = rows.astype(object).where(rows.notna(), None)  # a single family has no interval
        output.print_json({"evaluations": about, "rows": known.to_dict("records")})
    else:
        _show(rows, {each.letter: each.place for each in compared})


def _read(place: str, split: str) -> tuple[str, Any, Path | None, Path | None]:
    """What to call it, its results, the folder of its runs, and the sweep that it is from."""
    from evaluators.results import Results
    from sweeps.evaluated import evaluated

    path = Path(place)
    if (path / "per-query.parquet").is_file():
        runs = path / "runs"
        return place, Results.from_parquet(path / "per-query.parquet"), runs if runs.is_dir() else None, None
    if path.is_file():
        return place, Results.from_parquet(path), None, None
    found = evaluated(place, split)
    if found is None:
        raise InputError(Problem(place, "is no folder that `stockpot evaluate --out` wrote (it has no per-query.parquet), no "
                                 "parquet file, and no checkpoint of a sweep (SWEEP_DIR:TRIAL[@STEP], or its folder)"))
    return f"{place} ({found.name})", Results.from_parquet(found.per_query), None, found.sweep


def _figure(asked: str | None, results: list[Any]) -> str:
    from evaluators.compare import shared_figures

    names = shared_figures(results, [asked] if asked else ())
    if asked is not None and asked not in names:
        raise InputError(Problem("--explain", f"takes one figure, found the suite {asked!r}: {', '.join(names)}"))
    return asked or next((name for name in EXPLAINED if name in names), names[0])


def _teachers(sweeps: list[Path]) -> list[Path]:
    return [path for sweep in sweeps for path in sorted((sweep / "store" / "scores").glob("*.parquet"))]


def _explained(
    compared: list[Any], rows: Any, figure: str, folders: list[Path], teachers: list[Path], tokenizer: Path | None,
    flips: int, top: int,
) -> list[Any]:
    from corpora import native, scores
    from corpora.tokens import Tokenizer
    from evaluators.explain.flipped import Explainer
    from evaluators.explain.page import Explained

    corpora = [native.read(folder) for folder in folders]
    known = set(compared[0].results.tasks.corpus_sha256)
    strange = [Problem("--corpus", f"{folder} was not evaluated: its content is {corpus.sha256[:12]}, evaluated were "
                       f"{', '.join(sorted(each[:12] for each in known))}")
               for folder, corpus in zip(folders, corpora, strict=True) if corpus.sha256 not in known]
    if strange:
        raise InputError(strange)
    explainer = Explainer(corpora, Tokenizer.from_folder(tokenizer) if tokenizer else None,
                          [scores.read(path) for path in teachers] if corpora else [], top)
    letters = {each.letter: each for each in compared}
    found = []
    for a, b in rows[["a", "b"]].drop_duplicates().itertuples(index=False):
        shown, total = explainer.explain(letters[a], letters[b], figure, flips)
        found.append(Explained(letters[a], letters[b], figure, shown, total, _hint(letters[a], letters[b], corpora)))
    return found


def _hint(a: Any, b: Any, corpora: list[Any]) -> str:
    """How to see the retrieved chunks, where something is missing for that."""
    if not corpora:
        return "For their texts, answers and retrieved chunks give the evaluated corpus with --corpus."
    without = [each.letter for each in (a, b) if each.runs is None]
    return f"{' and '.join(without)} left no runs: for the retrieved chunks compare folders of `stockpot evaluate --out`." if without else ""


def _show(rows: Any, places: dict[str, str]) -> None:
    from evaluators.explain.page import comparison_table

    for (a, b), part in rows.groupby(["a", "b"], sort=False):
        table = comparison_table(part)
        output.print_table(f"{a} = {places[a]}\n{b} = {places[b]}", table.columns, table.rows)
