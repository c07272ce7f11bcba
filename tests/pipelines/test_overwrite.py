"""When a folder may be taken for a run, and what --overwrite deletes: never what is not ours."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import harness
import pytest

from pipelines import output as folders
from schemas.errors import OutputError
from transforms import folder

FLAGS = ("--tokenizer", "none", "--bootstrap", 12)


def write(folder: Path) -> harness.Inputs:
    return harness.write_inputs(
        folder,
        harness.hypotheses_table([(f"e{i}", "s", 0, f"a b c {i}") for i in range(4)]),
        harness.references_table([(f"e{i}", ["a b c d"]) for i in range(4)]),
    )


@pytest.fixture
def inputs(tmp_path: Path) -> harness.Inputs:
    return write(tmp_path / "in")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is over, for ``take``."""
    base = tmp_path_factory.mktemp("finished")
    return run_into(write(base / "in"), base / "out").fine().folder


def take(finished: Path, output: Path) -> None:
    """A copy of the run in another place: its manifest names the files where they were."""
    shutil.copytree(finished, output)


def tree(path: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(path)): b"link" if p.is_symlink() else p.read_bytes()
        for p in sorted(path.rglob("*"))
        if p.is_symlink() or p.is_file()
    }


def run_into(inputs: harness.Inputs, output: Path, *flags: object) -> harness.Ran:
    return harness.run(inputs, output, *FLAGS, *flags)


def test_a_run_is_replaced_by_one_that_says_so(inputs: harness.Inputs, tmp_path: Path) -> None:
    output = tmp_path / "out"
    first = run_into(inputs, output, "--partitions", 3).fine().manifest["run_id"]
    refused = run_into(inputs, output)
    assert refused.code == 2
    assert "--overwrite" in refused.stderr
    again = run_into(inputs, output, "--partitions", 1, "--seed", 5, "--overwrite").fine()
    assert again.manifest["run_id"] != first
    # Nothing of the other run is left.
    assert sorted(tree(output)) == [
        "_liangchi.json",
        "data.csv",
        "data.parquet",
        "manifest.json",
        "rejected/part-00000-of-00001.parquet",
        "replicates.parquet",
        "scores.csv",
        "scores.parquet",
        "segments/part-00000-of-00001.parquet",
    ]


