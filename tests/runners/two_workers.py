"""Python's local job service, with two workers for every stage instead of one:
python two_workers.py PORT_FILE"""

from __future__ import annotations

import sys
from typing import Any

from apache_beam.runners.portability import local_job_service, local_job_service_main
from apache_beam.runners.portability.fn_api_runner import fn_runner


class TwoWorkers(fn_runner.FnApiRunner):  # type: ignore[misc]
    """Asks the worker pool for two workers. The job service knows no option for it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._num_workers = 2


if __name__ == "__main__":
    local_job_service.fn_runner.FnApiRunner = TwoWorkers
    local_job_service_main.run(["--port_file", sys.argv[1]])
