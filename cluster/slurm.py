"""The batch script of a sweep in a Slurm allocation.

Every task of the step is one Ray node (`ray symmetric-run`); the driver runs on the first,
which is also where this script runs. The time limit is no failure: before it the driver is
asked to stop at its trials' next checkpoints, the job is requeued and resumes.
"""

from __future__ import annotations

import shlex

from cluster.description import Cluster
from cluster.remote_sweep import RemoteSweep
from corpora.errors import InputError, Problem

TEMPLATE = """\
#!/usr/bin/env bash
{directives}

# Written by `stockpot cluster render slurm`.
# shellcheck disable=SC1090,SC1091  # what is sourced is not here to be looked at
set -eo pipefail
{setup}
set -u  # only now: many a module's own script reads variables that are not set
umask 077
# Several jobs may share a node: ports and the folder of temporary files follow from the job's number.
PORT=$((20000 + SLURM_JOB_ID % 20000))
DASHBOARD=$((40000 + SLURM_JOB_ID % 20000))
SCRATCH=/tmp/stockpot-$SLURM_JOB_ID
rm -rf "$SCRATCH"  # of an earlier run that was killed here
mkdir -p "$SCRATCH"
# One token a job, which srun hands to its tasks by their environment: it appears in no process list and no file.
RAY_AUTH_TOKEN=$(python3 -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
export RAY_USAGE_STATS_ENABLED=0 RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=600
{environment}
{sweep}
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ADDRESS=$(getent ahostsv4 "$HEAD" | awk 'NR == 1 {{ print $1 }}')

STOPPED=""
TIMER=""
# shellcheck disable=SC2317,SC2329  # the trap calls it
stop_driver() {{  # Slurm's signal before the limit: the driver ends at its trials' next checkpoints, or at once when time runs out
  STOPPED=yes
  (stockpot stop "$OUT" || true; sleep {patience}; kill -TERM "$(cat "$SCRATCH/driver")") &
  TIMER=$!
}}
trap stop_driver USR1 TERM
trap '[ -z "$TIMER" ] || kill "$TIMER" 2>/dev/null || true; rm -rf "$SCRATCH"' EXIT

# shellcheck disable=SC2016  # the inner shell expands these
srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=0 \\
  ray symmetric-run --address "$ADDRESS:$PORT" --min-nodes "$SLURM_JOB_NUM_NODES" \\
  --num-cpus={cpus} --num-gpus={gpus} --labels={labels} \\
  --temp-dir="$SCRATCH/ray" --dashboard-host=127.0.0.1 --dashboard-port="$DASHBOARD" -- \\
  bash -c 'echo $$ > "$1/driver"; export RAY_ADDRESS="$2"; exec stockpot sweep "$3" --out "$4" --resume --or-start' \\
  driver "$SCRATCH" "$ADDRESS:$PORT" "$SWEEP" "$OUT" &

STEP=$!
while kill -0 "$STEP" 2>/dev/null; do wait "$STEP" || true; done  # a signal ends `wait`, not the step: the driver takes its time
CODE=0
wait "$STEP" || CODE=$?
trap '' USR1 TERM  # requeueing ends this script by a signal: nothing is left to stop
if [ -n "$STOPPED" ] && [ "$CODE" -ne 0 ]; then
  echo "stopped before the limit: the job is queued again and resumes"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$CODE"
"""


FROM_ARGUMENTS = """\
SWEEP=${1:?give the sweep: sbatch SCRIPT SWEEP.yaml [OUT]}
OUT=${2:-%s/$(basename "$SWEEP" .yaml)}"""
EMBEDDED = """\
OUT=%s
SWEEP=$SCRATCH/sweep.yaml
cat > "$SWEEP" <<'END_OF_SWEEP'
%sEND_OF_SWEEP"""


def render(cluster: Cluster, sweep: RemoteSweep | None = None) -> str:
    """The script for `sbatch`: of `sweep`, or of the file that is given to it as an argument."""
    if cluster.uri and not sweep:
        raise InputError(Problem("--sweep", f"give the sweep, which will say that it is kept in {cluster.uri}"))
    group = cluster.workers[0]
    credentials = cluster.secrets.environment
    return TEMPLATE.format(
        directives="\n".join(f"#SBATCH {option}" for option in _options(cluster)),
        setup="\n".join(cluster.slurm.setup),
        sweep=EMBEDDED % (shlex.quote(sweep.out), sweep.yaml) if sweep else FROM_ARGUMENTS % cluster.storage,
        environment=f"set -a; . {credentials}; set +a  # credentials: by file, never in this script" if credentials else "",
        patience=cluster.slurm.signal // 2,
        cpus=group.cpus,
        gpus=group.gpus,
        labels=",".join(f"{name}={value}" for name, value in group.labels.items()),
    )


def _options(cluster: Cluster) -> list[str]:
    slurm, group = cluster.slurm, cluster.workers[0]
    named = {"partition": slurm.partition, "account": slurm.account, "qos": slurm.qos}
    gres = [f"--gres=gpu:{group.gpu_type.lower()}:{group.gpus}" if group.gpu_type else f"--gres=gpu:{group.gpus}"]
    return [
        f"--job-name={cluster.name}",
        *(f"--{name}={value}" for name, value in named.items() if value),
        f"--nodes={slurm.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={group.cpus}",
        f"--mem={group.memory}G",
        *(gres if group.gpus else []),
        "--exclusive",  # `ray symmetric-run` takes a node for itself and ends every Ray process of the user there
        f"--time={slurm.time}",
        f"--signal=B:USR1@{slurm.signal}",
        "--requeue",
        "--open-mode=append",
        "--output=%x-%j.log",
        *slurm.options,
    ]
