"""What two systems gave for every kind of example: populations that simulations draw from.

``python -m benchmarks.populations wmt22-en-zh`` writes ``wmt22_statistics.parquet`` again: BLEU's
statistics, in characters, of three systems of WMT22's general test set, English to Chinese, by
segment, and which segments make a document. Numbers only, no text; the file names its source.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring.metrics.base import FIXED_POINT, Metric
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.segments import Layout, SegmentTokens
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHAT = Path(__file__).parents[1] / "examples" / "chat"

WMT22 = Path(__file__).parent / "wmt22_statistics.parquet"
WMT22_SYSTEMS = ("LanguageX", "HuaweiTSC", "DLUT")
WMT22_SOURCE = (
    "general test set of WMT22 (news repository of WMT, wmt22-news-systems), English to Chinese, "
    "references A and B; counted by liangchi: python -m benchmarks.populations wmt22-en-zh"
)


@dataclass(frozen=True)
class Population:
    """What two systems gave for every kind of example. a, b: [kinds, k] statistics.

    documents: [documents], how many kinds each has (they stand together); empty if there are none.
    """

    name: str
    metric: Metric
    a: Ints
    b: Ints
    documents: Ints

    def truth(self, share: float) -> float:
        """The difference of the scores if a share of the examples is one way round."""
        a, b = self.a.sum(axis=0), self.b.sum(axis=0)
        # In thousandths, so that the mixed sums are integers.
        parts = round(share * 1000)
        first, second = parts * a + (1000 - parts) * b, parts * b + (1000 - parts) * a
        return float(self.metric.score(first)) - float(self.metric.score(second))

    def differences(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Floats:
        """Of the scores of sums [..., k]."""
        score = fast_bleu if self.metric.name == "bleu" else self.metric.score
        return np.asarray(score(a) - score(b))


def plain_bleu(sums: npt.NDArray[Any]) -> Floats:
    """BLEU of sums [..., 11] by numpy's logarithm; 0 where an order has no match."""
    statistics = sums.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = (statistics[..., 3:7] / statistics[..., 7:11]).prod(axis=-1)
        brevity = np.minimum(0, 1 - statistics[..., 2] / statistics[..., 1])
        return np.asarray(np.nan_to_num(np.exp(np.log(precisions) / 4 + brevity)))


def fast_bleu(sums: npt.NDArray[Any]) -> Floats:
    """``Bleu().score`` but for a last bit, in a third of the time: the product's logarithms are
    those of the C library, one by one, which give the same bits on every processor."""
    scores = plain_bleu(sums)
    smoothed = (sums[..., 3:7] == 0).any(axis=-1)
    scores[smoothed] = Bleu().score(sums[smoothed])
    return scores


def wmt22(first: str = "LanguageX", second: str = "DLUT") -> Population:
    """BLEU in characters of two of ``WMT22_SYSTEMS``, the better one first."""
    table = pq.ParquetFile(WMT22).read(use_threads=False)
    of_system = [table.filter(pc.equal(table.column("system"), name)) for name in (first, second)]
    document = of_system[0].column("document").to_numpy()
    starts = np.flatnonzero(np.diff(document, prepend=-1))
    lengths = np.diff(starts, append=len(document))
    a, b = (
        np.stack([part.column(name).to_numpy() for name in Bleu().statistics[1:]], axis=1)
        for part in of_system
    )
    one = np.ones((len(document), 1), np.int64)
    a, b = (np.concatenate([one, part.astype(np.int64)], axis=1) for part in (a, b))
    return Population(f"WMT22 {first}, {second}", Bleu(), a, b, lengths)


