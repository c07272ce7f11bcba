"""Questions to services that a job needs. None waits longer than its time limit."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import grpc
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc

ANSWER_SECONDS = 5.0


def job_options(endpoint: str, seconds: float = ANSWER_SECONDS) -> set[str]:
    """The names of the options that a job service knows (Prism names none).

    Raises OSError if none answers there.
    """
    request = beam_job_api_pb2.DescribePipelineOptionsRequest()
    with grpc.insecure_channel(endpoint) as channel:
        service = beam_job_api_pb2_grpc.JobServiceStub(channel)
        try:
            answer = service.DescribePipelineOptions(request, timeout=seconds)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                # Such as the port of a worker pool, or of a job server's artifacts.
                raise OSError("what answers there takes no jobs") from error
            raise OSError(f"{error.code().name}: {error.details()}") from error
    return {option.name for option in answer.options}


def flink_overview(master: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """What Flink's REST service says of its cluster: flink-version, taskmanagers, slots-total, ...

    Raises OSError, ValueError.
    """
    url = master if master.startswith(("http://", "https://")) else f"http://{master}"
    # S310: the scheme is one of these two.
    with urllib.request.urlopen(f"{url}/overview", timeout=seconds) as answer:  # noqa: S310
        found = json.loads(answer.read(1_000_000))
    if not isinstance(found, dict) or "flink-version" not in found:
        raise ValueError("its /overview is not Flink's")
    return found
