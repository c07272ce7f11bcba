"""What people run today for the same scores: jieba, sacrebleu, pycocoevalcap, one by one.

``python -m benchmarks.peers DATA --system s00 --json OUT`` reads the data of ``benchmarks.data``,
cuts every text with ``jieba.lcut``, and runs sacrebleu's BLEU with its bootstrap of 1,000 and
pycocoevalcap's CIDEr-D, on one core, with the wall seconds of each part. References are cut once
for all systems, and sacrebleu keeps their n-grams, as its command does.

A part whose memory would be above ``--max_bytes`` is run on the first examples that fit; its
seconds are multiplied up and it says ``extrapolated``, with the number it was run on.

``--tokenizer char`` takes single characters for words: it checks the arithmetic without jieba.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import jieba
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pycocoevalcap.cider.cider_scorer import CiderScorer
from sacrebleu.metrics.bleu import BLEU

BOOTSTRAP = 1000
NGRAM_ORDER = 4
SIGMA = 6.0

# sacrebleu's bootstrap draws all indices at once (int64) and copies the ten statistics of all
# replicates at once (float32): significance.py, _bootstrap_resample.
BYTES_OF_A_DRAW = 8 + 10 * 4

PROBED_EXAMPLES = 4_000
PROBED_FROM = 20_000  # examples; smaller sets always fit
CHUNK_OF_BLEU = 20_000
TEXTS_OF_A_CALL = 20_000
SHOWN = 5

TOKENIZERS = ("jieba", "char")


@dataclass
class Texts:
    """The texts of the examples of some systems. Cut texts are joined by blanks, in place."""

    hypotheses: dict[str, list[str]]
    references: list[list[str]]

    def first(self, examples: int) -> Texts:
        """The first examples."""
        hypotheses = {system: texts[:examples] for system, texts in self.hypotheses.items()}
        return Texts(hypotheses, self.references[:examples])


@dataclass
class Part:
    """Seconds of one step. examples: how many it was run on; extrapolated: to all of them."""

    name: str
    seconds: float
    cpu_seconds: float
    examples: int
    extrapolated: bool = False


@dataclass
class Result:
    """Everything one run says. scores: system -> metric -> value; BLEU on a scale of 0 to 1.

    total_seconds, total_cpu_seconds: the parts, each part at its full (extrapolated) size.
    differing: texts that the product cuts otherwise, if it was asked; the first few are shown.
    """

    systems: list[str]
    examples: int
    parts: list[Part] = field(default_factory=list)
    scores: dict[str, dict[str, float | None]] = field(default_factory=dict)
    extrapolated: bool = False
    total_seconds: float = 0.0
    total_cpu_seconds: float = 0.0
    tokenizer: str = "jieba"
    differing_texts: int | None = None
    differing: list[dict[str, str]] = field(default_factory=list)
    peak_rss_bytes: int = 0
    max_bytes: int = 0
    bytes_of_an_example: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str, examples: int) -> Iterator[None]:
        """Adds a part that was run on so many examples."""
        start, cpu = time.perf_counter(), time.process_time()
        yield
        seconds = time.perf_counter() - start
        self.add(name, seconds, time.process_time() - cpu, examples)

    def add(self, name: str, seconds: float, cpu_seconds: float, examples: int) -> None:
        """Adds a part, extrapolated if it was run on fewer examples than there are."""
        times = self.examples / examples
        whole = examples == self.examples
        self.parts.append(Part(name, seconds * times, cpu_seconds * times, examples, not whole))


def read(data: Path, systems: Sequence[str], most: int | None) -> Texts:
    """The texts of the first examples, in the order of the references."""
    table = pq.read_table(data / "references", columns=["example_id", "references"])
    table = table if most is None else table.slice(0, most)
    place = {name: i for i, name in enumerate(table.column("example_id").to_pylist())}
    hypotheses = {system: [""] * len(place) for system in systems}
    rows = pq.read_table(data / "hypotheses", filters=pc.field("system").isin(list(systems)))
    columns = (rows.column(name).to_pylist() for name in ("example_id", "system", "text"))
    for name, system, text in zip(*columns):
        if name in place:
            hypotheses[system][place[name]] = text
    return Texts(hypotheses, table.column("references").to_pylist())


def load_dictionary() -> jieba.Tokenizer:
    """A jieba of its own: ``initialize`` would leave a cache in the shared temporary folder."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


