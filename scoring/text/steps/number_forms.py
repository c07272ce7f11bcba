"""What a number in Chinese text becomes: one function for every kind of rule in numbers.json.

A function gets what the groups of the rule's pattern matched (None for a group that took no part)
and gives the canonical form of the whole match, or None if this is no such number after all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scoring.text.numerals import DIGITS, Numeral, parse, plain, read_digits

Groups = tuple[str | None, ...]
Form = Callable[[Groups], str | None]

_TEN = 10
_TO_ASCII = str.maketrans("０１２３４５６７８９．", "0123456789.", ",，")
_MAGNITUDES = "十百千万亿"
_MINUTES = re.compile(r"过?(.+?)分(?:(.+)秒)?")


@dataclass(frozen=True)
class Period:
    """A part of the day: which hours may follow it and what makes them hours of 24.

    hours: (first, last, added); kept: whether the word stays (今晚).
    """

    kept: bool
    hours: tuple[tuple[int, int, int], ...]

    def hour(self, hour: int) -> int | None:
        """The hour of 24, or None if nobody says so (晚上四点)."""
        for first, last, added in self.hours:
            if first <= hour <= last:
                return hour + added
        return None


def make_forms(data: Mapping[str, Any]) -> dict[str, Form]:
    """The functions by the kind of rule, with the tables of the data file."""
    periods = {
        word: Period(record.get("kept", False), tuple(tuple(hours) for hours in record["hours"]))
        for record in data["periods"]
        for word in record["words"]
    }
    clock = _Clock(periods)
    units = _Units(re.compile("|".join(data["lists"]["unit_two"])))
    return {
        "clock": clock.in_period,
        "clock_before": clock.before,
        "clock_minus": lambda groups: clock.before((None, groups[1], groups[0])),
        "clock_range": clock.span,
        "clock_alone": clock.alone,
        "clock_near": clock.alone,
        "clock_then": clock.alone,
        "clock_latin": clock.latin,
        "unit": units.counted,
        "ordinal": units.ordinal,
        "pair": lambda groups: "两个",
        "percent": _percent,
        "hundred": lambda groups: "100%",
        "percent_sign": lambda groups: _rendered(groups[0], "%"),
        "percent_range": lambda groups: _percent_range(groups[0], groups[1], "%"),
        "below_zero": _below_zero,
        "temperature": lambda groups: _rendered(groups[0], "℃"),
        "date": _date,
        "date_dashed": lambda groups: _date((*groups, "日")),
        "day": _day,
        "day_range": _day_range,
        "year": _year,
        "generation": lambda groups: read_digits(groups[0] or ""),
        "fraction": _fraction,
        "discount": _discount,
        "money": _money,
        "range": _range,
        "half": _half,
        "about": lambda groups: _large(groups[0], groups[1]),
        "counted": lambda groups: _large(groups[0], ""),
        "alone": _alone,
    }


class _Clock:
    """Times of the day, as 15:00 or 15:00:30."""

    def __init__(self, periods: Mapping[str, Period]) -> None:
        self._periods = periods

    def in_period(self, groups: Groups) -> str | None:
        word, hour, tail, second_hour, second_tail = groups
        first = self._time(word, hour, tail)
        if first is None or word is None:
            return None
        if second_hour is not None:
            second = self._time(word, second_hour, second_tail)
            if second is None:
                return None
            first = f"{first}-{second}"
        return (word if self._periods[word].kept else "") + first

    def span(self, groups: Groups) -> str | None:
        first, second = self._time(None, *groups[:2]), self._time(None, *groups[2:])
        return None if first is None or second is None else f"{first}-{second}"

    def alone(self, groups: Groups) -> str | None:
        return self._time(None, groups[0], groups[1] if len(groups) > 1 else None)

    def latin(self, groups: Groups) -> str | None:
        hour, minute, half = groups
        return self._time((half or "").lower(), hour, f":{minute or '00'}")

    def before(self, groups: Groups) -> str | None:
        word, minutes, hour = groups
        at = self._hour(word, hour)
        count = _minute(minutes or "")
        if at is None or not count:
            return None
        left = (at * 60 - count[0]) % (24 * 60)
        kept = word if word is not None and self._periods[word].kept else ""
        return f"{kept}{left // 60}:{left % 60:02d}"

    def _time(self, word: str | None, hour: str | None, tail: str | None) -> str | None:
        at, minute = self._hour(word, hour), _minute(tail or "")
        if at is None or minute is None or (at == 24 and any(minute)):
            return None
        return f"{at}:" + ":".join(f"{part:02d}" for part in minute)

    def _hour(self, word: str | None, hour: str | None) -> int | None:
        text = hour or ""
        number = parse(text[1:] if len(text) == 2 and text[0] in "0０" else text)
        if number is None or number.value > 24:
            return None
        at = int(number.value)
        return at if word is None else self._periods[word].hour(at)


class _Units:
    """Numbers beside a measure word or a unit: 0 to 10 in Chinese, others in ASCII digits."""

    def __init__(self, two: re.Pattern[str]) -> None:
        self._two = two

    def counted(self, groups: Groups) -> str | None:
        text, unit = groups[0] or "", groups[1] or ""
        number = parse(text)
        if number is None:
            return None
        if number.abbreviated and not number.arabic and text[-1] in "一1":
            return None  # 三千一个: 3000 each
        small = _small(number)
        if small is None:
            if text.endswith("点一") and unit in ("个", "人", "位", "名", "次"):
                return None
            return _digits(number, text) + unit
        if not number.arabic or (unit == "分" and small == _TEN):
            return None
        return self._chinese(small, unit) + unit

    def ordinal(self, groups: Groups) -> str | None:
        number = parse(groups[0] or "")
        if number is None or number.abbreviated or number.value != int(number.value):
            return None
        small = _small(number)
        if small is None:
            return f"第{plain(number.value)}"
        return f"第{'十' if small == _TEN else DIGITS[small]}" if number.arabic else None

    def _chinese(self, value: int, unit: str) -> str:
        if value == _TEN:
            return "十"
        if value == 2 and not self._two.fullmatch(unit):
            return "两"
        return DIGITS[value]


def _small(number: Numeral) -> int | None:
    """A whole number from 0 to 10, not written as a decimal (3.0)."""
    whole = number.value.as_tuple().exponent == 0 or not number.arabic
    whole = whole and number.value == int(number.value)
    return int(number.value) if whole and number.value <= _TEN else None


def _digits(number: Numeral, text: str) -> str:
    """ASCII digits; decimals that were written in digits keep their zeros (2.50)."""
    return text.translate(_TO_ASCII) if number.arabic else plain(number.value)


def _rendered(text: str | None, unit: str) -> str | None:
    number = parse(text or "")
    return None if number is None else _digits(number, text or "") + unit


def _large(text: str | None, after: str | None) -> str | None:
    number = parse(text or "")
    if number is None or number.value <= _TEN:
        return None
    return _digits(number, text or "") + (after or "")


def _alone(groups: Groups) -> str | None:
    """Without any context only what cannot be read otherwise: 15,000, 1.5万, 三十五, 两千五."""
    text = groups[0] or ""
    number = parse(text)
    if number is None:
        return None
    digits = any(c.isdecimal() for c in text)
    point = text.partition("点")[2]
    if point:
        sure = len(point) > 1 and (point[0] not in "零〇" or text[0] in "零〇")
    else:
        sure = digits or number.abbreviated or (number.parts > 1 and len(text) > 2)
    return _digits(number, text) if sure else None


def _minute(tail: str) -> tuple[int, ...] | None:
    """(minutes,) or (minutes, seconds) of what follows the hour, or of 五分 and 一刻."""
    text = tail.replace(" ", "").replace("\xa0", "").replace("：", ":")
    text = text.lstrip("点时")
    if text in ("", "整", "钟"):
        return (0,)
    if text.startswith(":"):
        return tuple(int(part) for part in text[1:].split(":"))
    if text == "半":
        return (30,)
    if "刻" in text:
        return (45,) if text.lstrip("过")[0] in "三3" else (15,)
    match = _MINUTES.fullmatch(text)
    parts = [part for part in match.groups() if part is not None] if match else [text]
    values = [_below_sixty(part) for part in parts]
    return None if None in values else tuple(value for value in values if value is not None)


def _below_sixty(text: str) -> int | None:
    text = text.lstrip("零〇0０") or "0"
    number = parse(text)
    if number is None or number.value >= 60 or number.value != int(number.value):
        return None
    return int(number.value)


def _percent(groups: Groups) -> str | None:
    base, text, second = groups
    sign = "%" if base == "百" else "‰"
    if text == "百":
        return f"100{sign}" if second is None else None
    if second is not None:
        return _percent_range(text, second, sign)
    text = text or ""
    minus = "-" if text[:1] in ("负", "-") else ""
    rendered = _rendered(text[len(minus) :], sign)
    return None if rendered is None else minus + rendered


def _percent_range(first: str | None, second: str | None, sign: str) -> str | None:
    low, high = _rendered(first, sign), _rendered(second, sign)
    return None if low is None or high is None else f"{low}-{high}"


def _below_zero(groups: Groups) -> str | None:
    text, unit = groups
    rendered = _rendered(text, _degree(unit or ""))
    return None if rendered is None else f"-{rendered}"


def _degree(unit: str) -> str:
    return unit if unit in ("度", "华氏度") else "℃"


def _whole(text: str | None, low: int, high: int) -> int | None:
    number = parse((text or "").lstrip("0０"))
    if number is None or number.abbreviated or not low <= number.value <= high:
        return None
    return int(number.value) if number.value == int(number.value) else None


def _date(groups: Groups) -> str | None:
    year, month, day = groups[:3]
    digits = read_digits(year or "") or (year or "").translate(_TO_ASCII)
    m = _whole(month, 1, 12)
    if m is None or (len(digits) == 4 and digits[0] not in "12"):
        return None
    if day is None:
        return f"{digits}年{m}月"
    d = _whole(day, 1, 31)
    return None if d is None else f"{digits}年{m}月{d}日"


def _day(groups: Groups) -> str | None:
    m, d = _whole(groups[0], 1, 12), _whole(groups[1], 1, 31)
    return None if m is None or d is None else f"{m}月{d}日"


def _day_range(groups: Groups) -> str | None:
    m, first, last = (_whole(g, 1, high) for g, high in zip(groups, (12, 31, 31)))
    return None if m is None or first is None or last is None else f"{m}月{first}-{last}日"


def _year(groups: Groups) -> str | None:
    text = groups[0] or ""
    digits = read_digits(text)
    if digits is None:
        return None
    if len(digits) == 2:
        about = int(digits[1]) - int(digits[0]) == 1 or digits == "35"
        return None if about else digits  # 三五年, 七八年: some years
    return digits if digits[0] in "12" else None


def _fraction(groups: Groups) -> str | None:
    below, above = parse(groups[0] or ""), parse(groups[1] or "")
    if below is None or above is None or below.value <= 1:
        return None
    if below.abbreviated or below.value != int(below.value) or above.value != int(above.value):
        return None
    return f"{plain(above.value)}/{plain(below.value)}"


def _discount(groups: Groups) -> str | None:
    """八五折 and 85折 are 8.5折; 七八折 is 7 or 8."""
    first, second = parse(groups[0] or ""), parse(groups[1] or "")
    if first is None or second is None:
        return None
    if not first.arabic and second.value - first.value == 1:
        return None
    return f"{plain(first.value)}.{plain(second.value)}折"


def _money(groups: Groups) -> str | None:
    whole, tenth = parse(groups[0] or ""), parse(groups[1] or "")
    if whole is None or tenth is None or whole.value != int(whole.value):
        return None
    return f"{plain(whole.value)}.{plain(tenth.value)}块"


def _range(groups: Groups) -> str | None:
    """三到五百人 is 300-500人: the first takes the magnitude of the second."""
    first, second, unit = groups[0] or "", groups[1] or "", groups[2] or ""
    low, high = parse(first), parse(second)
    if low is None or high is None or low.abbreviated or high.abbreviated:
        return None
    stem = second.rstrip(_MAGNITUDES)
    magnitude = second[len(stem) :]
    factor = parse(f"1{magnitude}") if magnitude and stem else None
    count = parse(stem) if factor is not None else None
    start = low.value
    if factor is not None and count is not None and 1 < low.value < count.value:
        start = low.value * factor.value
    if start >= high.value:
        return None
    left = _digits(low, first) if start == low.value else plain(start)
    return f"{left}-{_digits(high, second)}{unit}"


def _half(groups: Groups) -> str | None:
    number = parse(groups[0] or "")
    if number is None or number.abbreviated or number.value != int(number.value):
        return None
    return f"{plain(number.value + Decimal('0.5'))}{groups[1]}"


def join(alternatives: Sequence[str]) -> str:
    """The alternatives of a list as one pattern; longer words first, whatever must not follow."""
    return "|".join(sorted(alternatives, key=lambda text: (-len(text.partition("(?")[0]), text)))
