"""Step ``t2s``: traditional characters become simplified ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import opencc


@cache
def _converter() -> opencc.OpenCC:
    # Its dictionaries are in the package; made once a process, since it cannot be pickled.
    import opencc

    return opencc.OpenCC("t2s")


@dataclass(frozen=True)
class TraditionalToSimplified:
    """OpenCC's ``t2s``: characters, and words in which a character is read otherwise (乾隆).

    Words of a region stay (軟體 becomes 软体, not 软件). Simplified text is left as it is.
    """

    def signature(self) -> str:
        return f"t2s(opencc-{version('opencc')})"

    def apply(self, texts: pa.Array) -> pa.Array:
        # One call for all. No rule of OpenCC reaches over a newline, and every newline stays.
        newlines = pc.count_substring(texts, "\n").to_numpy(zero_copy_only=False)
        as_list = pa.ListArray.from_arrays(
            pa.array([0, len(texts)], pa.int32()), texts.cast(pa.large_string())
        )
        joined = pc.binary_join(as_list, pa.scalar("\n", pa.large_string()))[0].as_py()
        return _lines(_converter().convert(joined) + "\n", newlines + 1, texts.type)


def _lines(joined: str, lines: npt.NDArray[np.int64], type_: pa.DataType) -> pa.Array:
    """Texts of so many lines each, without the newline at the end of each."""
    data = joined.encode("utf-8")
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    offsets = np.concatenate([[0], ends[np.cumsum(lines) - 1]]).astype(np.int64)
    texts = pa.LargeStringArray.from_buffers(len(lines), pa.py_buffer(offsets), pa.py_buffer(data))
    return pc.utf8_slice_codeunits(texts, 0, -1).cast(type_)
