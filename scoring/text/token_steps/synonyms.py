"""Token step ``synonyms``: words of one meaning are one token, on both sides alike.

Two forms of file. JSON: ``{"好的": ["行", "可以"], ...}``, every variant becomes its key. Cilin
(同义词词林): lines such as ``Aa01A01= 人 士 人物``, every word becomes the first. Lines with ``#``
(words of one kind, not of one meaning) and ``@`` (a word alone) change nothing.

One token becomes one token. A variant that the tokenizer cuts into several never matches: see
``TextRecipe.unmatched``; put such words into the user dictionary of the tokenizer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.token_steps.word_files import HERE, WordFile, check_word, read
from scoring.text.tokens import Tokens

OURS = HERE / "synonyms.json"
"""Everyday words of Chinese chat that can stand for each other nearly everywhere."""

_CILIN = re.compile(r"[A-Za-z0-9]+([=#@])\s+(\S.*)")


@dataclass(frozen=True)
class Synonyms:
    """Replaces the tokens that are variants by the first word of their group."""

    variants: tuple[str, ...]
    meant: tuple[str, ...]
    fingerprint: str
    ambiguous: str

    def signature(self) -> str:
        dropped = ",ambiguous=drop" if self.ambiguous == "drop" else ""
        return f"synonyms(file={self.fingerprint}{dropped})"

    def words(self) -> Sequence[str]:
        return list(dict.fromkeys([*self.meant, *self.variants]))

    def apply(self, tokens: Tokens) -> Tokens:
        which = pc.is_in(tokens.vocabulary, value_set=pa.array(self.variants, pa.string()))
        meant = dict(zip(self.variants, self.meant))
        return tokens.split(which, lambda word: [meant[word]])


@dataclass(frozen=True)
class _Group:
    where: str
    key: str
    variants: tuple[str, ...]


def synonyms(file: str | None = None, ambiguous: str = "error") -> Synonyms:
    """From a file, or from our list. Raises ValueError for a word in two groups, a chain, a cycle.

    ambiguous: ``drop`` leaves a word that is in several groups out of all of them (Cilin has many).
    """
    if ambiguous not in ("error", "drop"):
        raise ValueError(f"synonyms: ambiguous={ambiguous}; expected error or drop")
    found = read(OURS if file is None else file)
    groups = list(_json(found) if found.text.lstrip().startswith("{") else _cilin(found))
    if ambiguous == "drop":
        groups = _without_ambiguous(groups)
    pairs = _pairs(groups)
    return Synonyms(tuple(pairs), tuple(pairs.values()), found.fingerprint, ambiguous)


def _json(file: WordFile) -> Iterable[_Group]:
    try:
        entries = json.loads(file.text, object_pairs_hook=list)
    except json.JSONDecodeError as error:
        raise ValueError(f"{file.name}: line {error.lineno} is not JSON: {error.msg}") from error
    for key, variants in entries:
        where = f"{file.name}: key {key!r}"
        if not isinstance(variants, list):
            raise ValueError(f"{where}: expected a list of words, found {variants!r}")
        check_word(key, where)
        yield _Group(where, key, tuple(check_word(v, where) for v in variants if v != key))


def _cilin(file: WordFile) -> Iterable[_Group]:
    for number, line in file.lines():
        where = f"{file.name}: line {number}"
        parts = _CILIN.fullmatch(line)
        if not parts:
            raise ValueError(
                f"{where}: expected a Cilin line such as 'Aa01A01= 人 士 人物' (or a JSON object "
                f"{{key: [variants]}}), found {line!r}"
            )
        if parts[1] == "=":
            key, *variants = parts[2].split()
            yield _Group(where, key, tuple(v for v in variants if v != key))


def _without_ambiguous(groups: Iterable[_Group]) -> list[_Group]:
    groups = list(groups)
    times = Counter(word for group in groups for word in {group.key, *group.variants})
    kept = []
    for group in groups:
        words = [word for word in (group.key, *group.variants) if times[word] == 1]
        if words:
            kept.append(_Group(group.where, words[0], tuple(words[1:])))
    return kept


def _pairs(groups: Iterable[_Group]) -> dict[str, str]:
    """variant -> key."""
    keys: dict[str, _Group] = {}
    of: dict[str, _Group] = {}
    for group in groups:
        if group.key in keys:
            raise ValueError(
                f"{group.where}: {group.key!r} begins a group here and at {keys[group.key].where}"
            )
        keys[group.key] = group
        for variant in group.variants:
            other = of.setdefault(variant, group)
            if other is not group:
                raise ValueError(
                    f"{group.where}: {variant!r} is also in the group of {other.where}; a word "
                    "may have one meaning only"
                )
    for variant, group in of.items():
        if variant in keys:
            other = keys[variant]
            kind = "a cycle" if of.get(group.key) is other else "a chain"
            raise ValueError(
                f"{group.where}: {variant!r} becomes {group.key!r} here and begins a group at "
                f"{other.where}: {kind}"
            )
    return {variant: group.key for variant, group in of.items()}