def test_a_new_or_empty_folder_may_be_named_with_overwrite(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    run_into(inputs, tmp_path / "new", "--overwrite").fine()
    (tmp_path / "empty").mkdir()
    run_into(inputs, tmp_path / "empty", "--overwrite").fine()


FOREIGN = [
    "notes.txt",
    "segments/notes.txt",
    "segments/part-00000-of-00001.parquet.bak",
    "segments/part-00077-of-00099.parquet",  # of our layout, but of another run
    "rejected/deep/part-00000-of-00001.parquet",
    "scores.parquet.old",
    ".hidden",
    "df/part-00000.parquet",
]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named_and_nothing_is_deleted(
    inputs: harness.Inputs, finished: Path, tmp_path: Path, name: str
) -> None:
    output = tmp_path / "out"
    take(finished, output)
    (output / name).parent.mkdir(parents=True, exist_ok=True)
    (output / name).write_text("kept", encoding="utf-8")
    before = tree(output)
    ran = run_into(inputs, output, "--overwrite")
    assert ran.code == 2
    assert repr(name) in ran.stderr
    assert "Nothing was deleted" in ran.stderr
    assert tree(output) == before


def test_foreign_folders_are_refused_too_and_of_many_names_some_are_shown(
    inputs: harness.Inputs, finished: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    take(finished, output)
    (output / "empty").mkdir()
    for i in range(20):
        (output / f"mine{i:02}").touch()
    message = run_into(inputs, output, "--overwrite").stderr
    assert "'mine00', 'mine01', 'mine02', 'mine03', 'mine04' and 16 more" in message
    for i in range(20):
        (output / f"mine{i:02}").unlink()
    assert "'empty/'" in run_into(inputs, output, "--overwrite").stderr
    assert (output / "empty").is_dir()


def test_links_are_never_followed_nor_deleted(
    inputs: harness.Inputs, finished: Path, tmp_path: Path
) -> None:
    output, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    take(finished, output)
    elsewhere.mkdir()
    part = "part-00000-of-00001.parquet"
    (elsewhere / part).write_text("kept", encoding="utf-8")

    # A folder of ours that leads elsewhere.
    os.rename(output / "segments", tmp_path / "moved")
    (output / "segments").symlink_to(elsewhere)
    ran = run_into(inputs, output, "--overwrite")
    assert (ran.code, "'segments'" in ran.stderr) == (2, True)
    (output / "segments").unlink()
    os.rename(tmp_path / "moved", output / "segments")

    # A file of ours that is a link.
    (output / "scores.csv").unlink()
    (output / "scores.csv").symlink_to(elsewhere / part)
    ran = run_into(inputs, output, "--overwrite")
    assert (ran.code, "'scores.csv'" in ran.stderr) == (2, True)
    (output / "scores.csv").unlink()

    # The folder itself.
    (tmp_path / "link").symlink_to(output)
    ran = run_into(inputs, tmp_path / "link", "--overwrite")
    assert (ran.code, "is a link to" in ran.stderr) == (2, True)
    assert (elsewhere / part).read_text(encoding="utf-8") == "kept"
    assert (output / "manifest.json").exists()


def test_a_folder_without_our_marker_is_not_ours_whatever_its_names(
    inputs: harness.Inputs, finished: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    take(finished, output)
    for content in (None, "{}", '{"product": "other"}', "no json", '["liangchi"]'):
        (output / "_liangchi.json").unlink(missing_ok=True)
        if content is not None:
            (output / "_liangchi.json").write_text(content, encoding="utf-8")
        before = tree(output)
        ran = run_into(inputs, output, "--overwrite")
        assert (ran.code, "no _liangchi.json of ours" in ran.stderr) == (2, True)
        assert tree(output) == before


def test_a_manifest_cannot_name_files_of_others(
    inputs: harness.Inputs, finished: Path, tmp_path: Path
) -> None:
    output, other = tmp_path / "out", tmp_path / "other"
    take(finished, output)
    other.mkdir()
    (other / "scores.parquet").write_text("kept", encoding="utf-8")
    manifest = json.loads((output / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"] += [
        {"path": str(other / "scores.parquet")},
        {"path": f"{output}/../other/scores.parquet"},
        {"path": "../other/scores.parquet"},
        {"path": 7},
        "text",
    ]
    (output / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    run_into(inputs, output, "--overwrite").fine()
    assert (other / "scores.parquet").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("content", ["{}", "no json", '{"run_id": 1}', "[]"])
def test_a_manifest_that_is_not_ours_is_foreign(
    inputs: harness.Inputs, finished: Path, tmp_path: Path, content: str
) -> None:
    output = tmp_path / "out"
    take(finished, output)
    (output / "manifest.json").write_text(content, encoding="utf-8")
    before = tree(output)
    ran = run_into(inputs, output, "--overwrite")
    assert (ran.code, "'manifest.json'" in ran.stderr) == (2, True)
    assert tree(output) == before


def test_a_run_that_was_moved_can_be_replaced(inputs: harness.Inputs, tmp_path: Path) -> None:
    run_into(inputs, tmp_path / "old").fine()
    os.rename(tmp_path / "old", tmp_path / "new")
    run_into(inputs, tmp_path / "new", "--seed", 3, "--overwrite").fine()
    assert not (tmp_path / "old").exists()


def left_by_a_killed_run(output: Path) -> None:
    for name in (
        "_liangchi.json",
        "segments/part-00001-of-00003.parquet",
        "segments/.liangchi-x1y2",
        ".liangchi-abcd",
        "rejected/part-00000-of-00003.parquet",
        "scores.parquet",
    ):
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text("half", encoding="utf-8")
    (output / "_liangchi.json").write_text('{"product": "liangchi"}', encoding="utf-8")


def test_what_a_killed_run_left_is_replaced(inputs: harness.Inputs, tmp_path: Path) -> None:
    output = tmp_path / "out"
    left_by_a_killed_run(output)
    run_into(inputs, output, "--overwrite").fine()
    assert not [name for name in tree(output) if ".liangchi-" in name]


@pytest.mark.parametrize("left", [["_liangchi.json"], [".liangchi-claim-1", ".liangchi-claim-2"]])
def test_what_a_run_left_that_ended_while_it_took_the_folder_is_replaced(
    tmp_path: Path, left: list[str]
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    for name in left:
        (output / name).touch()
    (output / "notes").mkdir()
    with pytest.raises(OutputError, match="Nothing was deleted"):
        folders.claim(str(output), overwrite=True)
    (output / "notes").rmdir()
    (output / left[0]).write_text("of somebody", encoding="utf-8")
    with pytest.raises(OutputError, match="Nothing was deleted"):
        folders.claim(str(output), overwrite=True)
    (output / left[0]).write_bytes(b"")
    assert sorted(tree(output)) == left
    folders.clear(str(output))
    assert list(tree(output)) == [name for name in left if name == "_liangchi.json"]


@pytest.mark.parametrize("name", ["x.parquet", "segments/part-1-of-3.parquet", "segments/.hidden"])
def test_without_a_manifest_only_names_that_a_run_gives_are_ours(
    inputs: harness.Inputs, tmp_path: Path, name: str
) -> None:
    output = tmp_path / "out"
    left_by_a_killed_run(output)
    (output / name).write_text("kept", encoding="utf-8")
    before = tree(output)
    ran = run_into(inputs, output, "--overwrite")
    assert (ran.code, repr(name) in ran.stderr) == (2, True)
    assert tree(output) == before


def test_a_bad_call_deletes_nothing(inputs: harness.Inputs, finished: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    take(finished, output)
    before = tree(output)
    for flags in (("--metrics", "nonsense"), ("--slices", "nothing"), ("--hypotheses", "no*")):
        assert run_into(inputs, output, *flags, "--overwrite").code == 2
    assert tree(output) == before


def test_the_manifest_goes_first_so_that_a_half_emptied_folder_is_no_run(
    inputs: harness.Inputs, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    take(finished, output)
    deleted = []
    unlink = os.unlink

    def count(path: str, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:
            deleted.append(path)
            if len(deleted) == 3:
                raise OSError("the disk fails on purpose")
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", count)
    ran = run_into(inputs, output, "--overwrite")
    assert (ran.code, "the disk fails on purpose" in ran.stderr) == (2, True)
    monkeypatch.undo()
    assert deleted[0] == "manifest.json"
    assert (output / "_liangchi.json").exists()
    run_into(inputs, output, "--overwrite").fine()


def test_two_runs_cannot_take_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The other run comes between the look and the marker.
    output = tmp_path / "out"
    folders.claim(str(output))
    marker = (output / folder.MARKER).read_bytes()
    monkeypatch.setattr(folders.files, "listing", lambda path: [])
    with pytest.raises(OutputError, match="at the same moment"):
        folders.claim(str(output))
    assert (output / folder.MARKER).read_bytes() == marker


# Apart from the inputs


def test_an_output_at_above_or_below_an_input_is_refused(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    before = tree(tmp_path)
    for output, words in (
        (inputs.hypotheses, "is the same as the input"),
        (inputs.references, "is the same as the input"),
        (tmp_path / "in", "lies above the input"),
        (inputs.hypotheses / "out", "lies below the input"),
        (inputs.references / "a" / "out", "lies below the input"),
        (tmp_path / "in" / ".." / "in", "lies above the input"),
    ):
        for more in ((), ("--overwrite",)):
            ran = run_into(inputs, output, *more)
            assert (ran.code, words in ran.stderr) == (2, True), (output, ran.stderr)
    assert tree(tmp_path) == before


def test_links_do_not_hide_that_an_output_is_an_input(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(inputs.hypotheses)
    ran = run_into(inputs, tmp_path / "link" / "out")
    assert (ran.code, "lies below the input" in ran.stderr) == (2, True)
    linked = harness.Inputs(tmp_path / "link", inputs.references)
    ran = run_into(linked, inputs.hypotheses / "out")
    assert (ran.code, "lies below the input" in ran.stderr) == (2, True)


@pytest.mark.parametrize(
    ("pattern", "output", "words"),
    [
        ("in/hypotheses/*.parquet", "in/hypotheses/out", None),
        ("in/hypotheses/**.parquet", "in/hypotheses/out", "would be found by"),
        ("in/hypotheses/**", "in/hypotheses/out", "would be found by"),
        ("in/hyp*/part-*.parquet", "in/hypotheses", "lies above"),
        ("in/hypotheses/*.parquet", "in/hypotheses", "lies above"),
        ("in/hypotheses/part-0000?-of-0000[1-9].parquet", "out", None),
    ],
)
def test_patterns_are_looked_through(
    inputs: harness.Inputs, tmp_path: Path, pattern: str, output: str, words: str | None
) -> None:
    given = ["--hypotheses", str(tmp_path / pattern), "--references", str(inputs.references)]
    ran = harness.run(given, tmp_path / output, *FLAGS)
    if words is None:
        ran.fine()
    else:
        assert (ran.code, words in ran.stderr) == (2, True), ran.stderr


def test_a_saved_table_is_kept_apart_from_inputs_too(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    ran = run_into(inputs, tmp_path / "out", "--save_document_frequencies", inputs.references)
    assert (ran.code, "--save_document_frequencies" in ran.stderr) == (2, True)
    table = tmp_path / "table"
    run_into(inputs, tmp_path / "out", "--save_document_frequencies", table).fine()
    ran = run_into(inputs, table, "--document_frequencies", table, "--overwrite")
    assert (ran.code, "is the same as the input" in ran.stderr) == (2, True)


def test_a_table_saved_inside_of_the_folder_is_replaced_with_it(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    table = ("--save_document_frequencies", output / "df")
    run_into(inputs, output, *table).fine()
    run_into(inputs, output, "--overwrite").fine()
    assert not (output / "df").exists()


def test_an_object_store_is_emptied_by_the_same_rules(
    inputs: harness.Inputs, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beam's own calls for them, on a disk.
    output = tmp_path / "out"
    take(finished, output)
    monkeypatch.setattr(folders.files, "is_local", lambda path: False)
    (output / "notes.txt").touch()
    with pytest.raises(OutputError, match="notes"):
        folders.clear(str(output))
    assert (output / "manifest.json").exists()
    (output / "notes.txt").unlink()
    folders.clear(str(output))
    assert list(tree(output)) == ["_liangchi.json"]
