"""What a run does, as plain frozen dataclasses, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from schemas import expressions, slicing
from schemas.errors import ConfigurationError

MISSING = ("empty", "skip", "error")
FORMATS = ("parquet", "jsonl", "text")
PAIRS = ("all",)
TESTS = ("bootstrap", "randomisation")
FAMILY = ("metric", "slice", "test")


def _need(key: str, value: object, fine: bool, expected: str) -> None:
    if not fine:
        raise ConfigurationError(key, value, expected)


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made.

    replicates: 0 for none. confidence: of the interval. resample_by: a column of the references
    whose equal values are resampled together; None: every example on its own.
    """

    replicates: int = 1000
    confidence: float = 0.95
    seed: int = 12345
    resample_by: str | None = None

    def __post_init__(self) -> None:
        _need("bootstrap", self.replicates, 0 <= self.replicates <= 10**6, "0 to 1,000,000")
        fine = math.isfinite(self.confidence) and 0 < self.confidence < 1
        _need("confidence", self.confidence, fine, "a number between 0 and 1, such as 0.95")
        _need("seed", self.seed, 0 <= self.seed < 2**63, "0 to 2**63 - 1")


@dataclass(frozen=True)
class Track:
    """One more way to cut texts, beside the main one, which the settings of the run make.

    None: as the main one, or as the preset if there is one. What is made for the words of one
    tokenizer, after and user_dictionaries, a track that names its tokenizer does not take over.
    """

    name: str
    preset: str | None = None
    tokenizer: str | None = None
    steps: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    user_dictionaries: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Comparison:
    """How systems are compared.

    baseline: what every other system is compared with. pairs: ``all`` compares every two systems.
    tests: of the difference. trials: draws of a test; more where a family needs them. alpha: below
    which a p counts. family: what p values are adjusted over, beside the pairs. difference: one to
    say the needed number of units for.
    """

    baseline: str | None = None
    pairs: str | None = None
    tests: tuple[str, ...] = TESTS
    trials: int = 10_000
    alpha: float = 0.05
    family: tuple[str, ...] = ()
    difference: float | None = None

    def __post_init__(self) -> None:
        _need("baseline", self.baseline, self.baseline != "", "the name of a system")
        _need("pairs", self.pairs, self.pairs in (None, *PAIRS), "one of " + ", ".join(PAIRS))
        for key, known in (("tests", TESTS), ("family", FAMILY)):
            given: tuple[str, ...] = getattr(self, key)
            fine = set(given) <= set(known) and len(set(given)) == len(given)
            _need(key, list(given), fine, "some of " + ", ".join(known) + ", each once")
        _need("tests", list(self.tests), bool(self.tests), "at least one test")
        _need("trials", self.trials, 100 <= self.trials <= 10**6, "100 to 1,000,000")
        fine = math.isfinite(self.alpha) and 0 < self.alpha < 1
        _need("alpha", self.alpha, fine, "a number between 0 and 1, such as 0.05")
        fine = self.difference is None or (math.isfinite(self.difference) and self.difference > 0)
        _need("difference", self.difference, fine, "a number above 0, in units of the metrics")


