"""What a stretch of a trial's work took of its machine: processor time and peak memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

MEGABYTE = 1e6
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): sets the peak of the resident set to what it is now


class Usage:
    """From construction to `taken`. Where the system cannot forget an earlier peak, memory is the worker's since its start."""

    def __init__(self) -> None:
        try:
            _CLEAR.write_text(_RESET_PEAK)
        except OSError:
            pass
        if gpu := _gpu():
            gpu.reset_peak_memory_stats()
        self._began, self._computed = time.monotonic(), time.process_time()

    def taken(self) -> dict[str, float]:
        """cpu_utilization_percentage (of one processor), peak_memory_megabytes, on a GPU gpu_peak_memory_megabytes."""
        seconds = max(time.monotonic() - self._began, 1e-9)
        found = {
            "cpu_utilization_percentage": round(100 * (time.process_time() - self._computed) / seconds, 1),
            "peak_memory_megabytes": round(_peak() / MEGABYTE, 1),
        }
        if gpu := _gpu():
            found["gpu_peak_memory_megabytes"] = round(gpu.max_memory_allocated() / MEGABYTE, 1)
        return found


def _peak() -> float:
    """Bytes of the largest resident set."""
    if _STATUS.exists():
        line = next((line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:")), None)
        if line:
            return 1024 * float(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def _gpu():
    """`torch.cuda` where this process has used it already: asking must not make it begin."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
