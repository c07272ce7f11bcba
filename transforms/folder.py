"""What a run's folder looks like: the names in it, and the scores as CSV. No Beam here, so that a
finished run can be read back quickly."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import pyarrow as pa

MANIFEST = "manifest.json"
MARKER = "_liangchi.json"
SCORES = "scores.parquet"
SCORES_CSV = "scores.csv"
REPLICATES = "replicates.parquet"
COMPARISONS = "comparisons.parquet"
COMPARISONS_CSV = "comparisons.csv"
RANKING = "ranking.parquet"
RANKING_CSV = "ranking.csv"
DATA = "data.parquet"
DATA_CSV = "data.csv"
REFERENCE_TYPES = "reference_types.parquet"
REFERENCE_TYPES_CSV = "reference_types.csv"
SERIES = "series.parquet"
SERIES_CSV = "series.csv"
SAMPLES = "samples.parquet"
SAMPLES_CSV = "samples.csv"
SAMPLES_WORST = "samples_worst.parquet"
SAMPLES_WORST_CSV = "samples_worst.csv"
SEGMENTS = "segments"
REJECTED = "rejected"
FOLDERS = (SEGMENTS, REJECTED)

PRODUCT = "liangchi"
"""What the marker says that made the folder."""

_PART = r"part-\d{5,}-of-\d{5,}\.parquet"
_OWN = re.compile(
    rf"(?:(?:{'|'.join(FOLDERS)})/)?\.liangchi-[^/]+"  # a file that was being written
    rf"|(?:{'|'.join(FOLDERS)})/{_PART}"
    r"|(?:scores|comparisons|ranking|series|data|reference_types|samples|samples_worst)"
    r"\.(?:parquet|csv)"
    rf"|{'|'.join(map(re.escape, (REPLICATES, MANIFEST, MARKER)))}"
)


def part(number: int, of: int) -> str:
    """The name of the file of one partition."""
    return f"part-{number:05d}-of-{of:05d}.parquet"


def is_own(name: str) -> bool:
    """Whether a run could have written a file of that name (relative to its folder)."""
    return _OWN.fullmatch(name) is not None


def table_csv(table: pa.Table) -> bytes:
    """The table as CSV (UTF-8), numbers in full; cells that a spreadsheet would run are guarded."""
    rows = ([csv_cell(value) for value in row.values()] for row in table.to_pylist())
    return "".join(map(_csv_line, [table.column_names, *rows])).encode("utf-8")


def _csv_line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    # The writer puts cells into quotes only for ends of lines that are its own.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_cell(value: object) -> object:
    """A value as it stands in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return "'" + value
    return value
