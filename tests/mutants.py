"""Small wrong changes of the sources, each of which must turn some test red.

    python tests/mutants.py [NAME ...]

Each mutant is applied alone to a copy of the tree, never to the tree itself; a few named tests
run against the copy. Killed: tests failed. Survived: they passed, so nothing guards what the
mutant breaks. Anything else (a file that cannot be collected, no test chosen) is an error.
"""

from __future__ import annotations

import compileall
import py_compile
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import forked_pytest
from forked_pytest import ROOMS, ROOT

COPIED = (*ROOMS, "tests", "examples", "pyproject.toml", "setup.py", "README.md")
PROCESSES = 2

TESTS_FAILED = 1
"""pytest's exit code; others mean that it could not do what it was asked."""

# What is run. The tests are named by words of their names (pytest -k).
GOLDEN = ("tests/pipelines/test_chat_golden.py", "integers or scores_and_intervals")
PEERS = ("tests/scoring/test_golden.py", "")
SAMPLES = ("tests/pipelines/test_chat_golden.py", "sacrebleus or pycocoevalcaps")
REPORTS = ("tests/scoring/metrics/test_public_reports.py", "")
SMOOTHED = ("tests/scoring/test_golden.py", "corpus_bleu")
DUPLICATES = ("tests/pipelines/test_bad_input.py", "equal_rows or contradict")
MISSING = ("tests/pipelines/test_bad_input.py", "null_text or ghost or is_named_and_not_there")
ACCOUNTS = ("tests/pipelines/test_output_folder.py", "accounted")
OVERWRITE = ("tests/pipelines/test_overwrite.py", "foreign or below")
RUN_ID = ("tests/pipelines/test_output_folder.py", "run_id")
REPLICATES = ("tests/pipelines/test_output_folder.py", "replicates")
GROUPS = ("tests/pipelines/test_same_bytes.py", "more_groups")
SLICES = ("tests/pipelines/test_slices.py", "examples_alone or add_up")
FROZEN = ("tests/pipelines/test_slices.py", "own_saved_table or examples_alone")
UNITS = ("tests/pipelines/test_slices.py", "units")
ROWS = ("tests/transforms/test_rows.py", "")
CHANGED = ("tests/transforms/test_importers.py", "changes_after")
COMPARED = ("tests/scoring/test_comparisons.py", "")
WORDS = ("tests/scoring/text/test_jieba_modes.py", "never_cuts or mix")
CUTS = ("tests/scoring/text/test_jieba_words.py", "tie_is_broken or close")
NUMBERS = ("tests/scoring/text/test_numbers.py", "equal or form or idioms")
TRACKS = ("tests/scoring/metrics/test_tracks.py", "share_the_number or by_hand")
REFERENCES = ("tests/scoring/test_references.py", "measure_sees or best_match")
COMBINERS = ("tests/transforms/test_combiners.py", "")
REPORT = ("tests/pipelines/test_report.py", "")
BINS = ("tests/scoring/test_bins.py", "")
AGREED = ("tests/scoring/test_joining.py", "column_of_hypotheses or differ_only")
SPREAD = ("tests/scoring/test_samples.py", "")


