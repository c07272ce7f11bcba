"""Container files, compose and Kubernetes files: they parse, pin, and agree with the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from runners import flink

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "runners" / "image"
DOCKERFILE = (IMAGE / "Dockerfile").read_text(encoding="utf-8")
BEAM = re.search(r"^apache-beam==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
assert BEAM is not None
BEAM_VERSION = BEAM[1]


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((IMAGE / "compose.yaml").read_text(encoding="utf-8"))
    return content


def kubernetes() -> list[dict[str, Any]]:
    text = (ROOT / "runners" / "flink" / "kubernetes.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def images() -> list[str]:
    """Every image that a file names, with its default."""
    texts = [path.read_text(encoding="utf-8") for path in IMAGE.iterdir()]
    texts.append((ROOT / "runners" / "flink" / "kubernetes.yaml").read_text(encoding="utf-8"))
    pattern = r"^\s*(?:image: |ARG (?:BASE|LAUNCHER|WORKER)=)(\S+)"
    found = [name for text in texts for name in re.findall(pattern, text, re.MULTILINE)]
    return [re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", name) for name in found]


def test_every_image_is_pinned() -> None:
    assert len(images()) > 5
    for name in images():
        assert re.search(r":[0-9][\w.-]*$", name), name
        if "beam" in name:
            assert name.endswith(f":{BEAM_VERSION}")


def test_the_launcher_has_no_base_that_nobody_looked_at() -> None:
    text = (IMAGE / "Dockerfile.launcher").read_text(encoding="utf-8")
    # Without a default a build that names none fails at once.
    assert re.search(r"^ARG LAUNCHER$", text, re.MULTILINE)
    assert "--build-arg LAUNCHER=gcr.io/dataflow-templates-base/python311-" in text
    assert "@sha256:" in text


def test_the_image_installs_what_is_pinned_and_is_not_root() -> None:
    assert "--constraint constraints.txt" in DOCKERFILE
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    assert copied == {"schemas", "scoring", "transforms", "runners", "pipelines"}
    user = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1]
    number = re.search(r"^ARG WORKER_UID=(\d+)$", DOCKERFILE, re.MULTILINE)
    assert user == "${WORKER_UID}" and number and int(number[1]) > 1000
    assert "useradd --create-home --uid ${WORKER_UID} " in DOCKERFILE
    # Nothing is fetched when it runs.
    assert "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1" in DOCKERFILE
    after = DOCKERFILE[DOCKERFILE.index("USER ") :]
    assert not re.search(r"pip|curl|wget|apt", after)


def test_compose_publishes_nothing_beyond_this_machine() -> None:
    services = compose()["services"]
    assert set(services) == {"jobmanager", "taskmanager", "workers", "jobserver"}
    for service in services.values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_the_pool_of_compose_is_beside_its_taskmanager() -> None:
    services = compose()["services"]
    assert services["workers"]["network_mode"] == "service:taskmanager"
    assert services["workers"]["command"] == ["--worker_pool"]
    assert services["workers"]["volumes"] == services["taskmanager"]["volumes"]
    context = (IMAGE / services["workers"]["build"]["context"]).resolve()
    assert context == ROOT
    assert (context / services["workers"]["build"]["dockerfile"]).is_file()


def test_the_workers_of_compose_can_write_into_the_folder_that_the_job_makes() -> None:
    # On a disk nobody else can; and boot ends at once for a user that the image does not know.
    workers = compose()["services"]["workers"]
    assert workers["build"]["args"] == {"WORKER_UID": "${LIANGCHI_UID:-10001}"}
    assert "user" not in workers
    assert workers["read_only"]
    # Boot leaves a file in its working folder.
    assert {place.partition(":")[0] for place in workers["tmpfs"]} == {"/tmp", "/home/liangchi"}
    assert all(place.endswith(":mode=1777") for place in workers["tmpfs"])


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_the_job_server_is_of_the_same_flink_and_beam(where: str) -> None:
    if where == "compose":
        services = compose()["services"]
        cluster, server = services["jobmanager"]["image"], services["jobserver"]["image"]
    else:
        parts = kubernetes()
        cluster = parts[0]["spec"]["image"]
        server = parts[1]["spec"]["template"]["spec"]["containers"][0]["image"]
        version = parts[0]["spec"]["flinkVersion"]
        assert version == "v" + re.search(r"flink:(\d+\.\d+)", cluster)[1].replace(".", "_")  # type: ignore[index]
    of_cluster = re.search(r"flink:(\d+\.\d+)\.", cluster)
    of_server = re.search(rf"beam_flink(\d+\.\d+)_job_server:{re.escape(BEAM_VERSION)}", server)
    assert of_cluster and of_server and of_cluster[1] == of_server[1]
    assert of_cluster[1] in flink.VERSIONS


def test_every_taskmanager_of_kubernetes_has_a_pool_and_memory_for_it() -> None:
    deployment = kubernetes()[0]["spec"]
    containers = deployment["taskManager"]["podTemplate"]["spec"]["containers"]
    (pool,) = [c for c in containers if c["name"] == "liangchi-workers"]
    assert pool["args"] == ["--worker_pool"]
    assert pool["securityContext"]["runAsNonRoot"]
    slots = int(deployment["flinkConfiguration"]["taskmanager.numberOfTaskSlots"])
    limit = int(pool["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    assert limit > flink.RUNNER.memory(flink.Job(0, 1)) * max(1, slots // 2)
    total = int(deployment["flinkConfiguration"]["parallelism.default"])
    assert total == slots * deployment["taskManager"]["replicas"]


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_flink_is_set_up_as_the_trials_found_it_needs_to_be(where: str) -> None:
    if where == "compose":
        text = compose()["services"]["taskmanager"]["environment"]["FLINK_PROPERTIES"]
        found = {k: str(v) for k, v in yaml.safe_load(text).items()}
    else:
        found = kubernetes()[0]["spec"]["flinkConfiguration"]
    assert found["taskmanager.load-balance.mode"] == "SLOTS"
    assert found["restart-strategy.type"] == "fixed-delay"
    assert found["restart-strategy.fixed-delay.attempts"] == "30"
    assert found["cluster.uncaught-exception-handling"] == "FAIL"
    slots = int(found["taskmanager.numberOfTaskSlots"])
    assert found["taskmanager.memory.network.min"] == f"{128 * slots}m"


def test_only_the_pods_of_the_job_reach_what_asks_for_no_name() -> None:
    (policy,) = [part for part in kubernetes() if part["kind"] == "NetworkPolicy"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["ingress"][0]["from"]
    assert all(p["spec"]["type"] == "ClusterIP" for p in kubernetes() if p["kind"] == "Service")
