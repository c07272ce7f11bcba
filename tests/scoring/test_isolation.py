"""scoring works without Beam, and its integers do not depend on the processor."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from scoring import Bleu, Cider, evaluate, hashing
from scoring.library import with_own_frequencies
from scoring.segments import Layout, SegmentTokens
from scoring.statistics import resampling
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_BEAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"apache_beam", "pipelines", "transforms", "runners", "schemas"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
try:
    import apache_beam
except ImportError as error:
    assert "is blocked" in str(error)
else:
    raise SystemExit("the block does not work")

import scoring

result = scoring.evaluate(
    {"system": ["我们今天去北京大学", "量尺"] * 10},
    [["我们今天去北京大学吃饭"], ["尺子"]] * 10,
    bootstrap=20,
)
score = result["system", "bleu"]
print(0 < score.ci_low <= score.value <= score.ci_high < 1, result["system", "cider_d"].value > 0)
"""


def run(code: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *code],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_scoring_needs_neither_beam_nor_the_other_rooms() -> None:
    assert run(["-c", WITHOUT_BEAM]) == "True True"


def wide_instructions() -> list[str]:
    """What numpy would use here beyond its baseline."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def digests() -> dict[str, str]:
    """Of everything whose bytes must not depend on the processor."""
    rng = np.random.default_rng(77)
    letters = np.array(list("abcdef量尺"))
    texts = [" ".join(rng.choice(letters, rng.integers(0, 40))) for _ in range(1200)]
    layout = Layout(np.full(300, 3), np.full(300, 1))
    track = token_track(pa.array(texts), TextRecipe(make_tokenizer("none")))
    metrics = (Bleu(), Cider(), Cider(3, 2.0), Cider(4, 6.0, False))
    tokens = with_own_frequencies(SegmentTokens(track, layout), metrics)
    statistics = [metric.segment_statistics(tokens) for metric in metrics]
    units = hashing.hash_strings(pa.array([f"duck_{i:06d}" for i in range(300)]))
    replicates = resampling.replicate_sums(
        units, np.concatenate(statistics, axis=1), np.array([100, 200]), 5, range(400)
    )
    swapped = resampling.swap_sums(
        units, np.concatenate(statistics, axis=1), np.array([100, 200]), 5, range(256)
    )
    arrays = {
        "swapped": swapped,
        "units": units,
        "mixed": hashing.mix(rng.integers(0, 2**63, 1001).astype(np.uint64)),
        "spread": hashing.spread(units, 1009),
        "vocabulary": track.vocabulary_hashes,
        "ids": track.ids,
        **{f"grams {n}": c.hashes for n, c in enumerate(tokens.ngrams(4))},
        "weights": resampling.weights(units, resampling.stream(5, range(400))),
        **{f"statistics {i}": s for i, s in enumerate(statistics)},
        "replicates": replicates,
        "bleu": metrics[0].score(replicates[..., :11]),
        "segment bleu": metrics[0].segment_score(statistics[0]),
    }
    return {name: hashlib.sha256(a.tobytes()).hexdigest() for name, a in arrays.items()}


def test_bytes_are_the_same_without_wide_instructions() -> None:
    wide = wide_instructions()
    # Arrow and BLAS choose by processor as well; a name that BLAS does not know changes nothing.
    output = run(
        [__file__],
        NPY_DISABLE_CPU_FEATURES=" ".join(wide),
        ARROW_USER_SIMD_LEVEL="NONE",
        OPENBLAS_CORETYPE="Nehalem",
    )
    narrow = json.loads(output)
    assert narrow["wide"] == []  # they are off indeed
    assert narrow["digests"] == digests()


def test_scores_do_not_depend_on_the_hash_seed_of_python() -> None:
    code = (
        "from scoring import evaluate\n"
        "r = evaluate({'s': ['a b c', 'b c d'] * 6}, [['a b c d', 'b'], ['b c']] * 6,"
        " tokenizer='none', bootstrap=20)\n"
        "print(r.scores)"
    )
    first, second = (run(["-c", code], PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    result = evaluate(
        {"s": ["a b c", "b c d"] * 6},
        [["a b c d", "b"], ["b c"]] * 6,
        tokenizer="none",
        bootstrap=20,
    )
    assert first == repr(result.scores)


if __name__ == "__main__":
    print(json.dumps({"wide": wide_instructions(), "digests": digests()}))
