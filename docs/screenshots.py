"""Takes docs/img/mlflow-*.png of a finished sweep: python docs/screenshots.py SWEEP_DIR

Needs Debian's chromium (or CHROMIUM in the environment) and playwright's Python package. The sweep is brought into a
store of its own in a temporary folder, so its own one is left alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from sweeps import mlflow_store  # noqa: E402
from sweeps.ledger import Ledger  # noqa: E402
from sweeps.ledger_state import LedgerState, Trial  # noqa: E402
from sweeps.projected_model import registered_name, shipped_model  # noqa: E402
from sweeps.projector import sync  # noqa: E402
from sweeps.summary import Best, ranked, trial_name  # noqa: E402
from sweeps.ui import Server, free_port  # noqa: E402
from tests.stockpot import pages  # noqa: E402


def main(folder: Path, images: Path) -> None:
    if not pages.CHROMIUM.exists():
        sys.exit(f"{pages.CHROMIUM} is absent: install Debian's chromium, or name another in CHROMIUM")
    state = Ledger.open(folder).state()
    order = ranked(state)
    if not order:
        sys.exit(f"{folder} has no trial with scores yet: screenshots need a finished sweep")
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        uri = f"sqlite:///{Path(scratch) / 'mlflow.db'}"
        mlflow_store.open_client(uri).search_experiments()
        with Server(uri, Path(scratch) / "artifacts", "127.0.0.1", free_port("127.0.0.1")) as server:
            server.wait_until_up()
            places = sync(folder, server.url)
            client = mlflow_store.open_client(server.url)
            experiment = client.get_experiment_by_name(places["experiment"]).experiment_id
            with pages.browser(server.url, experiment) as driven:
                take(driven, state, order, places, images)


def take(driven: pages.Pages, state: LedgerState, order: list[tuple[Trial, Best]], places: dict, images: Path) -> None:
    """The pages, in the order in which a reader meets them."""
    best, first = order[0][0], min(state.trials)
    driven.runs(state.sweep["sweep_id"], f"{first:03d} ")
    driven.screenshot(images / "mlflow-runs.png")
    driven.charts(places["runs"][best.trial_id], "dev/context")
    driven.screenshot(images / "mlflow-charts.png")
    driven.run(places["parent_run_id"], "How to read it")
    driven.screenshot(images / "mlflow-run.png")
    driven.figure(places["parent_run_id"], "figures/parallel-coordinates.png")
    driven.screenshot(images / "mlflow-figure.png")
    if shipped_model(state):
        driven.registered_model(registered_name(state), "Version 1")
        driven.screenshot(images / "mlflow-model.png")
    print(f"took {len(list(images.glob('mlflow-*.png')))} images of {trial_name(best)} and its sweep into {images}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), HERE / "img")
