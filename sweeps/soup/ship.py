"""From a finished sweep to the model that ships: admit, propose, verify, certify, export (DESIGN section 8).

No Ray: evaluations run here, one after another. Every stage is written to the ledger, so
that asking again returns what was decided, and confirm is looked at no more than needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError, Problem
from corpora.files import scratch_folder
from evaluators.results import Results
from sweeps.config import SweepConfig
from sweeps.constraints import keeper
from sweeps.evaluations import SCORES, Job, corpora_tasks, run_job
from sweeps.ledger import Ledger
from sweeps.soup.admit import admit, barriers
from sweeps.soup.average import Ingredient, average, ingredients
from sweeps.soup.certify import SINGLE, Verdict, certify, looks_taken, recorded, verdict_key
from sweeps.soup.propose import Member, Merit, Proposal, best_single, propose
from sweeps.soup.similarities import Proxy
from sweeps.soup.verify import Candidate, Verification, verify
from trainables import checkpoints
from trainables.encoders import CHECKPOINT
from trainables.export import export

BARRIER = 0.05
"""How far a midpoint may fall short of the mean of its two checkpoints, in the inline metrics' mean."""


@dataclass
class Kitchen:
    """Makes the soup of the sweep in `folder`. `ledger` is open for writing, under the sweep's lease."""

    folder: Path
    ledger: Ledger
    clock: Callable[[], float]
    say: Callable[[str], None]
    threads: int = 1

    def __post_init__(self) -> None:
        sweep = self.ledger.state().sweep
        self.config = SweepConfig.model_validate(sweep["config"])
        self.base = self.folder / sweep["places"]["base"]
        self.inline = self.folder / sweep["places"]["inline"]
        self.splits = {split: tuple(str(self.folder / one) for one in places) for split, places in sweep["places"]["splits"].items()}

    def ship(self) -> dict[str, Any]:
        """The `shipped` event of what ships now; the recorded one where nothing is new since it was asked for."""
        asked = self._asked()
        if recorded_one := self._answered(asked):
            self.say("no checkpoint, score or setting is new since this was asked: the recorded verdict stands")
            return recorded_one
        members = self.admitted()
        merit = self._merit(members)
        verification = self.verified(members, merit)
        single, best = verification.single, verification.best
        verdict = self.certified(single, best)
        winner, rejected = (best, None) if verdict.ships_soup else (single, None if best.is_single else best)
        shipped = self.shipped(winner, rejected, verdict)
        self._write("asked", asked, {"verdict": verdict.key})
        return shipped

    def _asked(self) -> str:
        """12 hexadecimal digits of everything that decides what ships: checkpoints, their scores, splits, settings."""
        trials, broken = self.ledger.state().trials, keeper(self.ledger.state())
        found = [
            [one.ordinal, one.step, trials[one.ordinal].checkpoints[one.step].sha256, sorted(one.figures.items()), list(broken(one.figures))]
            for one in self._scored()
        ]
        objectives = [objective.model_dump(mode="json") for objective in self.config.soup_objectives]
        soup = self.config.soup.model_dump(mode="json", exclude={"objectives"})
        return hashlib.sha256(json.dumps([found, soup, objectives, sorted(self._hashes().items())]).encode()).hexdigest()[:12]

    def _answered(self, asked: str) -> dict[str, Any] | None:
        """What was recorded when this very thing was asked before, if it still lies there."""
        soup = self.ledger.state().soup
        shipped = soup.get(("shipped", soup.get(("asked", asked), {}).get("verdict")))
        return shipped if shipped and (self.folder / shipped["folder"] / checkpoints.MANIFEST).is_file() else None

    def _scored(self) -> list[Member]:
        """Checkpoints with scores on dev, of trials that did not fail, whose files are there."""
        return [
            Member(trial.ordinal, step, self.folder / checkpoint.folder, checkpoint.scores["dev"].figures)
            for trial in self.ledger.state().trials.values()
            for step, checkpoint in sorted(trial.checkpoints.items())
            if "dev" in checkpoint.scores and trial.status != "failed" and not checkpoint.removed
        ]

    def admitted(self) -> list[Member]:
        """Those that may be averaged, the best first in what they must resemble."""
        found = self._scored()
        removed = sum(bool(c.removed) for t in self.ledger.state().trials.values() for c in t.checkpoints.values())
        if removed:
            self.say(f"{removed} checkpoints were removed by `stockpot gc`: no ingredients")
        if not found:
            raise InputError(Problem(str(self.folder), "no checkpoint has scores on dev yet: let the sweep finish, or --resume it"))
        found = self._within_constraints(found)
        best = best_single(found, self._merit(found))
        ordered = [found[best], *(member for place, member in enumerate(found) if place != best)]
        admission = admit([member.folder for member in ordered], self.base)
        for line in admission.lines:
            self.say(line)
        kept = set(admission.admitted)
        return [member for member in found if member.folder in kept]

    def _within_constraints(self, found: list[Member]) -> list[Member]:
        broken = keeper(self.ledger.state())
        kept = [member for member in found if not broken(member.figures)]
        if len(kept) < len(found):
            self.say(f"{len(found) - len(kept)} checkpoints break a constraint of the search: no ingredients")
        if not kept:
            raise InputError(Problem(str(self.folder), "every checkpoint breaks a constraint of search.constraints: nothing can "
                                     "ship; `stockpot status` names what each breaks"))  # fmt: skip
        return kept

    def _merit(self, members: list[Member]) -> Merit:
        return Merit(self.config.soup_objectives, [member.figures for member in members], keeper(self.ledger.state()))

    def verified(self, members: list[Member], merit: Merit) -> Verification:
        """The proxy's best soups and the uniform one, built and evaluated on dev."""
        soup, proxy = self.config.soup, self._proxy(members)
        proposals = propose(members, proxy.figures, merit, soup.largest, soup.per_trial, soup.candidates)
        parted = self._behind_barriers(members, merit, proposals)
        proposals = [one for one in proposals if not parted & set(one.members)]
        self.say(f"building and evaluating {len(proposals)} soups of the proxy's ranking, and the uniform one")
        evidence = {"objectives": [objective.model_dump() for objective in self.config.soup_objectives], "splits": self._hashes()}
        found = verify(members, proposals, merit, self._on_dev, self.folder / "soup", evidence)
        for candidate in (found.single, *found.soups):
            self._write("candidate", _weights(candidate)[:12], {
                "kinds": list(candidate.kinds), "figures": candidate.figures,
                "ingredients": self._shown(candidate), "folder": self._relative(candidate.folder),
            })  # fmt: skip
        return found

    def _behind_barriers(self, members: list[Member], merit: Merit, proposals: list[Proposal]) -> set[int]:
        """Positions of the proposals' members whose midpoint with the best single scores BARRIER under their mean.

        The probe is the inline sample; asked only of checkpoints that some proposal wants.
        """
        best = best_single(members, merit)
        wanted = sorted({place for one in proposals for place in one.members} - {best})
        self.say(f"probing the midpoints of {len(wanted)} checkpoints with the best single")
        folders = {members[place].folder: place for place in wanted}
        with scratch_folder(self.folder / "soup") as scratch:
            found = barriers(
                members[best].folder, list(folders), self._on_probe,
                middle=lambda one, other: average(ingredients([one, other]), scratch),
            )  # fmt: skip
        for folder, height in found.items():
            if height > BARRIER:
                self.say(f"refused {folder}: its midpoint with the best single falls {100 * height:.1f} points short")
        return {folders[folder] for folder, height in found.items() if height > BARRIER}

    def _on_probe(self, folder: Path) -> float:
        from trainables.inline import inline_metrics
        from trainables.loading import trusting
        from trainables.student import StudentEncoder

        with trusting(self.config.student.trust_remote_code):
            encoder = StudentEncoder.load(folder)
        found = inline_metrics(encoder, self.inline, self.config.evaluation.chunking)
        return float(np.mean(list(found.values())))

    def certified(self, single: Candidate, best: Candidate) -> Verdict:
        """One look at confirm, or the verdict of an earlier one."""
        key = verdict_key(_weights(single), _weights(best), self._hashes().get("confirm", "none"))
        verdict = recorded(self.ledger.state().soup, key)
        if verdict is not None:
            self.say("this soup was certified before: the recorded verdict stands")
            return verdict
        if best.is_single:
            verdict = Verdict(key, SINGLE, "no soup is better than the best single on dev", 0, 0, 0.0, None, None, None, ())
        elif "confirm" not in self.splits:
            verdict = Verdict(key, SINGLE, "the sweep has no confirm split to certify on", 0, 0, 0.0, None, None, None, ())
        else:
            self.say("certifying on confirm, which no search has seen")
            results = [Results.from_parquet(run_job(self._job(one.folder, "confirm")).per_query) for one in (single, best)]
            rng = np.random.default_rng([self.config.search.seed, int(key, 16)])
            verdict = certify(*results, self.config.soup_objectives, key, looks_taken(self.ledger.state().soup), rng)
        payload = verdict.payload()
        self._write(payload.pop("what"), payload.pop("key"), payload)
        return verdict

    def shipped(self, winner: Candidate, rejected: Candidate | None, verdict: Verdict) -> dict[str, Any]:
        folder = export(winner.folder, self.folder / "soup" / f"shipped-{verdict.key}")
        self.say(f"exported to {folder}")
        self._write("shipped", verdict.key, {
            "folder": self._relative(folder),
            "decision": verdict.decision,
            "reason": verdict.reason,
            "ingredients": self._shown(winner),
            "metrics": {**winner.figures, **self._on_confirm(winner)},
            "rejected": None if rejected is None else {
                "folder": self._relative(rejected.folder),
                "ingredients": self._shown(rejected),
                "metrics": {**rejected.figures, **self._on_confirm(rejected)},
            },
        })  # fmt: skip
        return self.ledger.state().soup["shipped", verdict.key]

    def _proxy(self, members: list[Member]) -> Proxy:
        from corpora.tokens import Tokenizer

        files = [(self.folder / self._scores(member).per_query).with_suffix(".npz") for member in members]
        axes = self.config.evaluation
        return Proxy(files, corpora_tasks(self.splits["dev"]), axes.k, Tokenizer.from_folder(self.base), axes.chunking)

    def _scores(self, member: Member) -> Any:
        return self.ledger.state().trials[member.ordinal].checkpoints[member.step].scores["dev"]

    def _on_dev(self, folder: Path) -> dict[str, float]:
        return {f"dev/{name}": value for name, value in run_job(self._job(folder, "dev")).figures.items()}

    def _on_confirm(self, candidate: Candidate) -> dict[str, float]:
        """Measured only where the verdict needed it: confirm is not for browsing."""
        job = self._job(candidate.folder, "confirm") if "confirm" in self.splits else None
        if job is None or not Path(job.result).exists():
            return {}
        return {f"confirm/{name}": value for name, value in run_job(job).figures.items()}

    def _job(self, folder: Path, split: str) -> Job:
        name = f"{split}-{checkpoints.manifest(folder).files[checkpoints.WEIGHTS][:12]}"
        return Job(
            kind=CHECKPOINT,
            model=str(folder),
            tokenizer=str(self.base),
            corpora=self.splits[split],
            result=str(self.folder / SCORES / f"{name}.parquet"),
            evaluation=self.config.evaluation,
            suites=self.config.evaluation.suites,
            threads=self.threads,
            trust_remote_code=self.config.student.trust_remote_code,
        )

    def _hashes(self) -> dict[str, str]:
        return self.ledger.state().sweep["attributes"]["data"]

    def _shown(self, candidate: Candidate) -> list[dict[str, Any]]:
        return [self._ingredient(part) for part in candidate.ingredients]

    def _ingredient(self, part: Ingredient) -> dict[str, Any]:
        return {"folder": self._relative(part.folder), "weight": part.weight, "sha256": part.sha256}

    def _relative(self, folder: Path) -> str:
        return str(folder.relative_to(self.folder))

    def _write(self, what: str, key: str, payload: dict[str, Any]) -> None:
        """What was written once stands: a later ranking changes no candidate and no verdict."""
        if (what, key) not in self.ledger.state().soup:
            self.ledger.append("soup", {"what": what, "key": key, **payload}, self.clock())


def _weights(candidate: Candidate) -> str:
    return checkpoints.manifest(candidate.folder).files[checkpoints.WEIGHTS]