def cut(texts: Texts, cut_one: Callable[[str], list[str]]) -> None:
    """Every text becomes its words, joined by blanks; words that are blank are dropped."""

    def words(text: str) -> str:
        return " ".join(word for word in cut_one(text) if not word.isspace())

    for own in texts.hypotheses.values():
        own[:] = map(words, own)
    for references in texts.references:
        references[:] = map(words, references)


def count_differing(result: Result, raw: Texts, own: Texts) -> None:
    """How many texts the product cuts otherwise than the peers did."""
    from scoring.text.recipe import TextRecipe
    from scoring.text.tokenizers import make_tokenizer

    recipe = TextRecipe(make_tokenizer(result.tokenizer))
    pairs = [*zip(raw.references, own.references)]
    pairs += [*zip(raw.hypotheses.values(), own.hypotheses.values())]
    flat = [pair for texts in pairs for pair in zip(*texts)]
    result.differing_texts = 0
    for start in range(0, len(flat), TEXTS_OF_A_CALL):
        chunk = flat[start : start + TEXTS_OF_A_CALL]
        lists = recipe.tokenize(pa.array([text for text, _ in chunk], pa.string())).to_lists()
        for (text, peers), product in zip(chunk, map(" ".join, lists)):
            if peers != product:
                result.differing_texts += 1
                if len(result.differing) < SHOWN:
                    result.differing.append({"text": text, "peers": peers, "product": product})


def bleu(texts: Texts, bootstrap: int) -> dict[str, dict[str, float | None]]:
    """sacrebleu's corpus score, and the ends of its interval if there is a bootstrap."""
    metric = _bleu(texts.references)
    scores: dict[str, dict[str, float | None]] = {}
    for system, hypotheses in texts.hypotheses.items():
        score = metric.corpus_score(hypotheses, None, n_bootstrap=max(bootstrap, 1))
        scores[system] = {"bleu": score.score / 100}
        if bootstrap > 1:
            # The mean of the replicates and half the interval's width have no public name.
            mean, half = score._mean / 100, score._ci / 100
            scores[system] |= {"bleu_ci_low": mean - half, "bleu_ci_high": mean + half}
    return scores


def bleu_in_chunks(texts: Texts) -> dict[str, dict[str, float | None]]:
    """sacrebleu's score without its memory: counts of chunks, added up, then its own formula."""
    scores: dict[str, dict[str, float | None]] = {}
    for system, hypotheses in texts.hypotheses.items():
        counts, totals, own, closest = [0] * NGRAM_ORDER, [0] * NGRAM_ORDER, 0, 0
        for start in range(0, len(hypotheses), CHUNK_OF_BLEU):
            chunk = slice(start, start + CHUNK_OF_BLEU)
            score = _bleu(texts.references[chunk]).corpus_score(hypotheses[chunk], None)
            counts = [a + b for a, b in zip(counts, score.counts)]
            totals = [a + b for a, b in zip(totals, score.totals)]
            own, closest = own + score.sys_len, closest + score.ref_len
        whole = BLEU.compute_bleu(counts, totals, own, closest, smooth_method="exp")
        scores[system] = {"bleu": whole.score / 100}
    return scores


def cider(texts: Texts) -> dict[str, dict[str, float | None]]:
    """pycocoevalcap's CIDEr-D."""
    scores: dict[str, dict[str, float | None]] = {}
    for system, hypotheses in texts.hypotheses.items():
        scorer = CiderScorer(n=NGRAM_ORDER, sigma=SIGMA)
        for hypothesis, references in zip(hypotheses, texts.references):
            scorer += (hypothesis, references)
        scores[system] = {"cider_d": float(scorer.compute_score()[0])}
    return scores


