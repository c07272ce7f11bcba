"""s3:// and gs:// in and out, against real servers: same bytes as on a disk, few requests, patience
with a server that fails, clear errors, no credentials anywhere."""

from __future__ import annotations

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import harness
import pyarrow as pa
import pytest
import store_servers
from apache_beam.options.pipeline_options import GoogleCloudOptions
from apache_beam.utils import retry

from pipelines import command, flex_template
from pipelines import output as folders
from schemas.errors import InputError, OutputError, StoreError, UnavailableError
from transforms import files, folder, stores

QUICK = ("--tokenizer", "none", "--bootstrap", 12)


@pytest.fixture(scope="session")
def s3() -> Iterator[store_servers.Store]:
    with store_servers.s3() as server:
        yield server


@pytest.fixture(scope="session")
def gs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store_servers.Store]:
    with store_servers.gcs(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(params=["s3", "gs"])
def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[store_servers.Store]:
    """A store that this process finds, without what tests before asked of it."""
    server: store_servers.Store = request.getfixturevalue(request.param)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    stores.use([])
    server.proxy.forget()
    yield server
    server.proxy.forget()


only_gs = pytest.mark.parametrize("store", ["gs"], indirect=True)
only_s3 = pytest.mark.parametrize("store", ["s3"], indirect=True)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A folder of the test's own."""
    return request.node.name.replace("[", "/").replace("]", "")


def small(folder: Path) -> harness.Inputs:
    return harness.write_inputs(
        folder,
        harness.hypotheses_table([(f"e{i}", "s", 0, f"a b c {i}") for i in range(40)]),
        harness.references_table([(f"e{i}", ["a b c d", f"a b {i}"]) for i in range(40)]),
        shards=4,
    )


def put(store: store_servers.Store, inputs: harness.Inputs, name: str) -> list[str]:
    """The inputs in the store; the flags that name them."""
    hypotheses = store.put(inputs.hypotheses, f"{name}/hypotheses")
    references = store.put(inputs.references, f"{name}/references")
    return ["--hypotheses", hypotheses, "--references", references]


def run(flags: list[str], output: str, *more: object) -> harness.Ran:
    """As ``harness.run``, into a store."""
    return harness.run([*flags, "--output", output], Path("unused"), "--output", output, *more)


# The same as on a disk


def test_the_chat_example_is_the_same_from_and_to_a_store(
    store: store_servers.Store, name: str, chat: harness.Ran, tmp_path: Path
) -> None:
    put(store, harness.CHAT_INPUTS, name)
    flags = ["--hypotheses", f"{store.root}/{name}/hypotheses/part-*.parquet"]
    flags += ["--references", f"{store.root}/{name}/references/"]
    output = f"{store.root}/{name}/out"
    ran = run(flags, output, *harness.BASE_FLAGS)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.endswith(f"{output}\n")
    here = harness.Output(store.get(f"{name}/out", tmp_path / "out"))
    harness.check_same_bytes(here, chat.fine())
    # Nothing but final names, and those that the manifest has.
    named = {entry["path"] for entry in here.manifest["files"]}
    there = {f"{store.root}/{n}" for n in store.names(f"{name}/out/")}
    assert there == named | {f"{output}/{n}" for n in (folder.MARKER, folder.MANIFEST)}


def test_lines_of_json_and_of_text_packed_or_not(
    store: store_servers.Store, name: str, tmp_path: Path
) -> None:
    texts = [f"a b c {i}" for i in range(30)]
    json_lines = "".join(
        json.dumps({"id": f"e{i}", "system": "s", "text": text}) + "\n"
        for i, text in enumerate(texts)
    )
    references = "".join(
        json.dumps({"id": f"e{i}", "responses": ["a b c d"]}) + "\n" for i in range(30)
    )
    lines, wanted = "\n".join(texts) + "\n", "a b c d\n" * 30
    scores = []
    packed = {"s3": "jsonl.gz", "gs": "txt.gz"}[store.scheme]
    for end in ("jsonl.gz", "txt") if packed == "jsonl.gz" else ("jsonl", "txt.gz"):
        contents = (json_lines, references) if "json" in end else (lines, wanted)
        for place, content in zip(("h/s", "r/s"), contents):
            data = content.encode()
            store.put_bytes(f"{name}/{place}.{end}", gzip.compress(data) if end == packed else data)
        inputs = f"{store.root}/{name}"
        flags = ["--hypotheses", f"{inputs}/h/s.{end}", "--references", f"{inputs}/r/*.{end}"]
        ran = harness.run(flags, tmp_path / end, *QUICK)
        scores.append([row["value"] for row in ran.fine().scores])
    assert scores[0] == scores[1]


def test_workers_of_their_own_and_show_find_the_store_too(
    store: store_servers.Store, name: str, tmp_path: Path
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    output = f"{store.root}/{name}/out"
    workers = ("--direct_running_mode=multi_processing", "--direct_num_workers=1")
    more = ("--output", output, *QUICK, "--partitions", 4, *workers)
    clouds = harness.WITH_CLOUDS
    ran = harness.run_process(flags, tmp_path / "unused", *more, environment=clouds)
    assert (ran.code, ran.stderr) == (0, "")
    assert len(store.names(f"{name}/out/segments/")) == 4
    from pipelines.show import show

    assert show([output]) == ran.stdout


# How it is asked


@only_gs
def test_the_launcher_of_a_flex_template_gets_a_job_to_start(
    store: store_servers.Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    output, place = f"{store.root}/{name}/out", f"{store.root}/{name}/staging"
    monkeypatch.setattr(
        "sys.argv",
        [
            "launch.py",
            *(f"{flag}={value}" for flag, value in zip(flags[::2], flags[1::2], strict=True)),
            *(f"--output={output}", "--tokenizer=char", "--metrics=bleu,cider_d"),
            *("--sdk_container_image=registry/liangchi-worker:0.1.0", "--job_name=night"),
            # What Google's launcher adds.
            *("--runner=DataflowRunner", "--project=project-1", "--region=europe-west4"),
            *(f"--staging_location={place}", f"--temp_location={place}"),
            f"--template_location={tmp_path}/job_object",
        ],
    )
    name_of_check = "_warn_if_soft_delete_policy_enabled"
    monkeypatch.setattr(GoogleCloudOptions, name_of_check, lambda self, location: None)
    # The launcher takes any other exit code for a failure.
    monkeypatch.setattr(command.Session, "end", lambda session, code: pytest.fail(str(code)))
    with pytest.raises(SystemExit) as ended:
        flex_template.main()
    assert ended.value.code == 0
    described = json.loads((tmp_path / "job_object").read_text(encoding="utf-8"))
    (pool,) = described["environment"]["workerPools"]
    assert pool["workerHarnessContainerImage"] == "registry/liangchi-worker:0.1.0"
    # The folder is this run's; the job will write into it.
    assert store.names(f"{name}/out/") == [f"{name}/out/{folder.MARKER}"]


@only_s3
def test_requests_are_few_and_the_manifest_is_the_last(
    store: store_servers.Store, name: str, tmp_path: Path
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    assert run(flags, f"{store.root}/{name}/out", *QUICK).code == 0
    asked = store.proxy.requests
    listings = [path for method, path in asked if method == "GET" and "list-type=2" in path]
    # A look at the bucket and a listing for each of two patterns, some for the output.
    assert len(listings) <= 8
    of_file = Counter(path for _, path in asked if "/hypotheses/part-" in path)
    assert len(of_file) == 4
    assert max(of_file.values()) <= 6
    written = [(method, path) for method, path in asked if method not in ("GET", "HEAD")]
    assert {method for method, _ in written} == {"PUT", "POST"}
    puts = [path.rpartition("/out/")[2] for method, path in written if method == "PUT"]
    assert puts[0].startswith(".liangchi-claim-")
    assert (puts[1], puts[-1]) == (folder.MARKER, folder.MANIFEST)
    assert len(set(puts)) == len(puts)
    # The only files deleted are claims.
    assert [path for method, path in written if method == "POST"] == [
        f"/{store_servers.BUCKET}?delete"
    ]


def test_a_server_that_fails_now_and_then_is_asked_again(
    store: store_servers.Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    seen: Counter[tuple[str, str]] = Counter()
    statuses = (503, 429, 0) if store.scheme == "gs" else (503, 500, 0)

    def fail(method: str, path: str) -> int | None:
        """Every request fails once, each in another way."""
        seen[method, path] += 1
        return statuses[len(seen) % 3] if seen[method, path] == 1 else None

    store.proxy.fail = fail
    ran = run(flags, f"{store.root}/{name}/out", *QUICK)
    assert (ran.code, ran.stderr) == (0, "")
    assert len(seen) > 15
    there = harness.Output(store.get(f"{name}/out", tmp_path / "out"))
    here = harness.run(harness.Inputs(*small_folders(tmp_path)), tmp_path / "here", *QUICK)
    harness.check_same_bytes(there, here.fine())


def small_folders(folder: Path) -> tuple[Path, Path]:
    return folder / "in" / "hypotheses", folder / "in" / "references"


@only_s3
def test_a_file_is_written_again_for_a_minute_and_not_for_ever(
    store: store_servers.Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    stores.use([])
    waited: list[float] = []
    monkeypatch.setattr("transforms.stores.time.sleep", waited.append)
    path = f"{store.root}/{name}/file"
    tries = 0

    def fail(method: str, path: str) -> int | None:
        nonlocal tries
        tries += 1
        return 503 if tries <= 5 else None

    store.proxy.fail = fail
    assert files.write_bytes(path, b"whole") == 5
    assert (tries, len(waited)) == (6, 5)
    assert all(base / 2 <= wait <= base for base, wait in zip((1, 2, 4, 8, 16), waited))
    assert files.read_bytes(path) == b"whole"
    store.proxy.fail = lambda method, path: 503
    with pytest.raises(UnavailableError, match="does not answer as it should") as raised:
        files.write_bytes(path, b"other")
    assert "SlowDown" in str(raised.value) or "503" in str(raised.value)
    assert 30 < sum(waited[5:]) < 64
    store.proxy.fail = lambda method, path: 403
    waited.clear()
    with pytest.raises(PermissionError, match="the store refuses it"):
        files.write_bytes(path, b"other")
    assert waited == []


@only_s3
def test_a_server_that_is_down_is_no_bad_file(
    store: store_servers.Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    monkeypatch.setattr(retry.Clock, "sleep", lambda self, seconds: None)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for method in ("HEAD", "GET"):
        store.proxy.fail = lambda asked, path, method=method: (  # type: ignore[misc]
            503 if asked == method and "part-00002" in path else None
        )
        ran = harness.run(flags, tmp_path / "out", *QUICK, "--skip_bad_files")
        assert ran.code == 4
        message = ran.stderr
        assert "part-00002-of-00004.parquet: the store does not answer as it should" in message
        assert not (tmp_path / "out").exists()


def test_a_file_that_is_cut_off_is_named_and_can_be_skipped(
    store: store_servers.Store, name: str, tmp_path: Path
) -> None:
    inputs = small(tmp_path / "in")
    bad = inputs.hypotheses / "part-00002-of-00004.parquet"
    bad.write_bytes(bad.read_bytes()[:-9])
    flags = put(store, inputs, name)
    message = harness.run(flags, tmp_path / "out", *QUICK).refused()
    assert f"{store.root}/{name}/hypotheses/{bad.name}: cannot be read as Parquet" in message
    ran = harness.run(flags, tmp_path / "out", *QUICK, "--skip_bad_files")
    assert ran.fine().counts["hypotheses.bad_files"] == 1
    assert [row["reason"] for row in ran.output.rejected] == ["bad_file"]


# What is not there


@pytest.mark.parametrize("which", ["hypotheses", "references", "output"])
def test_a_bucket_that_is_not_there_is_said_before_the_job(
    store: store_servers.Store, tmp_path: Path, which: str
) -> None:
    given = {
        "hypotheses": str(harness.CHAT_INPUTS.hypotheses),
        "references": str(harness.CHAT_INPUTS.references),
        "output": str(tmp_path / "out"),
        which: f"{store.scheme}://no-such-bucket/x",
    }
    flags = [part for key, value in given.items() for part in (f"--{key}", value)]
    ran = harness.run(flags, tmp_path / "out", *flags, *QUICK)
    message = ran.refused()
    assert message.startswith(f"liangchi: --{which} {store.scheme}://no-such-bucket/x: cannot be ")
    assert "there is no such bucket" in message
    assert not (tmp_path / "out").exists()


def test_a_prefix_that_is_not_there_is_said_before_the_job(
    store: store_servers.Store, tmp_path: Path
) -> None:
    for pattern in ("nothing", "nothing/", "nothing/*.parquet", "noth*"):
        flags = ["--hypotheses", f"{store.root}/{pattern}", *harness.CHAT_INPUTS.flags()[2:]]
        message = harness.run(flags, tmp_path / "out", *QUICK).refused()
        assert f"--hypotheses {store.root}/{pattern}: matches no file" in message


@only_s3
def test_what_a_store_refuses_is_said(
    store: store_servers.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["--hypotheses", f"{store.root}/x", *harness.CHAT_INPUTS.flags()[2:]]
    store.proxy.fail = lambda method, path: 403
    assert "the store refuses it" in harness.run(flags, tmp_path / "out").refused()
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "the store wants credentials" in harness.run(flags, tmp_path / "out").refused()
    monkeypatch.delenv("AWS_PROFILE")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    message = harness.run(flags, tmp_path / "out").refused()
    assert "the store wants credentials" in message
    assert "AWS_PROFILE" in message


def test_a_scheme_that_nothing_reads_is_said(tmp_path: Path) -> None:
    flags = ["--hypotheses", "ftp://x/y", *harness.CHAT_INPUTS.flags()[2:]]
    message = harness.run(flags, tmp_path / "out").refused()
    assert "no file system for ftp:// is here" in message
    with pytest.raises(InputError, match="ftp"):
        files.find(["ftp://x/y"], "hypotheses")


# Who takes a folder


def test_a_folder_of_a_store_is_taken_once_and_replaced_only_if_it_is_ours(
    store: store_servers.Store, name: str, tmp_path: Path
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    output = f"{store.root}/{name}/out"
    assert run(flags, output, *QUICK, "--partitions", 3).code == 0
    again = run(flags, output, *QUICK)
    assert again.code == 2
    assert "already holds '_liangchi.json' and " in again.stderr
    assert " more (a run that is complete)" in again.stderr
    assert run(flags, output, *QUICK, "--overwrite").code == 0
    assert len(store.names(f"{name}/out/segments/")) == 1
    store.put_bytes(f"{name}/out/segments/notes.txt", b"kept")
    before = store.names(f"{name}/out/")
    foreign = run(flags, output, *QUICK, "--overwrite")
    assert (foreign.code, "'segments/notes.txt'" in foreign.stderr) == (2, True)
    assert store.names(f"{name}/out/") == before


def test_of_runs_that_start_together_in_a_store_at_most_one_takes_the_folder(
    store: store_servers.Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_PATIENCE_SECONDS", 0.5)
    for turn in range(3):
        won = take_together(f"{store.root}/{name}/{turn}", ["a", "b", "c", "d"])
        assert len(won) <= 1
        names = store.names(f"{name}/{turn}/")
        assert names == [f"{name}/{turn}/{folder.MARKER}"][: len(won)]
        if won:
            assert json.loads(store.get_bytes(names[0]))["run"] == won[0]


def take_together(output: str, tokens: list[str]) -> list[str]:
    """Runs of these tokens take a folder at once; those that got it."""
    ready = threading.Barrier(len(tokens))
    won: list[str] = []
    lost: list[str] = []

    def take(token: str) -> None:
        ready.wait()
        try:
            folders.claim(output, token=token)
            won.append(token)
        except OutputError as error:
            lost.append(str(error))

    threads = [threading.Thread(target=take, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) + len(lost) == len(tokens)
    return won


def test_the_first_of_two_that_meet_in_a_store_waits_and_wins(
    store: store_servers.Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = f"{store.root}/{name}"
    store.put_bytes(f"{name}/.liangchi-claim-b", b"")
    monkeypatch.setattr(folders.files, "listing", look := Looks(folders.files.listing))
    # The other gives up while the first waits.
    monkeypatch.setattr(
        folders.time, "sleep", lambda seconds: stores.delete([f"{output}/.liangchi-claim-b"])
    )
    look.hide = ".liangchi-claim-b"  # it came after the first look
    folders.claim(output, token="a")
    assert store.names(f"{name}/") == [f"{name}/{folder.MARKER}"]
    store.put_bytes(f"{name}-2/.liangchi-claim-b", b"")
    look.hide = ".liangchi-claim-b"
    with pytest.raises(OutputError, match="at the same moment"):
        folders.claim(f"{output}-2", token="c")
    assert store.names(f"{name}-2/") == [f"{name}-2/.liangchi-claim-b"]


class Looks:
    """A listing that leaves a name out of its first answer."""

    def __init__(self, listing: object) -> None:
        self._listing, self.hide = listing, ""

    def __call__(self, path: str) -> list[str]:
        hide, self.hide = self.hide, ""
        return [name for name in self._listing(path) if name != hide]  # type: ignore[operator]


def test_a_run_whose_folder_was_taken_from_it_writes_no_manifest(
    store: store_servers.Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = put(store, small(tmp_path / "in"), name)
    output = f"{store.root}/{name}/out"
    marker = json.dumps({"product": folder.PRODUCT, "run": "of another"}).encode()
    write = files.write_parquet

    def taken(path: str, table: pa.Table) -> object:
        files.write_bytes(f"{output}/{folder.MARKER}", marker)
        return write(path, table)

    monkeypatch.setattr("transforms.files.write_parquet", taken)
    ran = run(flags, output, *QUICK)
    assert ran.code == 2
    assert "another run took this folder by --overwrite" in ran.stderr
    assert f"{name}/out/{folder.MANIFEST}" not in store.names(f"{name}/out/")


# What is said of errors


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("x"), UnavailableError),
        (ValueError("x"), UnavailableError),
        (FileNotFoundError("x"), FileNotFoundError),
    ],
)
def test_other_errors_of_a_file_system_are_ours(error: Exception, kind: type) -> None:
    with pytest.raises(kind) as raised, stores._plain("s3://b/x"):
        raise error
    assert "s3://b/x" in str(raised.value)
    assert issubclass(UnavailableError, StoreError)
