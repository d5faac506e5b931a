"""`stockpot evaluate`: any checkpoint, soup, baseline or file of vectors on any corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corpora.errors import InputError, Problem
from stockpot import output

WORDS = ("bm25", "isolated")


def register(app: typer.Typer) -> None:
    app.command(name="evaluate")(evaluate)


def evaluate(
    checkpoint: Annotated[str | None, typer.Argument(help="Folder of a checkpoint, a soup or a base+ (the untrained student); or `bm25`, or `isolated` (MiniLM over chunks alone).")] = None,
    corpus: Annotated[list[Path], typer.Option(help="Folder of a corpus in the native format; several are several tasks.")] = ...,
    suite: Annotated[list[str] | None, typer.Option(help="Suites, repeated or separated by commas: q2c, q2d, context, chunk-size, storage, spans, conteb.")] = None,
    vectors: Annotated[Path | None, typer.Option(help='Vectors instead of a checkpoint: JSON {"queries": {id: vector}, "chunks": {document: [vector, ...]}}; `given` chunks in every suite.')] = None,
    dimensions: Annotated[list[str] | None, typer.Option(help="Matryoshka cuts, e.g. 384,128,64; the full dimension by default.")] = None,
    precision: Annotated[list[str] | None, typer.Option(help="float32, int8, binary; all by default.")] = None,
    k: Annotated[list[str] | None, typer.Option(help="Cuts of the rankings, e.g. 1,5,10.")] = None,
    chunking: Annotated[str | None, typer.Option(help="Chunks of q2c, q2d, context, storage and spans: sentence, paragraph, tokens:256, tokens:256/0.2, given, whole.")] = None,
    chunk_sizes: Annotated[list[str] | None, typer.Option(help="Sizes in tokens of the chunk-size suite, e.g. 64,128,256,512.")] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder for TREC run and qrels files.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="Parquet file for the value of every query.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for everything: per-query.parquet, results.json, figures, and runs/ unless --runs says otherwise.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout: `results`, rows of suite, task, chunking, dimension, precision, metric, value, queries.")] = False,
) -> None:
    """Scores a checkpoint (or vectors) on corpora: per query first, then means."""
    if (checkpoint is None) == (vectors is None):
        raise InputError(Problem("CHECKPOINT", "give either a checkpoint's folder or --vectors FILE"))
    if vectors is not None and chunking not in (None, "given"):
        raise InputError(Problem("--chunking", f"vectors from a file belong to the `given` chunks, found {chunking!r}: leave it out"))
    from corpora import native
    from evaluators import evaluate as evaluation

    corpora = [native.read(folder) for folder in corpus]
    encoder = _encoder(checkpoint, vectors, corpora)
    if out is not None:
        runs, per_query = runs or out / "runs", per_query or out / "per-query.parquet"
    given = {
        "suites": _words(suite), "dimensions": _numbers("--dimensions", dimensions), "precisions": _words(precision),
        "ks": _numbers("--k", k), "chunk_sizes": _numbers("--chunk-sizes", chunk_sizes),
    }  # fmt: skip
    results = evaluation.evaluate(
        encoder,
        [evaluation.Task(name, one) for name, one in zip(_names(corpus), corpora, strict=True)],
        chunking="given" if vectors else chunking,
        tokenizer=_tokenizer() if checkpoint in WORDS else None,
        runs=runs,
        **{name: value for name, value in given.items() if value},
    )
    if per_query is not None:
        results.to_parquet(per_query)
    rows = results.rows().astype({"dimension": int}).to_dict("records")
    content = {"encoder": results.encoder, "results": rows, "figures": results.figures()}
    if out is not None:
        _write(out, content, results)
    if json_output:
        output.print_json(content)
    else:
        _show(results.encoder, rows)


def _encoder(checkpoint: str | None, vectors: Path | None, corpora: list[Any]) -> Any:
    if vectors is not None:
        from evaluators.vectors import FileVectors

        if len(corpora) != 1:
            raise InputError(Problem("--vectors", f"holds the vectors of one corpus, found {len(corpora)} --corpus"))
        return FileVectors.read(vectors, corpora[0])
    from sweeps.evaluations import encoder_of

    if checkpoint in WORDS:
        from trainables.base import encoder_folder

        return encoder_of(checkpoint, str(encoder_folder("minilm")) if checkpoint == "isolated" else "")
    return encoder_of("checkpoint", checkpoint)


def _tokenizer() -> Any:
    """Counts `tokens:N` for encoders that are no student: MiniLM's own."""
    from corpora.tokens import Tokenizer
    from trainables.base import encoder_folder

    return Tokenizer.from_folder(encoder_folder("minilm"))


def _names(folders: list[Path]) -> list[str]:
    """Task names: the folders' own, longer where two are alike."""
    parts = [folder.resolve().parts for folder in folders]
    length = 1
    while len({part[-length:] for part in parts}) < len(parts) and length < max(map(len, parts)):
        length += 1
    return ["-".join(part[-length:]) for part in parts]


def _words(given: list[str] | None) -> list[str]:
    return [word.strip() for one in given or () for word in one.split(",") if word.strip()]


def _numbers(option: str, given: list[str] | None) -> list[int]:
    wrong = [word for word in _words(given) if not (word.isascii() and word.isdigit() and int(word) > 0)]
    if wrong:
        raise InputError(Problem(option, f"takes whole numbers from 1, separated by commas; found {', '.join(map(repr, wrong))}"))
    return [int(word) for word in _words(given)]


def _write(out: Path, content: dict[str, Any], results: Any) -> None:
    import json

    from corpora.files import write_atomically
    from evaluators.figures import figures_of

    write_atomically(out / "results.json", json.dumps(content, indent=1, ensure_ascii=False))
    for name, figure in figures_of(results).items():
        write_atomically(out / f"{name}.png", lambda path, figure=figure: figure.savefig(path, format="png", dpi=150))


def _show(name: str, rows: list[dict[str, Any]]) -> None:
    columns = ("suite", "metric", "task", "chunking", "dimension", "precision", "value", "queries")
    output.print_table(
        f"{name}",
        columns,
        [[f"{row[c]:.4f}" if c == "value" else str(row[c]) for c in columns] for row in rows],
    )
