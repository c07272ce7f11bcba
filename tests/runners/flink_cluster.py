"""A Flink cluster for tests: JobManager, TaskManagers, Beam's job server and a worker pool, all on
this machine and ended with the test. Its jars: ``make flink``."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import harness
import services

VERSION = "1.19"
"""Of the jars that flink_jars.xml names."""

JARS = Path(sys.prefix) / "flink" / "gradle" / "wrapper"
"""Where ``make flink`` puts them. Beam's job server would send its jars with every job, 152 MB that
the cluster has, if their path had not these two names."""

SLOTS = 2

# MB of memory: heaps of the JobManager and of the job server; of a TaskManager.
_JOB_HEAP = 384
_HEAP, _NETWORK, _MANAGED, _FRAMEWORK = 384, 128 * SLOTS, 256, 128

# What docs/flink.md recommends, on free ports and this machine's own address. Sizes are spelled
# out, as Flink's own scripts do that else.
_CONFIGURATION = f"""
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: {{rest}}
jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: {{rpc}}
jobmanager.bind-host: 127.0.0.1
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
taskmanager.numberOfTaskSlots: {SLOTS}
taskmanager.cpu.cores: {SLOTS}
taskmanager.memory.framework.heap.size: {_FRAMEWORK}m
taskmanager.memory.framework.off-heap.size: {_FRAMEWORK}m
taskmanager.memory.task.heap.size: {_HEAP}m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.managed.size: {_MANAGED}m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
taskmanager.memory.network.min: {_NETWORK}m
taskmanager.memory.network.max: {_NETWORK}m
taskmanager.load-balance.mode: SLOTS
parallelism.default: {SLOTS}
cluster.uncaught-exception-handling: FAIL
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 30
restart-strategy.fixed-delay.delay: 3 s
heartbeat.interval: 2000
io.tmp.dirs: {{folder}}
"""

# Of Flink's own scripts, for Java 17; the last two make short lives cheaper.
_JAVA = (
    "java",
    *("--add-exports=java.base/sun.net.util=ALL-UNNAMED",),
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            *("java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "sun.nio.ch"),
            *("java.text", "java.time", "java.util", "java.util.concurrent"),
            *("java.util.concurrent.atomic", "java.util.concurrent.locks"),
        )
    ),
    *("-XX:-UsePerfData", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
)
_TASK_MANAGER = "task-manager"
_RUNTIME = "org.apache.flink.runtime"


class Cluster:
    """job, rest, pool: host:port of the job server, of Flink's REST service, of the worker pool.

    folder: configuration, logs, what the cluster stores.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rest, rpc, job = services.free_port(), services.free_port(), services.free_port()
        self.job, self.rest, self.pool = f"localhost:{job}", f"localhost:{rest}", ""
        self._stack = contextlib.ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "flink-conf.yaml").write_text(
            _CONFIGURATION.format(rest=rest, rpc=rpc, folder=folder), encoding="utf-8"
        )

    def start(self) -> None:
        with contextlib.ExitStack() as stack:
            self._stack = stack
            entry = f"{_RUNTIME}.entrypoint.StandaloneSessionClusterEntrypoint"
            where = ("--configDir", str(self.folder), "--executionMode", "cluster")
            self._java("job-manager", _JOB_HEAP, entry, *where)
            self.start_task_manager()
            self._java(
                *("job-server", _JOB_HEAP, "org.apache.beam.runners.flink.FlinkJobServerDriver"),
                *(f"--flink-master={self.rest}", "--job-host=127.0.0.1"),
                *(f"--job-port={self.job.rpartition(':')[2]}", "--artifact-port=0"),
                *("--expansion-port=0", f"--artifacts-dir={self.folder}/artifacts"),
            )
            self.pool = stack.enter_context(services.worker_pool(self.folder))
            self._wait()
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Kill all of it."""
        self._stack.close()

    def start_task_manager(self) -> None:
        runner = f"{_RUNTIME}.taskexecutor.TaskManagerRunner"
        self._java(_TASK_MANAGER, _FRAMEWORK + _HEAP, runner, "--configDir", str(self.folder))

    def kill_task_manager(self) -> None:
        self._processes[_TASK_MANAGER].kill()
        self._processes[_TASK_MANAGER].wait()

    def options(self) -> list[str]:
        """What makes a job run here."""
        return [
            *("--runner=flink", f"--flink_version={VERSION}", f"--job_endpoint={self.job}"),
            *(f"--flink_master={self.rest}", f"--environment_config={self.pool}"),
            f"--parallelism={SLOTS}",
        ]

    def ask(self, path: str) -> Any:
        """What Flink's REST service answers."""
        with urllib.request.urlopen(f"http://{self.rest}{path}", timeout=10) as answer:
            return json.load(answer)

    def _java(self, name: str, heap: int, *call: str) -> None:
        java = [*_JAVA, f"-Xmx{heap}m", f"-Djava.io.tmpdir={self.folder}", "-cp", f"{JARS}/*"]
        log = self.folder / f"{name}-{len(self._processes)}.log"
        self._processes[name] = self._stack.enter_context(services.started([*java, *call], log))

    def _wait(self) -> None:
        """Until it takes jobs."""
        deadline = time.monotonic() + harness.PATIENCE
        while not (self._slots() == SLOTS and services.is_open(int(self.job.split(":")[1]))):
            ended = [name for name, one in self._processes.items() if one.poll() is not None]
            assert not ended and time.monotonic() < deadline, f"{ended}\n{self._logs()}"
            time.sleep(0.2)

    def _slots(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int(self.ask("/overview")["slots-available"])
        return 0

    def _logs(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in logs)