@dataclass(frozen=True)
class Mutant:
    """old: a piece of the source that occurs exactly once in the rooms; new: what it becomes.

    tests: (file, words of the tests' names, as pytest's -k takes them).
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, str]

    def check(self, root: Path) -> None:
        """Raise ValueError if the sources have moved on, so that the mutant no longer fits."""
        found = [
            str(path.relative_to(root))
            for room in ROOMS
            for path in sorted((root / room).rglob("*.py"))
            for _ in range(path.read_text(encoding="utf-8").count(self.old))
        ]
        if found != [self.path]:
            raise ValueError(
                f"mutant {self.name!r}: {self.old!r} should occur once, in {self.path}, but occurs "
                f"in {found or 'no file'}. Adapt the mutant to the sources."
            )

    @contextmanager
    def applied(self, root: Path) -> Iterator[None]:
        """The mutant in a copy of the tree, as long as it is needed."""
        if root == ROOT:
            raise ValueError("mutants are for copies of the tree only")
        path = root / self.path
        source = path.read_text(encoding="utf-8")
        changed = source.replace(self.old, self.new)
        compile(changed, str(path), "exec")
        path.write_text(changed, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")


MUTANTS = (
    Mutant(
        "a text counts as repeated by samples of one example",
        "scoring/data_report.py",
        "pair = np.unique(key) // (int(example.max()) + 1)",
        "pair = key // (int(example.max()) + 1)",
        ("tests/scoring/test_data_report.py", "text_by_text"),
    ),
    Mutant(
        "the end of a text is a boundary that all agree on",
        "scoring/text/agreement.py",
        "both=shared - filled,",
        "both=shared,",
        ("tests/scoring/text/test_agreement.py", ""),
    ),
    Mutant(
        "a word that both texts have is a synonym all the same",
        "scoring/suggestions.py",
        "apart &= ~_among(text[two] * size + ids[one], has)",
        "apart &= True",
        ("tests/scoring/test_suggestions.py", "misses or no_miss"),
    ),
    Mutant(
        "a user's word cuts a run that goes on behind it",
        "scoring/text/tokenizers/jieba_words.py",
        "(inside_before[start] | inside[stop])",
        "inside_before[start]",
        WORDS,
    ),
    Mutant(
        "two dictionaries are one",
        "scoring/text/tokenizers/user_words.py",
        'return cls(listed, f"{int(hashing.hash_lists(lists)[0]):016x}")',
        'return cls(listed, "0")',
        WORDS,
    ),
    Mutant(
        "of two words as likely the shorter one is taken",
        "scoring/text/tokenizers/jieba_way.py",
        "if by_word >= likely[start]:",
        "if by_word > likely[start]:",
        CUTS,
    ),
    Mutant(
        "ways that are close are not walked as jieba walks them",
        "scoring/text/tokenizers/jieba_way.py",
        "close[place[np.abs(ahead) < _CLOSE]] = True",
        "close[place[:0]] = True",
        CUTS,
    ),
    Mutant(
        "a word goes on from one text into the next",
        "scoring/text/tokenizers/jieba_words.py",
        "        joins[np.cumsum(lengths[lengths > 0]) - 1] = False\n",
        "",
        ("tests/scoring/text/test_jieba_words.py", "what_else_is_in_the_call"),
    ),
    Mutant(
        "a word that was taken out is still made by the model",
        "scoring/text/tokenizers/jieba_words.py",
        "tokens = tokens.split(pc.and_(chinese, gone), list)",
        "tokens = tokens.split(pc.and_(chinese, pc.invert(chinese)), list)",
        ("tests/scoring/text/test_jieba_modes.py", "taken_out"),
    ),
    Mutant(
        "a series goes on counting falls after a rise",
        "scoring/series.py",
        "fallen = fallen + 1 if falls_here else 0",
        "fallen = fallen + 1 if falls_here else fallen",
        ("tests/scoring/test_series.py", ""),
    ),
    Mutant(
        "a swap moves one system only",
        "scoring/comparisons.py",
        "other = metric.score(sums.plain[baseline, columns] - moves)",
        "other = metric.score(sums.plain[baseline, columns] + 0 * moves)",
        COMPARED,
    ),
    Mutant(
        "the interval of a difference is taken from all draws",
        "scoring/comparisons.py",
        "interval = percentile_interval(moved[:replicates], confidence, of_pair)",
        "interval = percentile_interval(moved, confidence, of_pair)",
        COMPARED,
    ),
    Mutant(
        "a pair is compared on what one of the two has",
        "scoring/comparisons.py",
        "both = (has[:, pair.system] & has[:, pair.baseline])[:, None, None]",
        "both = (has[:, pair.system] | has[:, pair.baseline])[:, None, None]",
        COMPARED,
    ),
    Mutant(
        "a family spans all metrics",
        "scoring/comparisons.py",
        "for name in FAMILY if name not in family",
        "for name in FAMILY if name not in (*family, 'metric')",
        COMPARED,
    ),
    Mutant(
        "the reference that is left out stays among the others",
        "scoring/ceiling.py",
        "made = Layout(references=sizes - 1,",
        "made = Layout(references=sizes,",
        ("tests/pipelines/test_reference_ceiling.py", "left_out"),
    ),
    Mutant(
        "an emoji ends at its first joiner",
        "scoring/text/steps/emoji.py",
        "{_TAGS}(?:{_JOINED})*",
        "{_TAGS}",
        ("tests/scoring/text/test_steps.py", "emoji_goes_as_a_whole"),
    ),
    Mutant(
        "characters beyond U+FFFF take three bytes",
        "scoring/text/steps/rewriting.py",
        "for limit in (0x80, 0x800, 0x10000):",
        "for limit in (0x80, 0x800):",
        ("tests/scoring/text/test_steps.py", "slow_version and (width or nfkc)"),
    ),
    Mutant(
        "chains of synonyms are taken",
        "scoring/text/token_steps/synonyms.py",
        "        if variant in keys:",
        "        if variant in keys and False:",
        ("tests/scoring/text/test_token_steps.py", "wrong_synonyms"),
    ),
    Mutant(
        "a comma after a URL becomes part of it",
        "scoring/text/presets.py",
        """            "strip_urls",""",
        """            "width",
            "strip_urls",""",
        ("tests/scoring/text/test_recipe.py", "order_of_chat_zh"),
    ),
    Mutant(
        "两千五 is 2050",
        "scoring/text/numerals.py",
        "return Numeral(total + count * last / 10, False, True, parts + 1)",
        "return Numeral(total + count * last / 100, False, True, parts + 1)",
        NUMBERS,
    ),
    Mutant(
        "2 is always 两",
        "scoring/text/steps/number_forms.py",
        "if value == 2 and not self._two.fullmatch(unit):",
        "if value == 2:",
        NUMBERS,
    ),
    Mutant(
        "a later rule is not tried",
        "scoring/text/steps/numbers.py",
        "for rule in self._rules[number + 1 :]:",
        "for rule in self._rules[:0]:",
        NUMBERS,
    ),
    Mutant(
        "the longer reference wins a tie",
        "scoring/metrics/bleu.py",
        "np.abs(own - references) * base + references,",
        "np.abs(4 * own + 1 - 4 * references) * base + references,",
        REPORTS,
    ),
    Mutant(
        "matches are not clipped",
        "scoring/segments.py",
        "clipped = np.minimum(pairs.hypothesis_count[pairs.first], most)",
        "clipped = pairs.hypothesis_count[pairs.first]",
        PEERS,
    ),
    Mutant(
        "matches are clipped by the reference that holds least",
        "scoring/segments.py",
        "most = np.maximum.reduceat(pairs.reference_count, pairs.first)",
        "most = np.minimum.reduceat(pairs.reference_count, pairs.first)",
        PEERS,
    ),
    Mutant(
        "an n-gram runs over the end of its text",
        "scoring/ngrams.py",
        "goes_on = last != _STOP",
        "goes_on = np.ones(len(last), np.bool_)",
        GOLDEN,
    ),
    Mutant(
        "brevity is not punished",
        "scoring/metrics/bleu.py",
        "short = (hypothesis < reference) & (hypothesis > 0)",
        "short = (hypothesis < reference) & (hypothesis < 0)",
        PEERS,
    ),
    Mutant(
        "the brevity penalty is no exponential",
        "scoring/metrics/bleu.py",
        "exact.exp(mean + brevity)",
        "exact.exp(mean) * np.maximum(1 + brevity, 0)",
        PEERS,
    ),
    Mutant(
        "smoothing does not halve again",
        "scoring/metrics/bleu.py",
        "halvings = np.cumsum(empty, axis=-1)",
        "halvings = empty.astype(np.int64)",
        SMOOTHED,
    ),
    Mutant(
        "document frequencies are one too high",
        "scoring/metrics/cider.py",
        "exact.log(np.maximum(frequencies, 1))",
        "exact.log(np.maximum(frequencies, 1) + 1)",
        PEERS,
    ),
    Mutant(
        "n-grams of hypotheses count as documents",
        "scoring/evaluation.py",
        "held = first[~tokens.layout.is_hypothesis[of_order.text[first]]]",
        "held = first",
        PEERS,
    ),
    Mutant(
        "every reference is a document",
        "scoring/evaluation.py",
        "held = first[~tokens.layout.is_hypothesis[of_order.text[first]]]",
        "held = np.flatnonzero(~tokens.layout.is_hypothesis[of_order.text])",
        PEERS,
    ),
    Mutant(
        "CIDEr-D has no Gaussian",
        "scoring/metrics/cider.py",
        "total *= self.penalty(np.abs(bigrams[hypothesis] - bigrams[reference]))",
        "total *= 1",
        PEERS,
    ),
    Mutant(
        "CIDEr-D is summed over references",
        "scoring/metrics/cider.py",
        "value = 10.0 * (np.bincount(pairs, similarity, hypotheses) / references)",
        "value = 10.0 * np.bincount(pairs, similarity, hypotheses)",
        PEERS,
    ),
    Mutant(
        "all weights are 1",
        "scoring/statistics/resampling.py",
        "np.copyto(part, draw.weights(units[rows], some))",
        "part[:] = 1",
        GOLDEN,
    ),
    Mutant(
        "the seed moves nothing",
        "scoring/statistics/resampling.py",
        "hashing.hash_number(seed, self.salt)",
        "hashing.hash_number(0, self.salt)",
        GOLDEN,
    ),
    Mutant(
        "swaps are drawn from the stream of the weights",
        "scoring/statistics/resampling.py",
        "_SWAP = _Draw(1,",
        "_SWAP = _Draw(0,",
        ("tests/scoring/statistics/test_swaps.py", "golden or know_nothing"),
    ),
    Mutant(
        "the high part of a large statistic counts as a low one",
        "scoring/statistics/resampling.py",
        "product[start:end] << limb.shift",
        "product[start:end]",
        ("tests/scoring/statistics/test_swaps.py", "exact or python_integers"),
    ),
    Mutant(
        "p takes absolute values before it centres, as sacrebleu's",
        "scoring/statistics/paired.py",
        "np.abs(defined - centre) >= least",
        "np.abs(defined) - np.abs(defined).mean() * centred >= least",
        ("tests/scoring/statistics/test_paired.py", "hand or definition"),
    ),
    Mutant(
        "ties do not count for p",
        "scoring/statistics/paired.py",
        "abs(difference) * (1 - ROUNDING) - ROUNDING",
        "abs(difference) * (1 + ROUNDING) + ROUNDING",
        ("tests/scoring/statistics/test_paired.py", "ties or equal_systems"),
    ),
    Mutant(
        "Bonferroni instead of Holm",
        "scoring/statistics/multiplicity.py",
        "(len(tested) - rank) * value",
        "len(tested) * value",
        ("tests/scoring/statistics/test_multiplicity.py", "hand or statsmodels"),
    ),
    Mutant(
        "a cluster starts where one system of the cluster above wins",
        "scoring/statistics/ranking.py",
        "beats[np.ix_(above, systems)].all()",
        "beats[np.ix_(above, systems)].any()",
        ("tests/scoring/statistics/test_ranking.py", "all_above_win"),
    ),
    Mutant(
        "the last block of replicates is dropped",
        "transforms/scores.py",
        "for i, block in blocks if block.kind == kind",
        "for i, block in blocks[:-1] if block.kind == kind",
        REPLICATES,
    ),
    Mutant(
        "one of the groups of replicates is dropped",
        "transforms/scores.py",
        "for group in range(groups):",
        "for group in range(min(groups, 1)):",
        GROUPS,
    ),
    Mutant(
        "a tail of the interval holds what both should",
        "scoring/statistics/intervals.py",
        "tail = (1 - confidence) / 2",
        "tail = 1 - confidence",
        REPLICATES,
    ),
    Mutant(
        "every example is a unit, whatever --resample_by says",
        "scoring/joining.py",
        "example_id if resample_by is None else _strings(_column(chosen, resample_by))",
        "example_id",
        UNITS,
    ),
    Mutant(
        "a unit is counted in every partition",
        "transforms/scores.py",
        'Packet(UNITS, {"units": len(np.unique(hashes))})',
        'Packet(UNITS, {"units": len(hashes)})',
        UNITS,
    ),
    Mutant(
        "the groups of slices are mixed up",
        "scoring/evaluation.py",
        "block_sums(block, examples.units[order], flat[order], lengths, seed)",
        "block_sums(block, examples.units[order], flat, lengths, seed)",
        SLICES,
    ),
    Mutant(
        "weights of slices are those of other examples",
        "scoring/evaluation.py",
        "block_sums(block, examples.units[order], flat[order], lengths, seed)",
        "block_sums(block, examples.units, flat[order], lengths, seed)",
        SLICES,
    ),
    Mutant(
        "samples of one reply contradict each other",
        "scoring/joining.py",
        "+ system[order], sample[order])",
        "+ system[order],)",
        ACCOUNTS,
    ),
    Mutant(
        "only the first sample counts",
        "scoring/evaluation.py",
        "np.add.reduceat(segments, starts, axis=0)",
        "segments[starts]",
        SAMPLES,
    ),
    Mutant(
        "equal rows are kept twice",
        "scoring/joining.py",
        "kept = order[first[~contradicting]]",
        "kept = order[~np.repeat(contradicting, sizes)]",
        DUPLICATES,
    ),
    Mutant(
        "rows that contradict each other are kept",
        "scoring/joining.py",
        "contradicting = ragged.segment_sum(differs.astype(np.int64), sizes) > 0",
        "contradicting = ragged.segment_sum(differs.astype(np.int64), sizes) < 0",
        DUPLICATES,
    ),
    Mutant(
        "missing outputs are left out",
        "scoring/joining.py",
        'if missing != "skip":',
        'if missing == "error":',
        MISSING,
    ),
    Mutant(
        "a combination adds its parts without their weights",
        "scoring/metrics/tracks.py",
        "total = total + weight * value",
        "total = total + value",
        TRACKS,
    ),
    Mutant(
        "two tracks share their statistics",
        "scoring/metrics/tracks.py",
        "name if name == SEGMENTS else on_track_name(name, self.track)",
        "name",
        TRACKS,
    ),
    Mutant(
        "of near-duplicates the shortest stays",
        "scoring/references.py",
        "-tokens.track.lengths, group",
        "tokens.track.lengths, group",
        REFERENCES,
    ),
    Mutant(
        "types are looked up in the first example",
        "scoring/references.py",
        "codes[first + np.maximum(matched, 0)]",
        "codes[np.maximum(matched, 0)]",
        REFERENCES,
    ),
    Mutant(
        "a frozen table's number of documents is not used",
        "transforms/frequencies.py",
        "own if self._saved is None else self._saved[track].documents",
        "own",
        FROZEN,
    ),
    Mutant(
        "the run's own references count in a frozen table",
        "transforms/frequencies.py",
        "np.zeros_like(request.counts) if self._frozen else request.counts",
        "request.counts",
        FROZEN,
    ),
    Mutant(
        "rows are cut by their place instead of their id",
        "transforms/read.py",
        "partition = hashing.spread(hashing.hash_strings(ids), partitions)",
        "partition = np.arange(len(ids)) % partitions",
        ROWS,
    ),
    Mutant(
        "a row group that was replaced by one of as many rows is read",
        "transforms/importers/parquet.py",
        "_size(parquet.metadata, group, columns) != found:",
        "_size(parquet.metadata, group, columns)[0] != found[0]:",
        CHANGED,
    ),
    Mutant(
        "a row number starts again in every row group",
        "transforms/sources.py",
        "parts.append(_part(file, groups, start))\n    if parts:",
        "parts.append(_part(file, groups, 0))\n    if parts:",
        ROWS,
    ),
    Mutant(
        "merged accumulators lose one",
        "transforms/scores.py",
        "added = {name: total.arrays[name] + a for name, a in packet.arrays.items()}",
        "added = dict(packet.arrays)",
        COMBINERS,
    ),
    Mutant(
        "the run id does not know the texts",
        "scoring/joining.py",
        "sample[kept].astype(np.uint64), content[kept]])",
        "sample[kept].astype(np.uint64)])",
        RUN_ID,
    ),
    Mutant(
        "--overwrite deletes what is not ours",
        "pipelines/output.py",
        "    if foreign:\n",
        "    if foreign and marked is None:\n",
        OVERWRITE,
    ),
    Mutant(
        "a folder below an input is taken",
        "pipelines/output.py",
        'where = "lies below" if _is_below(ours, theirs) else None',
        "where = None",
        OVERWRITE,
    ),
    Mutant(
        "explain weighs n-grams by the references of the example alone",
        "pipelines/explain.py",
        "            for rows in references:\n",
        "            for rows in references[:1]:\n",
        ("tests/pipelines/test_explain.py", "every_number"),
    ),
    Mutant(
        "a worker's error in the input is called ours",
        "pipelines/failures.py",
        "        if isinstance(one, UserError):\n",
        "        if isinstance(one, UserError) and one is not error:\n",
        ("tests/pipelines/test_failures.py", "errors_of_the_caller"),
    ),
    Mutant(
        "cells that a spreadsheet would run are not guarded",
        "transforms/folder.py",
        "if isinstance(value, str) and value.startswith(",
        "if isinstance(value, float) and str(value).startswith(",
        ROWS,
    ),
    Mutant(
        "an edge belongs to the bin that it ends",
        "scoring/slicing.py",
        'np.searchsorted(np.array(edges), found, side="right")',
        'np.searchsorted(np.array(edges), found, side="left")',
        BINS,
    ),
    Mutant(
        "an example takes one of the values that contradict each other",
        "scoring/joining.py",
        "    value[differs] = -1\n",
        "",
        AGREED,
    ),
    Mutant(
        "variance within a query is divided by n",
        "scoring/samples.py",
        "np.add.reduceat(apart * apart, starts) / (sizes - 1)",
        "np.add.reduceat(apart * apart, starts) / sizes",
        SPREAD,
    ),
    Mutant(
        "a query with one defined score is counted",
        "scoring/samples.py",
        "kept = _of_several(cell[defined])",
        "kept = np.arange(len(defined))",
        SPREAD,
    ),
    Mutant(
        "control characters reach the terminal",
        "pipelines/text.py",
        'c if c.isprintable() else c.encode("unicode_escape").decode() for c in text',
        "c for c in text",
        REPORT,
    ),
    Mutant(
        "two threads may append to the file of packets at once",
        "transforms/spill.py",
        "with self._writing:",
        "with contextlib.nullcontext():",
        ("tests/transforms/test_spill.py", "threads"),
    ),
    Mutant(
        "a packet that was written half is looked for in the file",
        "transforms/spill.py",
        "return end - written if written == len(data) else None",
        "return end - written",
        ("tests/transforms/test_spill.py", "full_disk"),
    ),
    Mutant(
        "workers of other machines are told where on this one a packet lies",
        "runners/options.py",
        'runner == "FnApiRunner" or environment == "LOOPBACK"',
        'runner == "FnApiRunner" or environment != "DOCKER"',
        ("tests/transforms/test_spill.py", "only_workers"),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant. said: the end of what pytest printed."""

    name: str
    killed: bool
    seconds: float
    said: str


