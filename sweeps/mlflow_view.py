"""The runs table as a sweep's reader wants it: MLflow's shared view, kept as a tag of the experiment.

Without one MLflow opens its table on dates and sources, with over a hundred metrics hidden.
"""

from __future__ import annotations

import json
from urllib.parse import urlencode

from sweeps.keys import metric_key, param_key
from sweeps.ledger_state import LedgerState
from sweeps.summary import first_objective, flat, metric_names

COLUMNS = (
    "dev/context/Answer@10", "dev/context/Document@1", "dev/q2c/nDCG@10", "dev/q2d/nDCG@10", "dev/chunk-size/drop",
)  # fmt: skip
MOST_PARAMS = 6


def view_tag(state: LedgerState) -> tuple[str, str]:
    """(key, value) of the experiment's tag: columns for what varies, the headline figures and the status."""
    varied = sorted({name for trial in state.trials.values() for name, _ in flat(trial.varied)})[:MOST_PARAMS]
    known = metric_names(state)
    figures = [name for name in dict.fromkeys([first_objective(state)[0], *COLUMNS]) if name in known]
    columns = [f"params.`{param_key(name)}`" for name in varied]
    columns += [f"metrics.`{metric_key(name)}`" for name in figures] + ["tags.`stockpot.status`"]
    view = {
        "searchFilter": "", "orderByKey": "attributes.start_time", "orderByAsc": False, "startTime": "ALL",
        "lifecycleFilter": "Active", "datasetsFilter": [], "modelVersionFilter": "All Runs", "selectedColumns": columns,
        "columnOrder": [], "columnWidths": {}, "runsExpanded": {}, "runsPinned": [], "runsHidden": [],
        "runsVisibilityMap": {}, "runsHiddenMode": "FIRST_10_RUNS", "viewMaximized": False, "runListHidden": False,
        "isAccordionReordered": False, "useGroupedValuesInCharts": True, "hideEmptyCharts": True, "groupBy": None,
        "groupsExpanded": {}, "autoRefreshEnabled": True,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }  # fmt: skip
    return f"mlflow.sharedViewState.{state.sweep['sweep_id']}", json.dumps(view)


def runs_page(url: str, experiment_id: str, sweep_id: str) -> str:
    """Where a browser finds the sweep's runs on the server at `url`, in that view."""
    shown = urlencode({"workflowType": "machine_learning", "viewStateShareKey": sweep_id})
    return f"{url}/#/experiments/{experiment_id}/runs?{shown}"
