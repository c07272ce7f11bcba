"""Real object stores in tests: moto for S3, the storage emulator for GCS, each behind a proxy that
records what is asked and fails what it is told to."""

from __future__ import annotations

import abc
import contextlib
import http.client
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

BUCKET = "bucket"


class Proxy(http.server.ThreadingHTTPServer):
    """Stands before a server. requests: (method, path with its query), as they came; fail: the
    status to answer with instead (0: hang up without a word), or None."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.behind = port
        self.requests: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], int | None] = lambda method, path: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def forget(self) -> None:
        self.requests, self.fail = [], lambda method, path: None


class _Forward(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _any(self) -> None:
        body = self._body()
        self.server.requests.append((self.command, self.path))
        status = self.server.fail(self.command, self.path)
        if status == 0:
            self.close_connection = True
            return
        if status is not None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() != "transfer-encoding"}
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        length = str(len(data))
        for name, value in answer.getheaders():
            if name.lower() == "content-length":
                length = value
            elif name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        with contextlib.suppress(OSError):  # who asked has heard enough
            self.wfile.write(data)
        behind.close()

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_PATCH = _any

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Tokens(http.server.BaseHTTPRequestHandler):
    """Gives everybody a token, as Google's server would: with no credentials at all Beam waits
    twenty seconds for the metadata server of a machine of Google's."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b'{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Store(abc.ABC):
    """A store that runs. environment: what finds it."""

    def __init__(self, scheme: str, proxy: Proxy, environment: dict[str, str]) -> None:
        self.scheme, self.proxy, self.environment = scheme, proxy, environment
        self.root = f"{scheme}://{BUCKET}"

    def put(self, folder: Path, to: str) -> str:
        """All files below a folder; where they are now."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put_bytes(f"{to}/{path.relative_to(folder)}", path.read_bytes())
        return f"{self.root}/{to}"

    @abc.abstractmethod
    def put_bytes(self, name: str, data: bytes) -> None:
        """One object of that name."""

    @abc.abstractmethod
    def names(self, prefix: str) -> list[str]:
        """All names that begin so."""

    @abc.abstractmethod
    def get_bytes(self, name: str) -> bytes:
        """What the object holds."""

    def get(self, prefix: str, folder: Path) -> Path:
        """All files below a prefix, in a folder."""
        for name in self.names(f"{prefix}/"):
            path = folder / name[len(prefix) + 1 :]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.get_bytes(name))
        return folder


class S3(Store):
    def __init__(self, proxy: Proxy) -> None:
        import boto3

        environment = {
            "AWS_ACCESS_KEY_ID": "of-the-tests",
            "AWS_SECRET_ACCESS_KEY": "of-the-tests",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": proxy.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        super().__init__("s3", proxy, environment)
        self._client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{proxy.behind}",
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        self._client.create_bucket(Bucket=BUCKET)

    def put_bytes(self, name: str, data: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=name, Body=data)

    def names(self, prefix: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def get_bytes(self, name: str) -> bytes:
        data: bytes = self._client.get_object(Bucket=BUCKET, Key=name)["Body"].read()
        return data


class GCS(Store):
    def __init__(self, proxy: Proxy, key: Path) -> None:
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

        environment = {
            "STORAGE_EMULATOR_HOST": proxy.url,
            "GOOGLE_APPLICATION_CREDENTIALS": str(key),
            "GOOGLE_CLOUD_PROJECT": "of-the-tests",
            "NO_GCE_CHECK": "true",
        }
        super().__init__("gs", proxy, environment)
        self._client = storage.Client(
            project="of-the-tests",
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": f"http://127.0.0.1:{proxy.behind}"},
        )
        self._client.create_bucket(BUCKET)

    def put_bytes(self, name: str, data: bytes) -> None:
        self._client.bucket(BUCKET).blob(name).upload_from_string(data)

    def names(self, prefix: str) -> list[str]:
        return [blob.name for blob in self._client.list_blobs(BUCKET, prefix=prefix)]

    def get_bytes(self, name: str) -> bytes:
        data: bytes = self._client.bucket(BUCKET).blob(name).download_as_bytes()
        return data


@contextlib.contextmanager
def s3() -> Iterator[S3]:
    """S3, by moto."""
    port = _free_port()
    with _process("moto.server", "-H", "127.0.0.1", "-p", str(port), port=port):
        yield S3(Proxy(port))


@contextlib.contextmanager
def gcs(folder: Path) -> Iterator[GCS]:
    """GCS, by its emulator. folder: for a key that a server of ours takes."""
    tokens = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Tokens)
    threading.Thread(target=tokens.serve_forever, daemon=True).start()
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key = folder / "key.json"
    content = {
        "type": "service_account",
        "project_id": "of-the-tests",
        "private_key_id": "1",
        "private_key": private.decode(),
        "client_email": "tests@of-the-tests.iam.gserviceaccount.com",
        "token_uri": f"http://127.0.0.1:{tokens.server_address[1]}/token",
    }
    key.write_text(json.dumps(content), encoding="utf-8")
    port = _free_port()
    arguments = ("start", "--host=127.0.0.1", f"--port={port}", "--in-memory")
    with _process("gcp_storage_emulator", *arguments, port=port):
        yield GCS(Proxy(port), key)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def _process(module: str, *arguments: str, port: int) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + harness.PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, f"{module} did not start"
            assert time.monotonic() < end, f"{module} does not answer"
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()