def write_wmt22(folder: Path) -> None:
    """Makes the file of statistics out of the texts, which are not in the repository."""
    order = [("document", "ascending"), ("example_id", "ascending")]
    references = _table(folder / "references").sort_by(order)
    outputs = _table(folder / "outputs")
    rank = {name: i for i, name in enumerate(references.column("example_id").to_pylist())}
    document = references.column("document").to_numpy(zero_copy_only=False)
    numbers = np.cumsum(document[1:] != document[:-1])
    columns: dict[str, list[Any]] = {"system": [], "document": []}
    parts = []
    for system in WMT22_SYSTEMS:
        of_system = outputs.filter(pc.equal(outputs.column("system"), system))
        places = pa.array([rank[name] for name in of_system.column("example_id").to_pylist()])
        sorted_outputs = of_system.append_column("rank", places).sort_by("rank")
        parts.append(_bleu(references, sorted_outputs, "char")[:, 0, 1:])
        columns["system"] += [system] * len(references)
        columns["document"] += [0, *numbers.tolist()]
    statistics = np.concatenate(parts)
    table = pa.table(
        {
            "system": pa.array(columns["system"]),
            "document": pa.array(columns["document"], pa.uint16()),
            **{
                name: pa.array(statistics[:, i], pa.uint16())
                for i, name in enumerate(Bleu().statistics[1:])
            },
        }
    )
    table = table.replace_schema_metadata({"source": WMT22_SOURCE})
    pq.write_table(table, WMT22, compression="zstd", compression_level=19)


def chat() -> Population:
    """BLEU in jieba's words of examples/chat: all pairs of two of the five replies (one each of
    two systems, three samples of the third), the better system's first."""
    references = _table(CHAT / "references").sort_by("example_id")
    outputs = _table(CHAT / "hypotheses").sort_by(
        [("example_id", "ascending"), ("system", "ascending"), ("sample", "ascending")]
    )
    statistics = _bleu(references, outputs, "jieba")
    first, second = np.triu_indices(statistics.shape[1], 1)
    a, b = (statistics[:, chosen].reshape(-1, statistics.shape[2]) for chosen in (first, second))
    return Population("chat BLEU", Bleu(), a, b, np.zeros(0, np.int64))


def skewed_mean() -> Population:
    """A mean of scores with a long tail (skewness about 6), as CIDEr-D's, paired by example."""
    rng = np.random.default_rng(2016)
    base = rng.lognormal(0.0, 0.9, 20_000)
    a, b = (base * rng.lognormal(shift, 0.5, len(base)) for shift in (0.3, 0.0))
    return _mean_of("skewed mean", a / 20, b / 20)


def rate() -> Population:
    """A share of examples, about 16% and 9%, some of them the same ones: 0 or 1 an example."""
    rng = np.random.default_rng(2017)
    same = rng.random(20_000) < 0.05
    a, b = (same | (rng.random(len(same)) < share) for share in (0.12, 0.035))
    return _mean_of("rate", a * 1.0, b * 1.0)


def checks() -> Population:
    """A mean rate: how many of the 1 to 7 checks of an example are passed, about 80% and 73%.

    Its differences are not whole examples but fractions, so that few sums of them tie.
    """
    rng = np.random.default_rng(2018)
    of_example = rng.integers(1, 8, 20_000)
    hard = rng.beta(4, 1, len(of_example))
    a, b = (rng.binomial(of_example, hard**power) / of_example for power in (1.0, 1.5))
    return _mean_of("rate of checks", a, b)


def _mean_of(name: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Population:
    statistics = np.zeros((2, len(a), 3), np.int64)
    statistics[..., 0] = 1
    statistics[..., 1] = np.rint(np.stack([a, b]) * FIXED_POINT)
    return Population(name, Cider(), statistics[0], statistics[1], np.zeros(0, np.int64))


def _bleu(references: pa.Table, outputs: pa.Table, tokenizer: str) -> Ints:
    """[examples, outputs of an example, k]. Both in one order of examples."""
    own, texts = references.column("references").to_pylist(), outputs.column("text").to_pylist()
    each = len(texts) // len(own)
    ids = np.repeat(references.column("example_id").to_numpy(), each)
    assert np.array_equal(ids, outputs.column("example_id").to_numpy())
    flat = [t for i, r in enumerate(own) for t in (*r, *texts[i * each : (i + 1) * each])]
    track = token_track(pa.array(flat, pa.string()), TextRecipe(make_tokenizer(tokenizer)))
    layout = Layout(np.array([len(r) for r in own]), np.full(len(own), each))
    statistics = Bleu().segment_statistics(SegmentTokens(track, layout))
    return statistics.reshape(len(own), each, -1)


def _table(folder: Path) -> pa.Table:
    parts = [pq.ParquetFile(path).read(use_threads=False) for path in sorted(folder.iterdir())]
    return pa.concat_tables(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes WMT22's statistics again.")
    parser.add_argument("folder", type=Path, help="wmt22-en-zh: its outputs and references")
    write_wmt22(parser.parse_args().folder)
