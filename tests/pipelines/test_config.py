"""Configuration files: they say what flags say, flags win, and what is wrong in them is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import command, options, settings
from pipelines.config import config
from schemas.errors import ConfigurationError, UserError

NEEDED = ["--hypotheses", "h", "--references", "r", "--output", "out"]

EVERYTHING = """
hypotheses = ["a", "b"]
references = ["c"]
output = "out"
overwrite = true
format = "jsonl"
columns = {text = "reply", references = {example_id = "id"}, "hypotheses.example_id" = "qid"}
system = "s"
null_text = ["<PAD>", ""]
systems = ["s", "t"]
missing = "skip"
max_rejected = 1
max_characters = 10
skip_bad_files = true
metrics = ["bleu", "bleu[t]"]
preset = "sacrebleu"
tokenizer = "char"
steps = ["nfkc", "lowercase"]
after = ["stopwords:file=s"]
user_dictionaries = ["u"]
near_duplicate_references = 0.8
near_duplicate_track = "t"
tracks = {t = {tokenizer = "zh"}}
combinations = {d = "bleu+bleu[t]"}
weights = [1, 0.0]
smoothing = "floor"
smoothing_value = 0.5
slices = ["x"]
slice_values = 20
spread_limit = 0.1
reference_ceiling = true
step_column = "step"
falls = 3
document_frequencies = "d"
bootstrap = 7
confidence = 0.9
seed = 3
resample_by = "doc"
baseline = "s"
pairs = "all"
tests = ["randomisation"]
trials = 500
alpha = 0.1
family = ["metric", "slice"]
difference = 0.02
run_id = "r"
partitions = 2
data_report = 50
replicate_groups = 3
plan = true
beam = ["--direct_num_workers=2"]
print = "json"
scale = 100
quiet = true
log_json = true
"""


def toml(folder: Path, text: str) -> str:
    path = folder / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_says_everything_that_flags_say(tmp_path: Path) -> None:
    call = options.parse(["--config", toml(tmp_path, EVERYTHING)])
    flags = """
    --hypotheses a b --references c --output out --overwrite --format jsonl
    --columns text=reply references.example_id=id hypotheses.example_id=qid --system s
    --null_text <PAD> EMPTY --systems s t --missing skip --max_rejected 1 --max_characters 10
    --skip_bad_files --metrics bleu bleu[t] --tokenizer char
    --preset sacrebleu --steps nfkc lowercase --after stopwords:file=s --user_dictionaries u
    --near_duplicate_references 0.8 --near_duplicate_track t
    --tracks t=zh --combinations d=bleu+bleu[t] --weights 1 0 --smoothing floor
    --smoothing_value 0.5 --slices x --slice_values 20 --reference_ceiling
    --step_column step --falls 3 --spread_limit 0.1
    --document_frequencies d
    --bootstrap 7 --confidence 0.9
    --seed 3 --resample_by doc --run_id r --baseline s --pairs all
    --tests randomisation --trials 500 --alpha 0.1 --family metric slice --difference 0.02
    --partitions 2 --data_report 50 --replicate_groups 3 --plan
    --direct_num_workers=2 --print json --scale 100 --quiet --log_json
    """
    given = ["" if flag == "EMPTY" else flag for flag in flags.split()]
    assert call == options.parse(given)
    # Every setting is there, but for the one that excludes another.
    keys = {line.split(" = ")[0] for line in EVERYTHING.strip().splitlines()}
    assert {*settings.BY_KEY} - keys == {"save_document_frequencies"}


def test_flags_win(tmp_path: Path) -> None:
    path = toml(tmp_path, EVERYTHING)
    flags = ["--references", "x", "y", "--tokenizer", "zh", "--no-overwrite", "--bootstrap", "0"]
    call = options.parse(["--config", path, *flags, "--scale", "1"])
    assert call.config.references == ("x", "y")
    assert call.config.hypotheses == ("a", "b")
    assert (call.config.tokenizer, call.config.bootstrap.replicates) == ("zh", 0)
    assert (call.overwrite, call.printing.scale) == (False, 1.0)
    # Options of Beam are added: the last of a name counts there.
    call = options.parse(["--config", path, "--direct_num_workers=3"])
    assert call.beam == ["--direct_num_workers=2", "--direct_num_workers=3"]


def test_what_is_not_said_is_the_default(tmp_path: Path) -> None:
    assert options.parse(["--config", toml(tmp_path, ""), *NEEDED]) == options.parse(NEEDED)


@pytest.mark.parametrize(
    "flags",
    [
        [],
        NEEDED,
        ["--config", "EVERYTHING"],
        [*NEEDED, "--weights", "0.1", "0.9", "--confidence", "1e-05", "--seed", str(2**62)],
        [*NEEDED, "--null_text", 'a"b\\c', "\n\t\x00\x7f", "𠮷\u2028", "--columns", "text=a b.c=d"],
        [*NEEDED, "--slices", "a.b", "--columns", "a.b=x", "--", "--unknown", "# = ["],
    ],
)
def test_what_config_prints_can_be_fed_back(tmp_path: Path, flags: list[str]) -> None:
    flags = [toml(tmp_path, EVERYTHING) if flag == "EVERYTHING" else flag for flag in flags]
    path = tmp_path / "printed.toml"
    path.write_text(config(flags), encoding="utf-8")
    again = options.values(["--config", str(path)], "config")
    assert again == options.values(flags, "config")
    assert config(["--config", str(path)]) == config(flags)


def test_config_shows_every_setting_with_a_comment(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["config", "--tokenizer", "char"]) == 0
    said = capsys.readouterr().out
    assert 'tokenizer = "char"' in said
    for setting in settings.SETTINGS:
        assert f"# {setting.said}\n" in said
        assert f"\n{setting.key} = " in said or f"\n# {setting.key} = " in said


def test_what_is_commented_out_can_be_used(tmp_path: Path) -> None:
    for setting in settings.SETTINGS:
        made = f"{setting.key} = {settings.example(setting)}  # not set\n"
        if setting.kind is bool:
            continue  # those are always set
        assert setting.key in options.load(toml(tmp_path, made))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tokeniser = 'jieba'", ["unknown key tokeniser = 'jieba'", "expected the key tokenizer"]),
        ("xyzzy = 1", ["unknown key xyzzy", "one of hypotheses, references"]),
        ("config = 'x'", ["unknown key config"]),
        ("[bootstrap]\nreplicates = 3", ["bootstrap = {'replicates': 3}", "a whole number"]),
        ("bootstrap = 10.5", ["bootstrap = 10.5", "a whole number"]),
        ("bootstrap = true", ["bootstrap = True", "a whole number"]),
        ("bootstrap = '10'", ["bootstrap = '10'", "a whole number"]),
        ("bootstrap = -1", ["bootstrap = -1", "0 to 1,000,000"]),
        ("confidence = 'high'", ["confidence = 'high'", "a number"]),
        ("confidence = nan", ["confidence = nan", "between 0 and 1"]),
        ("max_rejected = 2026-01-01", ["max_rejected", "a number"]),
        (f"confidence = {10**400}", ["confidence", "a number"]),
        ("metrics = 'bleu'", ["metrics = 'bleu'", 'a list of strings, such as ["bleu"]']),
        ("metrics = [1]", ["metrics = [1]", "a list of strings"]),
        ("hypotheses = []", ["hypotheses = []", "a list of strings"]),
        ("weights = []", ["weights = []", "a list of numbers, such as [0.5, 0.5]"]),
        ("weights = [0.5, 'half']", ["weights", "a list of numbers, such as [0.5, 0.5]"]),
        ("overwrite = 'yes'", ["overwrite = 'yes'", "true or false"]),
        ("overwrite = 1", ["overwrite = 1", "true or false"]),
        ("missing = 'drop'", ["missing = 'drop'", "one of empty, skip, error"]),
        ("format = 'csv'", ["format = 'csv'", "one of parquet, jsonl, text"]),
        ("print = []", ["print = []", "one of table"]),
        ("columns = ['a=b']", ["columns = ['a=b']", "a table of names"]),
        ("[columns]\ntext = 1", ["columns = {'text': 1}", "a table of names"]),
        ("columns = {text = ''}", ["text=", "OUR_NAME=NAME_IN_THE_FILE"]),
        ("columns = {txt = 'a'}", ["txt=a", "did you mean text=a"]),
        ("scale = 0", ["scale = 0.0", "above 0"]),
        ("system = ''", ["system = ''", "a name"]),
        ("a = ", ["no TOML: Invalid value"]),
        ("a = 1\na = 2", ["no TOML"]),
        ("a = " + "[" * 5000, ["no TOML"]),
        ("a = " + "9" * 5000, ["no TOML"]),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: list[str]
) -> None:
    # columns are checked with the inputs, so those must be there.
    flags = [*harness.CHAT_INPUTS.flags(), "--output", str(tmp_path / "out")]
    if "hypotheses" in text:
        flags = flags[2:]
    assert command.main(["evaluate", "--config", toml(tmp_path, text), *flags]) == 2
    said = capsys.readouterr().err
    assert said.startswith("liangchi: ")
    assert "Traceback" not in said
    assert all(part in said for part in says), said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("data", [b"\xff\xfea", b"\x80", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "settings.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError, match=f"--config {path}"):
        options.parse(["--config", str(path), *NEEDED])


@pytest.mark.parametrize("given", ["text", "text=", "=reply", "="])
def test_pairs_of_names_are_checked_in_flags_too(given: str) -> None:
    with pytest.raises(UserError, match="expected OURS=THEIRS"):
        options.parse([*NEEDED, "--columns", given])


def test_names_are_mapped_once() -> None:
    with pytest.raises(ConfigurationError, match="no name twice"):
        options.parse([*NEEDED, "--columns", "text=a", "text=b"])


def test_a_run_by_file_is_the_run_by_flags(tmp_path: Path) -> None:
    flags: list[Any] = ["--bootstrap", 20, "--tokenizer", "char", "--slices", "domain"]
    one = harness.run(harness.CHAT_INPUTS, tmp_path / "one", *flags).fine()
    path = tmp_path / "settings.toml"
    given = [*harness.CHAT_INPUTS.flags(), *map(str, flags)]
    path.write_text(config(given), encoding="utf-8")
    other = harness.run([], tmp_path / "other", "--config", path).fine()
    harness.check_same_bytes(one, other)
    assert other.manifest["configuration"]["tokenizer"] == "char"
