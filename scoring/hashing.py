"""The named, stable 64-bit hashes of this project.

Everything that must come out equal on another day, runner or machine hangs on them: the
partition of an example, the weight of a unit in a replicate, the identity of an n-gram between
partitions. They are never Python's ``hash``. Golden vectors are in tests/scoring/test_hashing.py;
a change of any function here is a change of ``HASH_VERSION``.

The mixer is the finaliser of SplitMix64 with the constants of David Stafford's variant 13
(Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import ragged

HASH_VERSION = "liangchi-hash-1"

Hashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LENGTH = np.uint64(0xD6E8FEB86659FD93)
_NGRAM = np.uint64(0xA0761D6478BD642F)
_BYTES_OF_A_WORD = 8
_MIX_BLOCK = 16_384


def mix(values: Hashes) -> Hashes:
    """A bijection of 64-bit numbers in which every input bit moves about half the output bits."""
    mixed = np.empty(values.shape, np.uint64)
    source, target = values.reshape(-1), mixed.reshape(-1)
    shifted = np.empty(min(len(source), _MIX_BLOCK), np.uint64)
    # Block by block, so that the eight passes stay in the cache: three times as fast.
    for start in range(0, len(source), _MIX_BLOCK):
        block = source[start : start + _MIX_BLOCK]
        result = target[start : start + _MIX_BLOCK]
        part = shifted[: len(block)]
        np.right_shift(block, 30, out=part)
        np.bitwise_xor(block, part, out=result)
        np.multiply(result, _MIX_1, out=result)
        np.right_shift(result, 27, out=part)
        np.bitwise_xor(result, part, out=result)
        np.multiply(result, _MIX_2, out=result)
        np.right_shift(result, 31, out=part)
        np.bitwise_xor(result, part, out=result)
    return mixed


def hash_number(number: int, salt: int = 0) -> int:
    """The hash of one non-negative integer below 2**64, different for every salt."""
    words = np.array([number & (2**64 - 1), salt & (2**64 - 1)], np.uint64)
    return int(mix(mix(words[:1] + _GOLDEN) + words[1:] * _LENGTH)[0])


def hash_strings(strings: pa.Array) -> Hashes:
    """The hash of the UTF-8 bytes of every string ``[n]``. Nulls hash as the empty string."""
    data, offsets = utf8_of(strings)
    return hash_bytes(data, offsets)


def hash_bytes(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    """The hash of every byte string ``data[offsets[i]:offsets[i + 1]]``.

    Each string is read as little-endian words of 8 bytes, the last filled with zeros; every word
    is mixed with its place, the mixed words are added, the length is mixed in.
    """
    lengths = np.diff(offsets)
    words_of = (lengths + (_BYTES_OF_A_WORD - 1)) // _BYTES_OF_A_WORD
    place = ragged.ranges(np.zeros(len(words_of), np.int64), words_of)
    starts = np.repeat(offsets[:-1], words_of) + place * _BYTES_OF_A_WORD
    # One word at every byte, so that a word may start anywhere.
    padded = np.zeros(len(data) + _BYTES_OF_A_WORD, np.uint8)
    padded[: len(data)] = data
    words_at = np.ndarray((len(data) + 1,), "<u8", padded.data, strides=(1,))
    words = words_at[starts]
    tail = lengths % _BYTES_OF_A_WORD
    partial = np.flatnonzero(tail)
    last = np.cumsum(words_of)[partial] - 1
    unused = np.uint64(64) - tail[partial].astype(np.uint64) * np.uint64(8)
    words[last] = (words[last] << unused) >> unused
    mixed = mix(words + (place.astype(np.uint64) + np.uint64(1)) * _GOLDEN)
    sums = ragged.segment_sum(mixed, words_of)
    return mix(sums + (lengths.astype(np.uint64) + np.uint64(1)) * _LENGTH)


def extend(prefixes: Hashes, tokens: Hashes) -> Hashes:
    """The hash of every n-gram from the hash of its first n - 1 tokens and that of its last."""
    extended = prefixes * _NGRAM
    extended += tokens
    return mix(extended)


def combine(columns: list[Hashes]) -> Hashes:
    """One hash for every row of several columns of hashes; the order of the columns counts."""
    result = columns[0]
    for column in columns[1:]:
        result = extend(result, column)
    return result


def spread(hashes: Hashes, parts: int) -> npt.NDArray[np.int64]:
    """The part in ``0 <= part < parts`` (at most 2**31) of every hash, by its high bits.

    Monotone: in an array sorted by hash the members of one part stand together.
    """
    part: Hashes = ((hashes >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)
    return part.astype(np.int64)


def utf8_of(strings: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of an Arrow string array and the offsets of its strings, without a copy.

    Nulls count as empty strings.
    """
    if pa.types.is_dictionary(strings.type):
        strings = strings.dictionary_decode()
    if not pa.types.is_string(strings.type) and not pa.types.is_large_string(strings.type):
        strings = strings.cast(pa.large_string())
    if strings.null_count:
        strings = strings.fill_null("")
    if len(strings) == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    width = np.int32 if pa.types.is_string(strings.type) else np.int64
    _, offset_buffer, data_buffer = strings.buffers()
    offsets = np.frombuffer(offset_buffer, width)[
        strings.offset : strings.offset + len(strings) + 1
    ].astype(np.int64)
    if data_buffer is None:
        return np.zeros(0, np.uint8), offsets - offsets[0]
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    return data, offsets - offsets[0]


def hash_lists(lists: pa.Array) -> Hashes:
    """The hash of every list of strings: its strings, their places and their number.

    A null list hashes as an empty one.
    """
    if len(lists) == 0:
        return np.zeros(0, np.uint64)
    flat = hash_strings(lists.flatten())
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    lengths = lengths.astype(np.int64)
    place = ragged.ranges(np.zeros(len(lengths), np.int64), lengths).astype(np.uint64)
    sums = ragged.segment_sum(mix(flat + (place + np.uint64(1)) * _GOLDEN), lengths)
    return mix(sums + (lengths.astype(np.uint64) + np.uint64(1)) * _LENGTH)
