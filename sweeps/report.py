"""A sweep as one static HTML page, from its ledger alone: what `stockpot report` writes, finished or still running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluators.report.page import html
from evaluators.report.parts import Section, Table, number, table
from sweeps import summary
from sweeps.figures import READING, sweep_figures
from sweeps.ledger_state import LedgerState
from sweeps.mlflow_view import COLUMNS
from sweeps.projected_model import shipped_model
from sweeps.replicates import UNKNOWN, compared
from sweeps.status import trial_status
from sweeps.summary import flat, readable

STYLE = "td { white-space: pre-wrap; max-width: 40rem; }"  # a user's own line breaks are kept
ENDED = {"finished": "is finished", "interrupted": "was interrupted", "failed": "failed"}


def report(state: LedgerState, folder: Path) -> str:
    """The page. It loads nothing and escapes everything; the same ledger gives the same bytes."""
    return html(f"Sweep {state.sweep['name']}", list(_sections(state, Path(folder))), STYLE)


def _sections(state: LedgerState, folder: Path) -> Iterator[Section]:
    yield Section("Standing", standing(state), [_counts(state)])
    yield _shipped(state)
    yield _trials(state)
    for name, figure in sweep_figures(state, folder):
        yield Section(name.replace("-", " ").capitalize(), READING[name], figures={name: figure})
    if len(settings := compared(state, folder)):
        yield _replicates(settings)
    yield _failures(state)
    yield _config(state)
    yield _hashes(state)


def standing(state: LedgerState) -> str:
    """How far the sweep is, and as of when this page says so."""
    moment = datetime.fromtimestamp(state.updated, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if state.status == "running":
        first = f"The sweep is STILL RUNNING: this page shows it as of {moment}; everything below may change."
    else:
        reason = f" ({state.reason})" if state.reason else ""
        first = f"The sweep {ENDED[state.status]}{reason}; its newest event is of {moment}."
    order = summary.ranked(state)
    if not order:
        return f"{first} No trial has scores on dev yet."
    trial, best = order[0]
    metric, direction = summary.first_objective(state)
    aim = "highest" if direction == "maximize" else "lowest"
    return (f"{first} The best single checkpoint on dev is of trial {summary.trial_name(trial)} at step {best.step}, "
            f"with {metric} = {best.value:.4f}, the {aim}. Search and schedulers see train and dev only; "
            "what ships is certified on confirm.")  # fmt: skip


def _counts(state: LedgerState) -> Table:
    counts: dict[str, int] = {}
    for trial in state.trials.values():
        status = trial_status(trial, state.status)
        counts[status] = counts.get(status, 0) + 1
    checkpoints = [checkpoint for trial in state.trials.values() for checkpoint in trial.checkpoints.values()]
    rows = [(f"trials {status}", number(count)) for status, count in sorted(counts.items())]
    rows += [("checkpoints", number(len(checkpoints))),
             ("checkpoints with scores on dev", number(sum("dev" in one.scores for one in checkpoints)))]  # fmt: skip
    return Table("So far", ("what", "how many"), tuple(rows))


def _shipped(state: LedgerState) -> Section:
    """The decision with its evidence: interval, families, guards, ingredients, and what was rejected."""
    event = shipped_model(state)
    if event is None:
        return Section("What ships", "Nothing ships yet: no soup was certified and no best single exported.")
    text = f"Decision: {event['decision']}. {event['reason']}"
    tables = []
    verdict = state.soup.get(("verdict", event["key"]))
    if verdict:
        names = {"gain": "mean gain over the best single", "low": "its interval from", "high": "to",
                 "alpha": "level of this look", "look": "look at confirm, number", "families": "families of confirm"}  # fmt: skip
        tables.append(Table("Evidence", ("what", "value"), tuple((said, number(verdict[key])) for key, said in names.items())))
        if verdict["guards"]:
            keys = ("figure", "single", "soup", "gain", "p", "is_worse")
            rows = [[guard[key] for key in keys] for guard in verdict["guards"]]
            columns = ("figure on confirm", "best single", "soup", "gain", "p after Holm", "significantly worse")
            tables.append(Table("No suite may be significantly worse", columns, _ready(rows)))
    ingredients = [[one["folder"], one["weight"], one.get("sha256", "")] for one in event["ingredients"]]
    tables.append(Table("Ingredients", ("checkpoint", "weight", "sha256"), _ready(ingredients)))
    single = event["rejected"] or {"metrics": {}}
    names = [name for name in event["metrics"] if _headline(state, name)]
    rows = [[name, event["metrics"][name], single["metrics"].get(name)] for name in names]
    tables.append(Table("Figures", ("figure", "ships", "rejected"), _ready(rows)))
    return Section("What ships", text, tables)


def _trials(state: LedgerState) -> Section:
    """`summary.results` with the headline figures alone."""
    columns, rows = summary.results(state)
    varied = sorted({key for trial in state.trials.values() for key, _ in flat(trial.varied)})
    words = 3 + len(varied)
    kept = [*range(words), *(place for place in range(words, len(columns)) if _headline(state, columns[place]))]
    chosen = [[row[place] for place in kept] for row in rows]
    text = ("Each trial by its best checkpoint on dev by the first objective, best first; then those that break a constraint, "
            "those without scores, and the baselines to beat.")  # fmt: skip
    return Section("Trials and baselines", text,
                   [Table("On dev, full dimension, float32", tuple(columns[place] for place in kept), _ready(chosen), words)])  # fmt: skip


def _replicates(settings: Any) -> Section:
    text = ("The difference to the best setting has an interval from the queries (bootstrap over families) and from the seeds; "
            "p is adjusted by Holm. What cannot be told from the best is a tie. "
            f"“{UNKNOWN}”: the values of single queries are no longer there.")  # fmt: skip
    return Section("Replicates and ties", text, [table("Settings under several seeds", settings, labels=2)])


def _failures(state: LedgerState) -> Section:
    rows = [(summary.trial_name(trial), trial_status(trial, state.status), trial.reason)
            for _, trial in sorted(state.trials.items()) if trial.status in ("failed", "stopped")]  # fmt: skip
    lost = [(summary.trial_name(trial), reason)
            for _, trial in sorted(state.trials.items()) for reason in trial.retries]  # fmt: skip
    tables = [Table("Trials that did not run to their end", ("trial", "status", "reason"), tuple(rows), 3)] if rows else []
    tables += [Table("Workers lost; their trials went on", ("trial", "reason"), tuple(lost), 2)] if lost else []
    return Section("Failures and early stops", "Every reason, as the ledger holds it." if tables else "None.", tables)


def _config(state: LedgerState) -> Section:
    rows = tuple((name, readable(value)) for name, value in flat(state.sweep["config"]))
    return Section("Config", "Whole, with every default.", [Table("The sweep's YAML as it was read", ("key", "value"), rows, 2)])


def _hashes(state: LedgerState) -> Section:
    rows = [("sweep_id", state.sweep["sweep_id"])]
    rows += [(name, readable(value)) for name, value in flat(state.sweep["attributes"])]
    for event in state.resumed:
        rows += [(f"resumed with {name}", readable(value)) for name, value in flat(event.get("attributes") or {})]
    rows += [(f"opened {event['split']}", readable(_without_kind(event))) for event in state.openings]
    best = [(f"{summary.trial_name(trial)} at step {found.step}", trial.checkpoints[found.step].sha256)
            for trial, found in summary.ranked(state)]  # fmt: skip
    tables = [Table("Config, code and data", ("what", "SHA-256"), tuple(rows), 2)]
    if best:
        tables.append(Table("Weights of each trial's best checkpoint", ("checkpoint", "SHA-256"), tuple(best), 2))
    return Section("Hashes", "Equal hashes, equal bytes: what to quote beside a result.", tables)


def _headline(state: LedgerState, name: str) -> bool:
    """Whether the figure is an objective or one of the view's columns, on whatever split."""
    shown = {figure.partition("/")[2] for figure in (*COLUMNS, *(metric for metric, _ in summary.objectives(state)))}
    return name.partition("/")[2] in shown


def _ready(rows: list[list[Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(number, row)) for row in rows)


def _without_kind(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("kind", "split")}
