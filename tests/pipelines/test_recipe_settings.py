"""Recipes of the main track and of others, from flags and files, and what is told of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import recipes
from pipelines.recipes import Parts
from schemas.configuration import Evaluation, Track
from schemas.errors import ConfigurationError
from scoring.text.presets import PRESETS


def evaluation(*tracks: Track, **settings: Any) -> Evaluation:
    metrics = ("bleu", *(f"bleu[{track.name}]" for track in tracks))
    return Evaluation(("h",), ("r",), "o", metrics=metrics, tracks=tracks, **settings)


def test_the_main_recipe_is_the_presets_with_what_is_said_beside_it() -> None:
    assert recipes.of_tracks(evaluation()) == {"main": Parts("jieba")}
    assert recipes.of_tracks(evaluation(preset="sacrebleu"))["main"].tokenizer == "zh"
    said = evaluation(preset="sacrebleu", tokenizer="char", steps=("nfc",), after=())
    assert recipes.of_tracks(said)["main"] == Parts("char", ("nfc",))


def test_a_track_takes_over_what_it_says_nothing_of() -> None:
    found = recipes.of_tracks(
        evaluation(
            Track("same"),
            Track("char", tokenizer="char"),
            Track("raw", steps=()),
            Track("paper", preset="sacrebleu", steps=("nfc",)),
            steps=("nfkc",),
            after=("a", "b"),
            user_dictionaries=("u",),
        )
    )
    main = Parts("jieba", ("nfkc",), ("a", "b"), ("u",))
    assert found["main"] == found["same"] == main
    # Lists of words are made for one way of cutting.
    assert found["char"] == Parts("char", ("nfkc",))
    assert found["raw"] == Parts("jieba", (), ("a", "b"), ("u",))
    zh = PRESETS["sacrebleu"]
    assert found["paper"] == Parts(zh.tokenizer, ("nfc",), zh.after)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"preset": "nope"}, "preset"),
        ({"tokenizer": "nope"}, "tokenizer"),
        ({"steps": ("nope",)}, "steps"),
        ({"after": ("nope",)}, "after"),
        ({"user_dictionaries": ("/nowhere/words",)}, "user_dictionaries"),
        ({"tokenizer": "jieba:mode=nope"}, "tokenizer"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(settings: dict[str, Any], key: str) -> None:
    for config, name in (
        (evaluation(**settings), key),
        (evaluation(Track("t", **settings)), f"tracks.t.{key}"),
    ):
        with pytest.raises(ConfigurationError) as error:
            for track, parts in recipes.of_tracks(config).items():
                recipes.made(parts, "" if track == "main" else f"tracks.{track}.")
        assert str(error.value).startswith(f"{name} ") or f"{name}:" in str(error.value)


def test_a_run_with_steps_and_a_users_words(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("a", "s", 0, "ＡＢＣ云上听雨"), ("b", "s", 0, "好")]),
        harness.references_table([("a", ["abc云上听雨"]), ("b", ["好"])]),
    )
    words = tmp_path / "words.txt"
    words.write_text("云上听雨\n一 个\n", encoding="utf-8")
    file = tmp_path / "run.toml"
    file.write_text(
        'metrics = ["bleu", "bleu[raw]", "bleu[char]"]\nsteps = ["nfkc", "lowercase"]\n'
        f'user_dictionaries = ["{words}"]\nbootstrap = 0\n'
        '[tracks.raw]\npreset = "raw"\n[tracks.char]\ntokenizer = "char"\n',
        encoding="utf-8",
    )
    ran = harness.run(inputs, tmp_path / "out", "--config", file)
    output = ran.fine()
    assert "line 2" in ran.stderr
    assert "blank" in ran.stderr
    (row, _) = output.segments.to_pylist()
    assert row["bleu_hypothesis_length"] == 2  # abc 云上听雨
    assert row["bleu_matches_2"] == 1
    assert row["bleu_matches_1[raw]"] < row["bleu_hypothesis_length[raw]"]
    assert row["hypothesis_tokens[char]"] == row["bleu_matches_1[char]"] == 7
    manifest = output.manifest
    assert {name: track["steps"] for name, track in manifest["tracks"].items()} == {
        "main": ["nfkc", "lowercase"],
        "raw": [],
        "char": ["nfkc", "lowercase"],
    }
    for name, track in manifest["tracks"].items():
        metric = "bleu" if name == "main" else f"bleu[{name}]"
        assert f"|text:{track['recipe']}|" in manifest["signatures"][metric]
