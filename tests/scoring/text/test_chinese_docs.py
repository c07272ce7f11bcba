"""docs/chinese.md names every step and preset, and its tables are those of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import step_effects
from scoring.text.presets import PRESETS
from scoring.text.steps import BUILT_IN as STEPS
from scoring.text.token_steps import BUILT_IN as TOKEN_STEPS

DOCS = Path(step_effects.DOCS).read_text("utf-8")


@pytest.mark.parametrize("name", [*STEPS, *TOKEN_STEPS, *PRESETS])
def test_every_step_and_preset_is_explained(name: str) -> None:
    assert f"`{name}`" in DOCS


def test_the_steps_of_chat_zh_stand_in_their_order() -> None:
    assert f"| `chat-zh` | jieba | {', '.join(PRESETS['chat-zh'].steps)} |" in DOCS


@pytest.mark.parametrize("folder", step_effects.DATA, ids=lambda folder: folder.name)
def test_the_scores_of_the_table_are_those_of_now(folder: Path) -> None:
    examples = step_effects.read(folder)
    for name, preset in (("raw", step_effects.RAW), ("chat-zh", step_effects.CHAT)):
        cells = " | ".join(f"**{score:.2f}**" for score in examples.bleu(preset.recipe()))
        assert f"% | {cells} |" in DOCS, name
