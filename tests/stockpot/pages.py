"""Driving MLflow's pages in a headless Chromium: for the tests, and for the screenshots in docs/img/."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.mlflow_view import runs_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120_000  # milliseconds: a page of MLflow's takes 20 s on a busy two-core machine

# MLflow opens a chat panel over a third of the window on the first visit.
_NO_PANEL = """localStorage.setItem('mlflow.assistant.fab.autoOpenedOnFirstLoad_v1', 'true');
localStorage.setItem('mlflow.assistant.panelOpen_v1', 'false');"""


class Pages:
    """MLflow's pages at `url`; each method goes there, waits for what it shows and returns the page's text.

    `hosts` gathers every host that the pages asked for anything.
    """

    def __init__(self, page: Page, url: str, experiment_id: str):
        self.page, self.url, self.experiment_id = page, url, experiment_id
        self.hosts: set[str] = set()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: self.hosts.add(request.url.partition("://")[2].partition("/")[0]))

    def runs(self, sweep_id: str, first_child: str) -> str:
        """The runs table in the sweep's view, the parent unfolded; `first_child` is the name of some trial's run."""
        self.page.goto(runs_page(self.url, self.experiment_id, sweep_id))
        self.page.locator("[data-component-id$='runnamecellrenderer.tsx_46']").first.click()
        return self._text(first_child)

    def run(self, run_id: str, waiting_for: str) -> str:
        return self._go(f"experiments/{self.experiment_id}/runs/{run_id}", waiting_for)

    def charts(self, run_id: str, waiting_for: str) -> str:
        return self._go(f"experiments/{self.experiment_id}/runs/{run_id}/model-metrics", waiting_for)

    def figure(self, run_id: str, path: str) -> tuple[int, int]:
        """(width, height) in pixels of an image artifact, as the browser decoded it."""
        self._go(f"experiments/{self.experiment_id}/runs/{run_id}/artifacts/{path}", Path(path).name)
        image = self.page.locator("img[src^='blob:'], img[src*='artifact']").first
        image.wait_for()
        self.page.wait_for_function("image => image.naturalWidth > 0", arg=image.element_handle())
        return image.evaluate("image => [image.naturalWidth, image.naturalHeight]")

    def logged_model(self, model_id: str, waiting_for: str, tab: str = "") -> str:
        return self._go(f"experiments/{self.experiment_id}/models/{model_id}{tab}", waiting_for)

    def registered_model(self, name: str, waiting_for: str) -> str:
        return self._go(f"models/{name}", waiting_for)

    def screenshot(self, path: Path) -> None:
        """What the page shows now, once its transitions have ended."""
        self.page.wait_for_timeout(1500)
        self.page.screenshot(path=path)

    def _go(self, route: str, waiting_for: str) -> str:
        self.page.goto(f"{self.url}/#/{route}")
        return self._text(waiting_for)

    def _text(self, waiting_for: str) -> str:
        self.page.get_by_text(waiting_for).first.wait_for()
        return self.page.inner_text("body")


@contextmanager
def browser(url: str, experiment_id: str, width: int = 1600, height: int = 900) -> Iterator[Pages]:
    """A fresh browser on the MLflow server at `url`; needs Debian's chromium and playwright's Python package."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        try:
            context = chromium.new_context(viewport={"width": width, "height": height})
            context.add_init_script(_NO_PANEL)
            yield Pages(context.new_page(), url, experiment_id)
        finally:
            chromium.close()