def run(
    data: Path,
    systems: Sequence[str],
    max_bytes: int,
    max_examples: int | None = None,
    bootstrap: int = BOOTSTRAP,
    tokenizer: str = "jieba",
    check_tokens: bool = False,
) -> Result:
    """All parts, one after the other."""
    result = Result(list(systems), 0, max_bytes=max_bytes, tokenizer=tokenizer)
    started = process_age(), time.process_time()
    texts = read(data, systems, max_examples)
    n = result.examples = len(texts.references)
    result.add("start", *started, n)
    result.add("read", process_age() - started[0], time.process_time() - started[1], n)
    if tokenizer == "jieba":
        with result.timed("dictionary", n):
            dictionary = load_dictionary()
        with result.timed("jieba", n):
            cut(texts, dictionary.lcut)
        del dictionary
    else:
        with result.timed(tokenizer, n):
            cut(texts, list)
    if check_tokens:
        count_differing(result, read(data, systems, max_examples), texts)

    fits = _fitting(result, texts, "bleu", lambda some: bleu(some, 0), bootstrap * BYTES_OF_A_DRAW)
    with result.timed("sacrebleu", fits):
        result.scores = bleu(texts.first(fits), bootstrap)
    if fits < n:
        result.scores = bleu_in_chunks(texts)  # to compare with; not part of the time
    gc.collect()

    fits = _fitting(result, texts, "cider", cider)
    with result.timed("pycocoevalcap", fits):
        of_cider = cider(texts.first(fits))
    for system, scores in of_cider.items():
        # Document frequencies are those of the whole, so a part has no score to compare.
        result.scores[system] |= scores if fits == n else {"cider_d": None}

    result.extrapolated = any(part.extrapolated for part in result.parts)
    result.total_seconds = sum(part.seconds for part in result.parts)
    result.total_cpu_seconds = sum(part.cpu_seconds for part in result.parts)
    result.peak_rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    names = ("jieba", "sacrebleu", "pycocoevalcap", "numpy")
    result.versions = {name: version(name) for name in names}
    return result


def process_age() -> float:
    """Seconds since this process was started: the interpreter and the imports."""
    # The fields behind the name (in parentheses, it may hold blanks); the 22nd is the start.
    fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def available_bytes() -> int:
    """What the machine has left, by /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text("utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/meminfo has no MemAvailable")


def _bleu(references: list[list[str]]) -> BLEU:
    most = max(map(len, references))
    # None is a reference that is not there; its type hint does not know.
    streams: Any = [[r[i] if i < len(r) else None for r in references] for i in range(most)]
    return BLEU(tokenize="none", force=True, references=streams)


def _fitting(
    result: Result, texts: Texts, name: str, function: Callable[[Texts], Any], more: int = 0
) -> int:
    """How many examples the part can be run on. more: bytes an example beside those it is seen to
    take on the first few, in a process of its own."""
    n = len(texts.references)
    if n < PROBED_FROM:
        return n
    some = texts.first(PROBED_EXAMPLES)
    some.hypotheses = dict(list(some.hypotheses.items())[:1])
    context = get_context("fork")
    answer: SimpleQueue[int] = context.SimpleQueue()
    probe = context.Process(target=_grown_by, args=(answer, function, some))
    probe.start()
    grown = answer.get()
    probe.join()
    each = result.bytes_of_an_example[name] = grown // PROBED_EXAMPLES + more
    return max(1, min(n, result.max_bytes // each))


def _grown_by(answer: SimpleQueue[int], function: Callable[[Texts], Any], texts: Texts) -> None:
    before = _status("VmRSS")
    function(texts)
    answer.put(max(_status("VmHWM") - before, 0))


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def main() -> None:
    """``python -m benchmarks.peers DATA --system NAME --json OUT``"""
    parser = argparse.ArgumentParser(description="Time jieba, sacrebleu and pycocoevalcap.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--system", nargs="+", required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--bootstrap", type=int, default=BOOTSTRAP)
    parser.add_argument(
        "--max_bytes", type=int, default=None, help="default: half of what is available"
    )
    parser.add_argument("--max_examples", type=int, default=None, help="take only the first")
    parser.add_argument("--tokenizer", choices=TOKENIZERS, default="jieba")
    parser.add_argument(
        "--check_tokens",
        action="store_true",
        help="count the texts that the product cuts otherwise",
    )
    options = parser.parse_args()
    limit = options.max_bytes or available_bytes() // 2
    result = run(
        options.data,
        options.system,
        limit,
        options.max_examples,
        options.bootstrap,
        options.tokenizer,
        options.check_tokens,
    )
    options.json.write_text(json.dumps(asdict(result), indent=1), "utf-8")


if __name__ == "__main__":
    main()
