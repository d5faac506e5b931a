"""Short names of what a trial varies, for tables and charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpora.wording import short

SHORT_NAMES = {
    "weight": "w", "document_temperature": "t_doc", "chunk_temperature": "t_chunk", "teacher_temperature": "t",
    "top_n": "n", "chunking_mix": "mix", "dimensions": "dims", "quantiser": "q", "learning_rate": "lr",
    "documents_per_batch": "batch",
}  # fmt: skip


def label(varied: Mapping[str, Any]) -> str:
    """A trial's name: `w=0.42 t=0.08 n=3 mix=sentence+tokens:64 dims=384/128`."""
    return " ".join(f"{SHORT_NAMES.get(name, name)}={short(value)}" for name, value in varied.items())
