"""What a sweep found so far, as plain rows and words: MLflow's parent run and the figures show these."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sweeps.constraints import keeper
from sweeps.ledger_state import LedgerState, Trial
from sweeps.projected_model import shipped_model
from sweeps.space import label
from sweeps.status import trial_status

HOW_TO_READ = """**How to read it**

- *Artifacts*: `results.csv`, a row a trial by its best checkpoint on dev, best first, then the baselines to beat; `figures/`, explained in `figures/README.md`; `config.json`, whole.
- A trial is a child run, named by what varies. Its tag `stockpot.status` says how it ended: `stopped` is a scheduler's decision, `failed` has its `stockpot.reason`; its params are those that it began with, and `stockpot.lineage` says what it took over from other trials.
- Runs with the same `stockpot.setting` differ by their seed alone: group the table by it to see means over replicates.
- Metrics fold by what stands before the last `/`: `inline/` is the cheap sample that stops trials, `dev/` the full suites that choose, `confirm/` what certified; `system/` is what a trial took of its machine.
- A checkpoint is a logged model, with its metrics linked to the split and the hash of its data."""

DEFAULT_OBJECTIVE = ("dev/context/Answer@10", "maximize")


class Best(NamedTuple):
    """A trial's best checkpoint on dev by the first objective, of those that keep the constraints if any does; of
    equals the earliest."""

    step: int
    figures: dict[str, float]
    value: float
    broken: tuple[str, ...] = ()  # constraints of the search that it breaks: never best in the sweep


def objectives(state: LedgerState) -> list[tuple[str, str]]:
    """(metric of the ledger, direction) of each objective of the search."""
    asked = state.sweep.get("config", {}).get("search", {}).get("objectives") or ()
    return [(f"dev/{one['metric']}", one["direction"]) for one in asked] or [DEFAULT_OBJECTIVE]


def first_objective(state: LedgerState) -> tuple[str, str]:
    """The one that orders trials where one number has to."""
    return objectives(state)[0]


def best_checkpoint(state: LedgerState, trial: Trial) -> Best | None:
    """None as long as no checkpoint of the trial has its full suites on dev."""
    figure, direction = first_objective(state)
    sign, broken = 1 if direction == "maximize" else -1, keeper(state)
    scored = [
        Best(step, figures, figures[figure], tuple(broken(figures)))
        for step, checkpoint in sorted(trial.checkpoints.items())
        if figure in (figures := getattr(checkpoint.scores.get("dev"), "figures", {}))
    ]
    return max(scored, key=lambda best: (not best.broken, sign * best.value), default=None)


def ranked(state: LedgerState) -> list[tuple[Trial, Best]]:
    """Trials with full dev scores that keep the constraints and have not failed, best first; of equals the lower ordinal."""
    sign = 1 if first_objective(state)[1] == "maximize" else -1
    scored = [(trial, best) for trial in state.trials.values()
              if trial.status != "failed" and (best := best_checkpoint(state, trial))]  # fmt: skip
    return sorted((pair for pair in scored if not pair[1].broken), key=lambda pair: (-sign * pair[1].value, pair[0].ordinal))


def trial_name(trial: Trial) -> str:
    """`007 w=0.5 t=0.1`: the ordinal and what varies."""
    return f"{trial.ordinal:03d} {label(trial.varied)}".strip()


def lineage(trial: Trial, until: float = math.inf) -> str:
    """`step 20: trial 3's checkpoint, then w=0.4 lr=0.0007; step 40: ...`: what it took over before `until`."""
    taken = [(step, one) for step, one in sorted(trial.exploits.items()) if step < until]
    return "; ".join(f"step {step}: trial {one.donor['ordinal']}'s checkpoint, then {label(one.varied)}" for step, one in taken)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested parameters as `outer.inner` and a scalar or list."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def readable(value: Any) -> str:
    """One parameter value as text, exact for numbers."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def results(state: LedgerState) -> tuple[list[str], list[list[Any]]]:
    """(columns, rows): every trial by its best checkpoint, best first, then those that failed or break a constraint and
    those without scores; then the baselines."""
    place = {trial.ordinal: (0, place) for place, (trial, _) in enumerate(ranked(state))}
    best = {ordinal: best for ordinal, trial in state.trials.items() if (best := best_checkpoint(state, trial))}
    varied = sorted({key for trial in state.trials.values() for key, _ in flat(trial.varied)})
    held = [*(one.figures for one in best.values()), *(scores.figures for scores in state.baselines.values())]
    figures = sorted({name for one in held for name in one if "[" not in name})
    rows = []
    place |= {ordinal: (1 if ordinal in best else 2, ordinal) for ordinal in state.trials if ordinal not in place}
    for ordinal in sorted(state.trials, key=place.__getitem__):
        trial, found = state.trials[ordinal], best.get(ordinal)
        params = dict(flat(trial.varied_at(found.step if found else math.inf)))
        status = ", ".join([trial_status(trial, state.status), *(f"breaks {name}" for name in (found.broken if found else ()))])
        row = [trial_name(trial), status, found.step if found else None]
        row += [readable(params[key]) if key in params else None for key in varied]
        rows.append(row + [found.figures.get(name) if found else None for name in figures])
    for (name, _), scores in sorted(state.baselines.items()):
        rows.append([name, "baseline", None, *(None for _ in varied), *(scores.figures.get(figure) for figure in figures)])
    return ["name", "status", "step", *varied, *figures], rows


def description(state: LedgerState) -> str:
    """Markdown for the head of the sweep's page."""
    counts: dict[str, int] = {}
    for trial in state.trials.values():
        status = trial_status(trial, state.status)
        counts[status] = counts.get(status, 0) + 1
    lines = [
        f"Sweep **{plain(state.sweep['name'])}** is {state.status}: {len(state.trials)} trials"
        + (f" ({', '.join(f'{n} {status}' for status, n in sorted(counts.items()))})." if counts else ".")
    ]
    if order := ranked(state):
        trial, best = order[0]
        lines.append(f"Best single on dev: **{plain(trial_name(trial))}** at step {best.step}, "
                     f"{first_objective(state)[0]} = {best.value:.4f}.")  # fmt: skip
    if shipped := shipped_model(state):
        lines.append(f"Ships: {plain(shipped['decision'])}, for {plain(shipped['reason'])}.")
    return "\n\n".join([*lines, HOW_TO_READ])


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#~&$])", r"\\\1", " ".join(text.split()))


def metric_names(state: LedgerState) -> set[str]:
    """Every metric of the ledger's trials under its own name: `inline/Answer@10`, `dev/context/Answer@10`."""
    names: set[str] = set()
    for trial in state.trials.values():
        names.update(name for report in trial.reports.values() for name in report.metrics)
        for checkpoint in trial.checkpoints.values():
            names.update(name for scores in checkpoint.scores.values() for name in scores.figures)
    return names
