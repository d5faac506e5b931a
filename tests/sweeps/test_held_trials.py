"""A sweep that is asked to stop ends when every trial that runs waits at its checkpoint, not before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ray.tune.experiment import Trial as TuneTrial

from sweeps.conductor import Conductor, Next
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.tune_adapter import ConductedScheduler

CONFIG = SweepConfig.model_validate({
    "name": "n", "corpora": {"generate": "quick"}, "search": {"sampler": "random", "trials": 9},
    "recipe": {"weight": {"uniform": [0, 1]}, "steps": 40}, "resources": {"slots": 3},
})  # fmt: skip


class Held:
    """As much of Tune's trial as the scheduler looks at."""

    def __init__(self, ordinal: int):
        self.config, self.status = {"ordinal": ordinal}, TuneTrial.RUNNING


def test_trials_go_on_to_their_next_report_and_none_starts(tmp_path):
    attributes = {"config": "c", "code": "k", "data": {}}
    ledger = Ledger.create(tmp_path, {"sweep_id": "s", "name": "n", "config": {}, "attributes": attributes}, 0.0)
    conductor = Conductor(CONFIG, ledger, lambda: 1.0)

    def on_report(ordinal, result):
        conductor.reported([("report", {"ordinal": ordinal, "step": result["until"], "metrics": {"inline/Answer@10": 0.5}})])

    scheduler = ConductedScheduler(conductor, on_report, lambda: None)
    trials = [Held(conductor.next_trial().ordinal) for _ in range(3)]
    trials[2].status = TuneTrial.PENDING  # its worker has not come up: it has nothing to lose
    controller = SimpleNamespace(get_trials=lambda: trials)
    assert scheduler.on_trial_result(controller, trials[0], {"until": 20}) == scheduler.CONTINUE
    conductor.stopping = True
    assert conductor.next_trial() is Next.DONE
    assert scheduler.choose_trial_to_run(controller) is None
    assert scheduler.on_trial_result(controller, trials[1], {"until": 20}) == scheduler.NOOP
    assert scheduler.choose_trial_to_run(controller) is None, "trial 0 is still on its way"
    assert scheduler.on_trial_result(controller, trials[0], {"until": 30}) == scheduler.NOOP
    with pytest.raises(KeyboardInterrupt):
        scheduler.choose_trial_to_run(controller)
    assert [sorted(trial.reports) for trial in ledger.state().trials.values()] == [[20, 30], [20], []]
    assert not any(trial.has_ended for trial in ledger.state().trials.values()), "--resume goes on with each"