def copy_tree(target: Path) -> Path:
    """A copy of what the tests need, compiled.

    What is compiled is valid for the very source that it was made of, by its hash: a mutant may
    be as long as what it replaces, and made in the same second.
    """
    target.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignored)
        else:
            shutil.copy2(source, target / name)
    by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
    for room in ROOMS:
        compileall.compile_dir(target / room, quiet=1, invalidation_mode=by_hash)
    return target


@dataclass(frozen=True)
class Job:
    """Tests to run in a copy of the tree: with a mutant in it, or of the unchanged sources."""

    tests: tuple[str, str]
    mutant: Mutant | None = None

    def __str__(self) -> str:
        name = f"mutant {self.mutant.name!r}" if self.mutant else "the sources without any mutant"
        return f"{name}, tests {self.tests}"


def run_jobs(
    jobs: Sequence[Job], processes: int = PROCESSES
) -> Iterator[tuple[Job, int, float, str]]:
    """Every job with pytest's exit code, the seconds it took and what it printed, as they end.

    A job that ends otherwise than pytest does, or not at all, is no verdict: RuntimeError names
    it. So a mutant may not make the tests run for ever or crash Python; another one must be found.
    """
    waiting = list(reversed(jobs))
    with tempfile.TemporaryDirectory(prefix="liangchi-mutants-") as folder, ExitStack() as cleaning:
        first = copy_tree(Path(folder) / "0")
        others = [Path(folder) / str(number) for number in range(1, processes)]
        free = [first, *(Path(shutil.copytree(first, other)) for other in others)]
        running: dict[forked_pytest.Run, tuple[Job, ExitStack]] = {}
        while waiting or running:
            while waiting and free:
                job, copy, applied = waiting.pop(), free.pop(), ExitStack()
                if job.mutant:
                    applied.enter_context(job.mutant.applied(copy))
                run = forked_pytest.start(copy, copy / "said.txt", *job.tests)
                cleaning.callback(run.end)
                running[run] = job, applied
            over, late = forked_pytest.wait(list(running))
            for run in (*over, *late):
                job, applied = running.pop(run)
                said = run.printed()[-3000:]
                code = run.process.exitcode
                if code not in (0, TESTS_FAILED):
                    how = f"ended with {code}" if run in over else f"took {forked_pytest.LIMIT} s"
                    raise RuntimeError(f"{job}: pytest {how}:\n{said}")
                applied.close()
                free.append(run.root)
                yield job, code, time.monotonic() - run.started, said


