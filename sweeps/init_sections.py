"""The sections of a proposed sweep, with the reasons as comments; those behind a tab are put under each other."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeps.init_facts import Facts
from sweeps.init_wishes import Wishes

BATCH_TOKENS, PASS_TOKENS = 24_000, 12_000  # of a batch, and held in memory at once, on a CPU; a GPU takes GPU_FACTOR times that
GPU_FACTOR = 8
LONG = 2_000  # tokens from which a document is long
CERTIFIABLE = 24  # families aimed at in confirm: 20 are needed
FITTING = 0.3  # share of answers that sentences may cut before windows of tokens are proposed


def head(wishes: Wishes, file: Path) -> Iterator[str]:
    yield "# A sweep, proposed by `stockpot init` from a look at the corpus: every value is yours to change."
    yield "#"
    yield f"#   stockpot plan {file}     what it would do and cost; --probe measures it"
    yield f"#   stockpot noise {file}    the smallest gain that dev can tell from chance"
    yield f"#   stockpot sweep {file}    does it"
    yield "#"
    yield "# A field of `recipe` is fixed or searched: {choice: [...]}, {uniform: [low, high]}, {loguniform: [low, high]},"
    yield "# {randint: [low, high]}, {grid: [...]}, {when: {other: value}, then: ..., else: ...}."
    yield "# For an editor that completes and checks: stockpot init --schema > sweep.schema.json, and as first line"
    yield "# `# yaml-language-server: $schema=sweep.schema.json`."
    yield ""
    yield f"name: {_quoted(wishes.title)}"


def corpora(wishes: Wishes, found: Facts | None, here: Path) -> Iterator[str]:
    if found is None:
        yield "# The built-in corpus: families of long documents that only distant context tells apart."
        yield "corpora: {generate: demo, seed: 0}"
        return
    languages = ", ".join(f"{name} {count}" for name, count in list(found.languages.items())[:5]) or "language not stated"
    yield f"# {found.documents} documents of about {found.tokens:,.0f} tokens ({languages}), {found.queries} queries, {found.answered} with answers."
    yield "corpora:"
    if wishes.corpus:
        yield f"  folder: {_place(wishes.corpus, here)}"
        shares, why = _shares(found.families, apart=wishes.train is not None)
        if wishes.train:
            yield f"  train: {_place(wishes.train, here)}"
        yield f"  shares: {{{', '.join(f'{split}: {share:g}' for split, share in shares.items())}}}\t# {why}"
        yield "  seed: 0"
        return
    for split, folders in (("train", [wishes.train]), ("dev", wishes.dev), ("confirm", wishes.confirm)):
        if folders:
            yield f"  {split}: [{', '.join(_place(folder, here) for folder in folders if folder)}]"
    if not wishes.confirm:
        yield "  # no confirm: no soup can be certified, the best single checkpoint ships"


def _shares(families: int, apart: bool) -> tuple[dict[str, float], str]:
    """Of documents; families are never torn apart, and confirm needs twenty of them."""
    confirm = min(0.5, max(0.2, math.ceil(100 * CERTIFIABLE / max(1, families)) / 100))
    if confirm * families < CERTIFIABLE:
        why = f"{families} families: confirm will hold fewer than 20, so no soup can be certified"
        confirm = 0.2
    else:
        why = f"{families} families; certifying needs 20 in confirm"
    if apart:
        return {"dev": round(1 - max(confirm, 0.5), 2), "confirm": max(confirm, 0.5)}, why
    dev = 0.2
    return {"train": round(1 - dev - confirm, 2), "dev": dev, "confirm": confirm}, why


def student(wishes: Wishes, found: Facts | None, encoder: dict[str, Any], here: Path) -> Iterator[str]:
    layers, width, window = encoder.get("num_hidden_layers", 12), encoder.get("hidden_size", 384), encoder.get("max_position_embeddings", 512)
    fields = [f"encoder: {wishes.encoder if wishes.encoder == 'minilm' else _place(Path(wishes.encoder), here)}"]
    if not wishes.gpus and layers > 2:
        yield f"# On a CPU two of its {layers} layers; leave `layers` out to keep all."
        fields.append("layers: 2")
    if found and found.tokens > window:
        yield f"# It reads {window} tokens at once: longer documents are read in overlapping windows, nothing is dropped."
    if found and wishes.encoder == "minilm" and set(found.languages) - {"en"} - {name for name in found.languages if name.startswith("en-")}:
        yield "# MiniLM knows English: for other languages name a folder with a multilingual encoder."
    yield f"student: {{{', '.join([*fields, f'dimension: {width}'])}}}"
    kind, _, path = wishes.teacher.partition(":")
    path = "minilm" if kind == "late-interaction" and path in ("", "minilm") else _place(Path(path), here) if path else ""
    told = {
        "spans": "Made from the labels, smoothed and noisy; a compression model or scores in a file know more.",
        "late-interaction": "Any encoder: the best query-token cosine of each document token. Scored once, kept by content.",
        "token-classifier": "Says of each token whether a compression model would keep it. Scored once, kept by content.",
        "file": "Scores that were made elsewhere.",
    }[kind]
    yield f"# {told}"
    yield f"teacher: {{kind: {kind}{', path: ' + path if path else ''}}}"


def recipe(wishes: Wishes, found: Facts | None, dev: Facts | None, encoder: dict[str, Any]) -> Iterator[str]:
    width, factor = encoder.get("hidden_size", 384), GPU_FACTOR if wishes.gpus else 1
    tokens, answered = (found.tokens, found.answered > 0) if found else (150.0, True)
    steps = steps_of(wishes, found)
    yield "recipe:"
    if answered:
        yield "  weight: {uniform: [0.1, 0.9]}\t# w in L = (1-w) L_doc + w L_dist: documents against answers"
        yield "  teacher_temperature: {loguniform: [0.05, 0.3]}"
        yield "  top_n: {randint: [1, 8]}\t# teacher scores averaged to a chunk's relevance"
    else:
        yield "  weight: 0\t# no query has an answer: documents are all there is to learn"
        yield "  document_temperature: {loguniform: [0.02, 0.2]}"
    if found:
        yield "  learning_rate: {loguniform: [2.0e-5, 3.0e-4]}\t# pretrained models forget on real text at the higher default"
    else:
        yield "  learning_rate: 6.0e-4"
    mix, why = _mix(found, dev)
    yield f"  chunking_mix: {mix}\t# {why}"
    cut = 2 ** int(math.log2(max(2, width // 2)))
    yield f"  dimensions: [{width}, {cut}]\t# vectors that can be cut to {cut}"
    largest = max(2, min(64 if wishes.gpus else 16, int((found.documents if found else 10**6) * 0.5)))
    batch = max(2, min(largest, max(3, int(factor * BATCH_TOKENS / max(1, tokens)))))
    yield f"  documents_per_batch: {batch}\t# about {batch * tokens:,.0f} tokens a step"
    at_once = max(1, int(factor * PASS_TOKENS / max(1, tokens)))
    if at_once < batch:
        yield f"  documents_per_pass: {at_once}\t# long documents: gradients are cached, memory holds so many at a time"
    pairs = min(8, max(2, math.ceil(found.queries_each))) if found else 2
    yield f"  queries_per_document: {pairs}\t# {found.queries_each:.1f} queries a document" if found else f"  queries_per_document: {pairs}"
    yield f"  steps: {steps}"
    yield f"  checkpoint_every: {every_of(steps)}"
    yield f"  warmup_steps: {steps // 8}"
    yield f"  decay_steps: {steps // 3}"
    if wishes.gpus:
        yield "  precision: bf16"


def steps_of(wishes: Wishes, found: Facts | None) -> int:
    if wishes.steps:
        return wishes.steps
    return 300 if wishes.gpus else 12 if found and found.tokens > LONG else 40


def every_of(steps: int) -> int:
    return max(1, math.ceil(steps / 3))


def _mix(found: Facts | None, dev: Facts | None) -> tuple[str, str]:
    chunking, why = _chunking(dev)
    if found and found.all_given:
        return '{given: 1}', "every document holds its publisher's chunks"
    if chunking == "sentence":
        return '{choice: [{sentence: 1}, {sentence: 1, "tokens:128": 1}]}', why
    return f'{{"{chunking}": 1}}', why


def _chunking(dev: Facts | None) -> tuple[str, str]:
    """What answers are looked for in: sentences, unless they cut too many."""
    if dev is None or not dev.answered or dev.cut <= FITTING:
        return "sentence", "most answers lie in one sentence" if dev and dev.answered else "sentences"
    size = 128 if dev.answer < 0.75 * 128 * 4 else 256
    return f"tokens:{size}", f"{dev.cut:.0%} of the answers lie in no single sentence; half have over {dev.answer:,.0f} characters"


def search(wishes: Wishes, train: Facts | None, dev: Facts | None) -> Iterator[str]:
    answered = dev is None or dev.answered > 0
    steps = steps_of(wishes, train)
    learns = wishes.trials >= 8
    yield "search:"
    yield f"  sampler: {'tpe' if learns else 'random'}" + ("" if learns else "\t# too few trials to learn from")
    yield f"  trials: {wishes.trials}"
    if learns:
        yield f"  startup: {max(4, wishes.trials // 4)}\t# random ones first"
    yield "  seed: 0"
    metrics = ("context/Answer@10", "context/Document@1") if answered else ("q2d/nDCG@10",)
    yield f"  objectives: [{', '.join(f'{{metric: {metric}}}' for metric in metrics)}]"
    if answered and wishes.trials >= 4 and every_of(steps) < steps:
        yield f"scheduler: {{kind: asha, grace: {every_of(steps)}, reduction: 3}}\t# weak trials stop at a checkpoint"
    else:
        yield "scheduler: {kind: none}"


def evaluation(wishes: Wishes, dev: Facts | None, encoder: dict[str, Any]) -> Iterator[str]:
    long = dev is not None and dev.tokens > LONG
    answered = dev is None or dev.answered > 0
    suites = ["context", "q2c", "q2d", "storage"] if answered else ["q2d"]
    if answered and (wishes.gpus or not long):
        suites.append("chunk-size")
    if dev and dev.all_given and answered:
        suites.append("conteb")
    chunking, why = _chunking(dev)
    width = encoder.get("hidden_size", 384)
    yield "evaluation:\t# axes of every full evaluation, never trials"
    yield f"  suites: [{', '.join(suites)}]" + ("" if "chunk-size" in suites or not answered else "\t# chunk-size, too, where minutes are no matter")
    yield f'  chunking: "{chunking}"' + (f"\t# {why}" if chunking != "sentence" else "")
    yield f"  dimensions: [{2 ** int(math.log2(max(2, width // 2)))}]"
    yield f"  inline_queries: {24 if long else 64}\t# of dev, behind the metric that stops trials"


def rest(wishes: Wishes) -> Iterator[str]:
    yield f"resources: {{slots: {wishes.slots}, cpus: 1, gpus: {wishes.gpus:g}}}\t# of one trial; slots run at a time"
    yield "# budget: {hours: 8}\t# no further trial is started after so long"
    yield "order: deterministic\t# the same sweep again proposes the same trials"
    yield "soup: {candidates: 2}"
    yield f"mlflow: {{register: {_quoted(_model_name(wishes.title))}}}\t# SQLite beside the sweep; `uri` for a server"


def _model_name(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_. " else "-" for each in name).strip(" .")[:200] or "stockpot"


def _place(path: Path, here: Path) -> str:
    """From the file's folder where it is near, else whole."""
    path = Path(os.path.expanduser(path)).absolute()
    near = os.path.relpath(path, here)
    return _quoted(str(path) if near.startswith("../../..") else near)


def _quoted(text: str) -> str:
    """Plain where YAML reads it as the same text."""
    plain = text.isascii() and text[:1].isalpha() and all(each.isalnum() or each in "-_./" for each in text)
    return text if plain and text.lower() not in ("true", "false", "null", "yes", "no", "on", "off") else json.dumps(text)
