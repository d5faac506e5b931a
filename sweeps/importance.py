"""Which of the varied fields decide an objective, by PED-ANOVA (Watanabe et al., arXiv 2304.10255).

It holds the best trials' values of a field against all trials' values of it: a field matters
as far as the two distributions differ. Bounds come from the values that were tried, so that
any trainer's parameters will do.
"""

from __future__ import annotations

import json
import math
from statistics import median
from typing import TYPE_CHECKING, Any

from sweeps.ledger_state import LedgerState
from sweeps.summary import objectives, ranked

if TYPE_CHECKING:
    import optuna
    import pandas as pd

FEWEST = 10  # trials, under which importance is guessing
BEST = 5  # trials among the best that Optuna asks for, for a stable answer
FEW_VALUES = 5  # a number that takes no more than so many is a choice
LOG_RANGE, LOG_MEDIAN = 50, 0.15  # positive numbers over such a factor, half of them in so little of the range: logarithms


def importance(state: LedgerState) -> pd.DataFrame:
    """Share of each varied field (row) in each objective (column), summing to 1; empty where there is too little to tell.

    Each trial counts by its best checkpoint on dev, if one setting led to it.
    """
    import optuna
    import pandas as pd

    trials = [(trial.varied, best.figures) for trial, best in ranked(state) if best.step <= trial.own_until]
    found = {}
    for metric, direction in objectives(state):
        told = [(varied, figures[metric]) for varied, figures in trials if metric in figures]
        fields = distributions([varied for varied, _ in told])
        if len(told) < FEWEST or len({value for _, value in told}) < 2 or not fields:
            continue
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(direction=direction)
        for varied, value in told:
            own = {name: chosen for name, chosen in fields.items() if name in varied}
            study.add_trial(optuna.trial.create_trial(
                params={name: _position(held, varied[name]) for name, (_, held) in own.items()},
                distributions={name: distribution for name, (distribution, _) in own.items()}, value=value,
            ))  # fmt: skip
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=best_share(len(told)))
        found[metric] = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return pd.DataFrame(found)


def best_share(trials: int) -> float:
    """The best tenth, or BEST trials where a tenth is fewer."""
    return max(0.1, BEST / trials)


def distributions(
    tried: list[dict[str, Any]],
) -> dict[str, tuple[optuna.distributions.BaseDistribution, list[str] | None]]:
    """(Optuna's distribution, the values as text where it is a choice) of each field that FEWEST trials have and that
    takes more than one value."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found = {}
    for name in dict.fromkeys(name for varied in tried for name in varied):
        values = [varied[name] for varied in tried if name in varied]
        texts = sorted({text_of(value) for value in values})
        if len(texts) < 2 or len(values) < FEWEST:
            continue
        if is_scale(values):
            low, high = min(values), max(values)
            whole = all(isinstance(value, int) for value in values)
            log = spans_magnitudes(values)
            found[name] = (IntDistribution if whole else FloatDistribution)(low, high, log=log), None
        else:
            found[name] = CategoricalDistribution(range(len(texts))), texts
    return found


def is_scale(values: list[Any]) -> bool:
    """Numbers, and more of them than a choice has."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return numbers and all(map(math.isfinite, values)) and len(set(values)) > FEW_VALUES


def spans_magnitudes(values: list[float]) -> bool:
    """Whether the values are spread over their magnitudes, as a `loguniform` draws them."""
    low, high = min(values), max(values)
    return low > 0 and high / low >= LOG_RANGE and median(values) <= low + LOG_MEDIAN * (high - low)


def text_of(value: Any) -> str:
    """Equal for equal values of a YAML: lists and mappings cannot be compared otherwise."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _position(texts: list[str] | None, value: Any) -> Any:
    return value if texts is None else texts.index(text_of(value))
