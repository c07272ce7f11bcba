"""The local runner: Beam's FnApiRunner, in this process or in worker processes."""

from __future__ import annotations

import os

NAMES = ("direct", "DirectRunner", "FnApiRunner")
"""What a user may call it. Beam's own DirectRunner would first try to download another runner."""

# Starting worker processes takes 2 to 3 seconds; below this size that is not earned back.
_PROCESSES_ABOVE_BYTES = 60_000_000


def options(arguments: list[str], input_bytes: int) -> list[str]:
    """Beam options added to the user's (which win): in memory for small inputs, a worker process
    for every core for large ones. input_bytes: uncompressed, of the columns read."""
    given = {argument.split("=")[0] for argument in arguments}
    added = []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if "--direct_running_mode" not in given and "--direct_num_workers" not in given:
        large = input_bytes > _PROCESSES_ABOVE_BYTES and (cores or 1) > 1
        mode = "multi_processing" if large else "in_memory"
        added += [f"--direct_running_mode={mode}"]
        if large:
            added += [f"--direct_num_workers={cores}"]
    return added