@dataclass(frozen=True)
class Evaluation:
    """Everything ``liangchi evaluate`` is told about what to measure.

    hypotheses, references: patterns of files. output: a folder that is new or empty.
    format: of all files; None: by their names. columns: (our name of a column, or table.name; the
    name it has in files). system: of hypotheses that do not name theirs. null_text: references
    that stand for none.
    preset: a recipe by name, of which tokenizer, steps (before cutting) and after (on the tokens)
    replace parts. user_dictionaries: files of words for the tokenizer.
    metrics: such as bleu, or bleu[char] for that of a track. tracks: ways to cut texts beside the
    main one. combinations: (name, expression), such as 0.3 * bleu[char] + 0.7 * bleu.
    near_duplicate_references: references of one example whose tokens are more alike than this
    count as one, by near_duplicate_track (None: the first that a metric uses).
    systems: the systems to score; empty: all that occur. slices: columns, crossings and bins, as
    schemas/slicing.py reads them. slice_values: how many values of a slice keep their names.
    spread_limit: above which the replies to one query count as far apart.
    document_frequencies: a saved table to use; save_document_frequencies: where to save the run's.
    reference_ceiling: score the references too, against each other and shuffled.
    step_column: of the hypotheses: each of its values is a checkpoint of its system. falls: after
    how many falls in a row a series is marked.
    partitions: None to choose by the size of the input. data_report: rows whose texts are looked
    at for the table data, about; 0 for none.
    """

    hypotheses: tuple[str, ...]
    references: tuple[str, ...]
    output: str
    metrics: tuple[str, ...] = ("bleu", "cider_d")
    preset: str = "raw"
    tokenizer: str | None = None
    steps: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    user_dictionaries: tuple[str, ...] = ()
    weights: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)
    smoothing: str = "exp"
    smoothing_value: float | None = None
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    comparison: Comparison = field(default_factory=Comparison)
    reference_ceiling: bool = False
    step_column: str | None = None
    falls: int = 2
    slices: tuple[str, ...] = ()
    slice_values: int = 50
    spread_limit: float = 0.05
    systems: tuple[str, ...] = ()
    missing: str = "empty"
    document_frequencies: str | None = None
    save_document_frequencies: str | None = None
    run_id: str | None = None
    partitions: int | None = None
    replicate_groups: int = 1
    max_rejected: float = 0.01
    max_characters: int = 100_000
    data_report: int = 10_000
    format: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    system: str | None = None
    null_text: tuple[str, ...] = ()
    skip_bad_files: bool = False
    tracks: tuple[Track, ...] = ()
    combinations: tuple[tuple[str, str], ...] = ()
    near_duplicate_references: float | None = None
    near_duplicate_track: str | None = None

    def __post_init__(self) -> None:
        _need("hypotheses", list(self.hypotheses), bool(self.hypotheses), "at least one pattern")
        _need("references", list(self.references), bool(self.references), "at least one pattern")
        _need("output", self.output, bool(self.output), "a folder")
        _need("metrics", list(self.metrics), bool(self.metrics), "at least one metric")
        _need("missing", self.missing, self.missing in MISSING, "one of " + ", ".join(MISSING))
        fine = self.format is None or self.format in FORMATS
        _need("format", self.format, fine, "one of " + ", ".join(FORMATS))
        _need("system", self.system, self.system != "", "a name")
        mapped = [ours for ours, _ in self.columns]
        _need("columns", mapped, len(set(mapped)) == len(mapped), "no name twice")
        for ours, theirs in self.columns:
            _need("columns", f"{ours}={theirs}", bool(ours and theirs), "OUR_NAME=NAME_IN_THE_FILE")
        for key in ("metrics", "slices", "systems"):
            named: tuple[str, ...] = getattr(self, key)
            _need(key, list(named), len(set(named)) == len(named), "no name twice")
        self._check_slices()
        self._check_tracks()
        fine = math.isfinite(self.spread_limit) and self.spread_limit >= 0
        _need("spread_limit", self.spread_limit, fine, "a number of 0 or more")
        fixed = ("example_id", "system", "sample", "text")
        other = "a column of another name (--columns NAME=ITS_NAME gives it one)"
        _need("step_column", self.step_column, self.step_column not in ("", *fixed), other)
        _need("falls", self.falls, self.falls >= 1, "1 or more")
        baseline = self.comparison.baseline
        fine = baseline is None or not self.systems or baseline in self.systems
        _need("baseline", baseline, fine, "one of --systems: " + ", ".join(self.systems))
        fine = self.partitions is None or 1 <= self.partitions <= 100_000
        _need("partitions", self.partitions, fine, "1 to 100,000")
        _need(
            "replicate_groups",
            self.replicate_groups,
            1 <= self.replicate_groups <= 1000,
            "1 to 1000",
        )
        fine = math.isfinite(self.max_rejected) and 0 <= self.max_rejected <= 1
        _need("max_rejected", self.max_rejected, fine, "a share from 0 to 1")
        _need("data_report", self.data_report, self.data_report >= 0, "0 or more")
        _need("max_characters", self.max_characters, self.max_characters >= 1, "1 or more")
        if self.document_frequencies and self.save_document_frequencies:
            raise ConfigurationError(
                "save_document_frequencies",
                self.save_document_frequencies,
                "no table to save when one is loaded by document_frequencies",
            )

    def _check_slices(self) -> None:
        other = "a column of another name (--columns NAME=ITS_NAME gives it one)"
        for name in self.slices:
            try:
                parts = slicing.parse(name).parts
            except ValueError as error:
                raise ConfigurationError("slices", name, str(error)) from error
            fine = name != slicing.OVERALL and not any(
                part.column in slicing.RESERVED[part.table or slicing.REFERENCES] for part in parts
            )
            _need("slices", name, fine, other)
        _need("slice_values", self.slice_values, 1 <= self.slice_values <= 1000, "1 to 1000")
        unit = self.bootstrap.resample_by
        fine = unit not in (*slicing.RESERVED[slicing.REFERENCES], slicing.OVERALL)
        _need("resample_by", unit, fine, other)

    def _check_tracks(self) -> None:
        tracks = [track.name for track in self.tracks]
        _need("tracks", tracks, len(set(tracks)) == len(tracks), "no name twice")
        for name in tracks:
            fine = expressions.is_name(name) and name != expressions.MAIN
            expected = "a name of letters, digits and _ that does not begin with a digit"
            if name == expressions.MAIN:
                expected = "another name: main is the track that tokenizer is for"
            _need("tracks", name, fine, expected)
        used = {self._track("metrics", metric) for metric in self.metrics}
        threshold = self.near_duplicate_references
        fine = threshold is None or 0 < threshold < 1
        expected = "a number between 0 and 1, such as 0.8"
        _need("near_duplicate_references", threshold, fine, expected)
        if (track := self.near_duplicate_track) is not None:
            known = [expressions.MAIN, *tracks]
            fine = threshold is not None and track in known
            expected = f"one of {', '.join(known)}, beside near_duplicate_references"
            _need("near_duplicate_track", track, fine, expected)
            used.add(track)
        names = [name for name, _ in self.combinations]
        _need("combinations", names, len(set(names)) == len(names), "no name twice")
        for name, expression in self.combinations:
            fine = expressions.is_name(name) and name not in self.metrics
            expected = "a name of letters, digits and _ that is no metric's, before its ="
            _need("combinations", name, fine, expected)
            key = f"combinations.{name}"
            try:
                terms = expressions.terms(expression)
            except ValueError as error:
                raise ConfigurationError(key, expression, str(error)) from error
            used |= {self._track(key, metric) for _, metric in terms}
        for name in tracks:
            expected = f"a metric on the track, such as bleu[{name}] in metrics, or no such track"
            _need("tracks", name, name in used, expected)

    def _track(self, key: str, metric: str) -> str:
        """The track of a metric. Raises ConfigurationError if there is none."""
        try:
            track = expressions.metric_on_track(metric)[1]
        except ValueError as error:
            raise ConfigurationError(key, metric, str(error)) from error
        known = [expressions.MAIN, *(t.name for t in self.tracks)]
        there = f"there are {', '.join(known)}" if self.tracks else "there is none but main"
        expected = f"the name of a track in [ ]: {there}; --tracks {track}=TOKENIZER makes one"
        _need(key, metric, track in known, expected)
        return track
