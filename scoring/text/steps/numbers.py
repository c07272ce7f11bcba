"""Step ``numbers``: one canonical form for numbers, clock times, dates, ordinals and percentages.

3号 = 三号, 10:30 = 十点半, 下午3点 = 15:00, 第1 = 第一, 20% = 百分之二十, 二〇二四年 = 2024年,
两千五 = 2500. The rules, with their contexts and the phrases that are left alone, are data:
numbers.json beside this file. docs/numbers.md says what becomes of what, and how often it is wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.steps.number_forms import Form, Groups, join, make_forms

VERSION = 1
"""Of the code: raised by every change of it that may change a text."""

_FIELD = re.compile(r"\{([a-z_]+)\}")
_MOST_ROUNDS = 8

# What every text holds that a rule could change. RE2, without lookaround: it may find too much.
_MAY_CHANGE = (
    "[0-9０-９]"
    "|[零〇一二两三四五六七八九十百千万亿]"
    "(?:[零〇一二两三四五六七八九十百千万亿点时块到至~～—–－-]|分之|摄氏|[ \u00a0]?(?:℃|°)|..?半"
    "|[ \u00a0][零〇一二两三四五六七八九十百千万亿点时摄到至~～—–－%％-]|[%％]"
    "|[ \u00a0]?[AaPp][.]?[Mm]"
    "|[ \u00a0]?月[ \u00a0]?[零〇一二两三四五六七八九十百千万亿])"
    "|百分百|零下|负[ \u00a0]?[零〇一二两三四五六七八九十百千万亿]|俩|差[一1]刻"
)


@dataclass(frozen=True)
class Change:
    """A change that a rule makes: characters start to end of the text."""

    start: int
    end: int
    old: str
    new: str
    kind: str


@dataclass(frozen=True)
class Numbers:
    """Writes every number that its context proves to be one in one way."""

    def signature(self) -> str:
        """With a hash of the rules."""
        return f"numbers-{VERSION}-{_rules().digest}"

    def apply(self, texts: pa.Array) -> pa.Array:
        """The texts in canonical form; nulls stay null. Each distinct text is handled once."""
        may_change = pc.fill_null(pc.match_substring_regex(texts, _MAY_CHANGE), False)
        where = np.flatnonzero(may_change.to_numpy(zero_copy_only=False))
        if not len(where):
            return texts
        encoded = texts.take(pa.array(where)).dictionary_encode()
        rules = _rules()
        changed = pa.array([rules.apply(t) for t in encoded.dictionary.to_pylist()], texts.type)
        return pc.replace_with_mask(texts, may_change, changed.take(encoded.indices))

    def changes(self, text: str) -> list[Change]:
        """What the rules change in this text, in their first round, from left to right."""
        return [change for change in _rules().changes(text) if change.old != change.new]


@dataclass(frozen=True)
class _Rule:
    """kind: of its function; group: the number of its group in the pattern of all rules."""

    kind: str
    alone: re.Pattern[str]
    group: int


class _Rules:
    def __init__(self, data: Mapping[str, Any], digest: str) -> None:
        self.digest = digest
        self._forms: dict[str, Form] = make_forms(data)
        fields = _fields(data)
        starts = {start: _expanded(f"{{{start}_start}}", fields) for start in ("other", "number")}
        rules = [
            (rule["kind"], start, _expanded(rule["pattern"], fields))
            for start in starts
            for rule in data["rules"]
            if rule["starts"] == start
        ]
        # One search finds the next match of the first rule that matches there.
        together = {
            start: "|".join(f"(?P<r{i}>{p})" for i, (_, of, p) in enumerate(rules) if of == start)
            for start in starts
        }
        self._any = re.compile("|".join(f"{starts[s]}(?:{together[s]})" for s in starts))
        self._rules = [
            _Rule(kind, re.compile(starts[start] + pattern), self._any.groupindex[f"r{i}"])
            for i, (kind, start, pattern) in enumerate(rules)
        ]

    def apply(self, text: str) -> str:
        """Round by round, until nothing changes: a change can make the context of another."""
        for _ in range(_MOST_ROUNDS):
            changed = self._round(text)
            if changed == text:
                break
            text = changed
        return text

    def _round(self, text: str) -> str:
        done: list[str] = []
        end = 0
        for change in self.changes(text):
            done += [text[end : change.start], change.new]
            end = change.end
        return "".join(done) + text[end:]

    def changes(self, text: str) -> Iterator[Change]:
        """The matches of one round, also those that are kept as they are."""
        position = 0
        while match := self._any.search(text, position):
            change = self._change(match)
            position = match.start() + 1 if change is None else change.end
            if change is not None:
                yield change

    def _change(self, match: re.Match[str]) -> Change | None:
        """What the first rule makes of it whose function takes it, or else a later rule."""
        number = int((match.lastgroup or "")[1:])
        rule = self._rules[number]
        groups = match.groups()[rule.group : rule.group + rule.alone.groups]
        new, end = self._form(rule.kind, groups, match[0]), match.end()
        start, text = match.start(), match.string
        if new is None:
            for rule in self._rules[number + 1 :]:
                later = rule.alone.match(text, start)
                new = self._form(rule.kind, later.groups(), later[0]) if later else None
                if later and new is not None:
                    end = later.end()
                    break
            else:
                return None
        return Change(start, end, text[start:end], new or "", rule.kind)

    def _form(self, kind: str, groups: Groups, whole: str) -> str | None:
        return whole if kind == "keep" else self._forms[kind](groups)


@cache
def _rules() -> _Rules:
    """Loaded and compiled once a process."""
    stored = resources.files("scoring.text.steps").joinpath("numbers.json").read_bytes()
    return _Rules(json.loads(stored), hashlib.sha256(stored).hexdigest()[:12])


def _fields(data: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = dict(data["patterns"])
    fields |= {name: f"(?:{join(words)})" for name, words in data["lists"].items()}
    other = data["not_a_unit_before"]
    units = [f"{unit}(?![{other[unit]}])" if unit in other else unit for unit in data["units"]]
    fields["unit"] = f"(?:{join(units)})"
    fields |= {
        name: "(?:" + "|".join(f"(?<={word})" for word in words) + ")"
        for name, words in data["behind"].items()
    }
    words = [w for record in data["periods"] for w in record["words"] if not w.isascii()]
    fields["period"] = join(words)
    first = {word[0] for word in [*words, *data["lists"]["phrase"], *data["patterns"]["first"]]}
    fields["other_start"] = f"(?=[{''.join(sorted(first))}])"
    fields["number_start"] = "(?={digit}){bounded}"
    return fields


def _expanded(pattern: str, fields: Mapping[str, str]) -> str:
    """The pattern with every {name} replaced, and the names in what replaces it."""
    while _FIELD.search(pattern):
        pattern = _FIELD.sub(lambda field: fields[field[1]], pattern)
    return pattern