def parts(count: int) -> list[list[Mutant]]:
    """All mutants in so many parts; those of the same file of tests, which are run on the unchanged
    sources too, are in one."""
    alike: dict[str, list[Mutant]] = {}
    for mutant in MUTANTS:
        alike.setdefault(mutant.tests[0], []).append(mutant)
    groups = list(alike.values())
    return [[mutant for group in groups[part::count] for mutant in group] for part in range(count)]


def run_mutants(mutants: Sequence[Mutant], processes: int = PROCESSES) -> Iterator[Outcome]:
    """Every mutant's outcome, as they end. Raises RuntimeError if tests cannot judge."""
    for mutant in mutants:
        mutant.check(ROOT)
    for job, code, seconds, said in run_jobs(
        [*_unchanged(mutants), *(Job(mutant.tests, mutant) for mutant in mutants)], processes
    ):
        if job.mutant:
            yield Outcome(job.mutant.name, code == TESTS_FAILED, seconds, said)
        elif code:
            raise RuntimeError(f"{job}: red:\n{said}")


def _unchanged(mutants: Sequence[Mutant]) -> list[Job]:
    """The tests of all these mutants, those of one file together, without any mutant."""
    words: dict[str, set[str]] = {}
    for mutant in mutants:
        file, chosen = mutant.tests
        words.setdefault(file, set()).add(chosen)
    return [
        Job((file, "" if "" in chosen else " or ".join(f"({each})" for each in sorted(chosen))))
        for file, chosen in words.items()
    ]


def main(names: Sequence[str]) -> int:
    """Run the named mutants, or all; 1 if one survives."""
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    survived = 0
    for outcome in run_mutants(chosen):
        word = "killed  " if outcome.killed else "SURVIVED"
        print(f"{word} {outcome.seconds:5.1f} s  {outcome.name}", flush=True)
        survived += not outcome.killed
    print(f"{len(chosen) - survived} of {len(chosen)} killed")
    return 1 if survived or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
