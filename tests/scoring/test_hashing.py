"""The stable hashes: golden vectors, a slow version, and how well they mix."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import hashing, ragged

WORD = 2**64
DUCKS = [f"duck_{i:06d}" for i in range(100_000)]

# A change of any number here is a change of HASH_VERSION: partitions, weights of the bootstrap and
# saved tables of document frequencies hang on them.
STRINGS = {
    "": 0xB55A8FA067537A73,
    "a": 0x3B9F89AAEBC76C6D,
    "1234567": 0x4E99EBD83AB759EC,
    "12345678": 0x771503B4CB78CF04,
    "123456789": 0x17171B2C0D64AA56,
    "量尺": 0x3BA8B40DB9BB4B97,
    "量尺" * 100: 0x5D12ED7189B10170,
    "duck_000001": 0x2D36C8D546068A8C,
}


def strings(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def slow_mix(value: int) -> int:
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 % WORD
    value ^= value >> 27
    value = value * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def slow_hash(text: str) -> int:
    data = text.encode()
    total = 0
    for place in range((len(data) + 7) // 8):
        word = int.from_bytes(data[8 * place : 8 * place + 8], "little")
        total += slow_mix((word + (place + 1) * 0x9E3779B97F4A7C15) % WORD)
    return slow_mix((total + (len(data) + 1) * 0xD6E8FEB86659FD93) % WORD)


def far_from_even(counts: np.ndarray) -> float:
    """By how many standard deviations chi-square leaves what an even spread gives."""
    expected = counts.sum() / len(counts)
    freedom = len(counts) - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


def test_the_version_is_named() -> None:
    assert hashing.HASH_VERSION == "liangchi-hash-1"


def test_golden_vectors_of_strings() -> None:
    assert dict(zip(STRINGS, hashing.hash_strings(strings(list(STRINGS))).tolist())) == STRINGS


def test_golden_vectors_of_mix() -> None:
    values = np.array([0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF], np.uint64)
    assert hashing.mix(values).tolist() == [
        0,
        0x5692161D100B05E5,
        0x25C26EA579CEA98A,
        0xB4D055FCF2CBBD7B,
        0xB2C058E4EBB5112C,
    ]


def test_golden_vectors_of_extend_and_combine() -> None:
    prefixes = np.array([0, 1, 5], np.uint64)
    last = np.array([0, 2**64 - 1, 7], np.uint64)
    assert hashing.extend(prefixes, last).tolist() == [
        0,
        0xF266013D2AEF0136,
        0x4ABF6AC381AD9D8C,
    ]
    columns = [np.array([i], np.uint64) for i in (1, 2, 3)]
    assert hashing.combine(columns).tolist() == [0x92055893A7785AEB]
    assert hashing.combine(columns[::-1]).tolist() != [0x92055893A7785AEB]
    assert hashing.combine(columns[:1]).tolist() == [1]


def test_golden_vectors_of_numbers() -> None:
    assert hashing.hash_number(0) == 0x48218226FF3CD4BF
    assert hashing.hash_number(1) == 0xDCE423FC82C0D5B8
    assert hashing.hash_number(2**64 - 1) == 0x445018E305810B78
    assert hashing.hash_number(12345) == 0x4C7E931E2AA6BA11
    assert hashing.hash_number(12345, 7) == 0xE42C4F9B8656A1DF
    assert hashing.hash_number(0, 1) == 0x45F53BA19FD8D8CF


def test_golden_vectors_of_lists() -> None:
    lists = pa.array([[], ["a"], ["a", ""], ["", "a"], None, ["量", "尺"]])
    assert hashing.hash_lists(lists).tolist() == [
        0xB55A8FA067537A73,
        0xB427ED8CBB645757,
        0xA4FEA05169E3724F,
        0xE5A56C4A93529143,
        0xB55A8FA067537A73,
        0x8149BFD625EB753E,
    ]
    assert hashing.hash_lists(lists.slice(2, 3)).tolist() == hashing.hash_lists(lists)[2:5].tolist()
    assert hashing.hash_lists(lists.slice(0, 0)).tolist() == []


def test_golden_vectors_of_spread() -> None:
    values = np.array([0, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    assert hashing.spread(values, 1).tolist() == [0] * 6
    assert hashing.spread(values, 3).tolist() == [0, 0, 0, 1, 1, 2]
    assert hashing.spread(values, 17).tolist() == [0, 0, 0, 8, 8, 16]
    assert hashing.spread(values, 2**31).tolist() == [0, 0, 0, 2**30 - 1, 2**30, 2**31 - 1]


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=30), max_size=8))
def test_hash_strings_equals_the_slow_version(values: list[str]) -> None:
    assert hashing.hash_strings(strings(values)).tolist() == [slow_hash(v) for v in values]


@given(st.lists(st.integers(0, WORD - 1), min_size=1, max_size=20))
def test_mix_equals_the_slow_version_and_leaves_its_input_alone(values: list[int]) -> None:
    given_values = np.array(values, np.uint64)
    assert hashing.mix(given_values).tolist() == [slow_mix(v) for v in values]
    assert given_values.tolist() == values


@given(
    st.lists(st.none() | st.text("a量\x00𠀀", max_size=20), min_size=1, max_size=12),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_hashes_do_not_depend_on_how_the_array_is_stored(
    values: list[str | None], start: int, length: int
) -> None:
    expected = [slow_hash(v or "") for v in values]
    array = strings(values)
    stored = [
        array,
        array.cast(pa.large_string()),
        array.cast(pa.string_view()),
        array.dictionary_encode(),
        pa.array([*values, None, "x"], pa.string()).slice(0, len(values)),
        pa.array([None, "xyz", *values], pa.string()).slice(2),
        pa.array([None, "xyz", *values], pa.large_string()).slice(2),
    ]
    for one in stored:
        assert hashing.hash_strings(one).tolist() == expected
        part = one.slice(min(start, len(one)), length)
        assert hashing.hash_strings(part).tolist() == expected[start : start + length]


@pytest.mark.parametrize("count", [16_383, 16_384, 16_385, 40_000])
def test_mix_of_long_arrays_equals_that_of_their_parts(count: int) -> None:
    values = np.random.default_rng(count).integers(0, 2**63, count).astype(np.uint64)
    mixed = hashing.mix(values)
    parts = np.array_split(values, 7)
    assert np.array_equal(mixed, np.concatenate([hashing.mix(part) for part in parts]))
    for place in (0, 16_382, count // 2, count - 1):
        assert int(mixed[place]) == slow_mix(int(values[place]))


def test_mix_takes_any_shape_and_stride() -> None:
    values = np.arange(60, dtype=np.uint64).reshape(5, 12)
    expected = [[slow_mix(v) for v in row] for row in values.tolist()]
    assert hashing.mix(values).tolist() == expected
    assert hashing.mix(values.T).T.tolist() == expected
    assert hashing.mix(values[::2, ::3]).tolist() == [row[::3] for row in expected[::2]]
    assert hashing.mix(values[:0]).shape == (0, 12)


@given(
    st.lists(st.tuples(st.integers(0, WORD - 1), st.integers(0, WORD - 1)), min_size=1, max_size=9)
)
def test_extend_equals_the_slow_version(pairs: list[tuple[int, int]]) -> None:
    prefixes, tokens = (np.array(column, np.uint64) for column in zip(*pairs))
    expected = [slow_mix((p * 0xA0761D6478BD642F + t) % WORD) for p, t in pairs]
    assert hashing.extend(prefixes, tokens).tolist() == expected


def test_ngrams_of_few_tokens_do_not_collide_and_spread_evenly() -> None:
    tokens = hashing.hash_strings(strings([f"t{i}" for i in range(60)]))
    grams = np.zeros(1, np.uint64)
    for _ in range(3):
        grams = hashing.extend(np.repeat(grams, 60), np.tile(tokens, len(grams)))
    assert len(np.unique(grams)) == 60**3
    for parts in (64, 1009):
        counts = np.bincount(hashing.spread(grams, parts), minlength=parts)
        assert abs(far_from_even(counts)) < 6
    bits = np.unpackbits((grams[1:] ^ grams[:-1]).view(np.uint8)).reshape(-1, 64)
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.01


def test_utf8_of_gives_the_bytes_of_exactly_the_slice() -> None:
    array = strings(["量", None, "", "尺x", "tail"]).slice(1, 3)
    data, offsets = hashing.utf8_of(array)
    assert data.tobytes() == "尺x".encode()
    assert offsets.tolist() == [0, 0, 0, 4]
    data, offsets = hashing.utf8_of(strings([]))
    assert data.tobytes() == b""
    assert offsets.tolist() == [0]
    assert hashing.utf8_of(strings(["", None]))[1].tolist() == [0, 0, 0]


def test_zeros_at_the_end_and_words_in_another_place_change_the_hash() -> None:
    alike = ["", "\0", "\0\0", "\0" * 8, "\0" * 9, "12345678abcdefgh", "abcdefgh12345678"]
    assert len(set(hashing.hash_strings(strings(alike)).tolist())) == len(alike)


def test_flipping_a_bit_of_an_id_flips_every_output_bit_half_the_time() -> None:
    count = 2_000
    ids = np.frombuffer("".join(DUCKS[:count]).encode(), np.uint8).reshape(count, -1)
    width = ids.shape[1]
    offsets = ragged.offsets_of(np.full(count, width))
    original = hashing.hash_bytes(ids.ravel(), offsets)
    totals = []
    for bit in range(width * 8):
        flipped = ids.copy()
        flipped[:, bit // 8] ^= np.uint8(1 << (bit % 8))
        changed = original ^ hashing.hash_bytes(flipped.ravel(), offsets)
        bits = np.unpackbits(changed.view(np.uint8)).reshape(count, 64)
        by_output = bits.mean(axis=0)
        # 1 / (2 sqrt(2000)) is .011: six of them.
        assert abs(by_output - 0.5).max() < 0.067, bit
        totals.append(by_output.mean())
    assert abs(np.mean(totals) - 0.5) < 0.001


def test_the_next_id_changes_half_the_bits() -> None:
    hashes = hashing.hash_strings(strings(DUCKS))
    changed = hashes[1:] ^ hashes[:-1]
    share = np.unpackbits(changed.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert abs(share - 0.5).max() < 0.01


def test_a_million_ids_do_not_collide() -> None:
    ids = strings([f"duck_{i:06d}" for i in range(1_000_000)])
    assert len(np.unique(hashing.hash_strings(ids))) == 1_000_000


@pytest.mark.parametrize("parts", [2, 64, 1000, 1009])
def test_ids_spread_evenly_over_partitions(parts: int) -> None:
    part = hashing.spread(hashing.hash_strings(strings(DUCKS)), parts)
    assert part.min() >= 0
    assert part.max() < parts
    assert abs(far_from_even(np.bincount(part, minlength=parts))) < 6


def test_every_byte_of_the_hash_is_spread_evenly() -> None:
    data = hashing.hash_strings(strings(DUCKS)).view(np.uint8).reshape(-1, 8)
    for byte in range(8):
        assert abs(far_from_even(np.bincount(data[:, byte], minlength=256))) < 6


def test_spread_is_monotone() -> None:
    hashes = np.sort(hashing.hash_strings(strings(DUCKS[:5000])))
    assert (np.diff(hashing.spread(hashes, 37)) >= 0).all()


def test_extend_tells_the_order_of_tokens_and_where_they_are_cut() -> None:
    a, b, ab = (hashing.hash_strings(strings([t])) for t in ("a", "b", "ab"))
    start = np.zeros(1, np.uint64)
    one = hashing.extend(hashing.extend(start, a), b)
    other = hashing.extend(hashing.extend(start, b), a)
    assert len({int(x[0]) for x in (one, other, hashing.extend(start, ab), a, b)}) == 5
