"""Numerals in Chinese text: 15,000, 1.5万, 一万五 and 一万五千 are one value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

DIGITS = "零一二三四五六七八九"
"""The Chinese digits, each at its value."""

_VALUE = {digit: value for value, digit in enumerate(DIGITS)} | {"〇": 0, "两": 2}
_MAGNITUDE = {"千": 1000, "百": 100, "十": 10}
_ASCII = str.maketrans("０１２３４５６７８９．，", "0123456789.,")
_LONGEST = 20
"""Characters; a longer run is no number but a code."""

_ARABIC = re.compile(r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.[0-9]+)?")
_PART = re.compile(
    r"([0-9]+(?:\.[0-9]+)?|[一二两三四五六七八九])?([千百十])|([零〇])|([0-9]+(?:\.[0-9]+)?|[一二两三四五六七八九])"
)


@dataclass(frozen=True)
class Numeral:
    """A value, and how it was written.

    arabic: in Arabic digits only; abbreviated: without its last magnitude (两千五);
    parts: how many digits with or without magnitude (二百零五 has 2, 三千万 1).
    """

    value: Decimal
    arabic: bool
    abbreviated: bool = False
    parts: int = 1


def parse(text: str) -> Numeral | None:
    """The number that the whole text is, or None: 三五 and 百 are none, nor is 007."""
    text = text.translate(_ASCII)
    if not 0 < len(text) <= _LONGEST:
        return None
    if _ARABIC.fullmatch(text):
        return Numeral(Decimal(text.replace(",", "")), arabic=True)
    whole, point, rest = text.partition("点")
    if not point:
        return _large(text)
    fraction = rest.rstrip("万亿")
    left = _large(whole)
    if left is None or left.arabic or left.abbreviated or not fraction:
        return None
    digits = read_digits(fraction)
    if digits is None:
        return None
    value = (left.value + Decimal(f"0.{digits}")) * _product(rest[len(fraction) :])
    return Numeral(value, arabic=False, parts=left.parts + len(digits))


def read_digits(text: str) -> str | None:
    """二〇二四 as 2024: one digit a character; None if another character is there."""
    if not text or any(c not in _VALUE or c == "两" for c in text):
        return None
    return "".join(str(_VALUE[c]) for c in text)


def plain(value: Decimal) -> str:
    """The value in ASCII digits, without separators, exponent or idle zeros."""
    if value == value.to_integral_value():
        return str(int(value))
    return format(value.normalize(), "f")


def _product(magnitudes: str) -> int:
    return 10 ** sum(4 if c == "万" else 8 for c in magnitudes)


def _large(text: str) -> Numeral | None:
    """With 万 and 亿: 三亿五千万, 3万亿, 1.5万."""
    for magnitude, size in (("亿", 10**8), ("万", 10**4)):
        left, found, right = text.rpartition(magnitude)
        if not found:
            continue
        high = parse(left) if "点" not in left else None
        if high is None or high.abbreviated or (magnitude == "万" and not _below(high, size)):
            return None
        if not right:
            return Numeral(high.value * size, False, parts=high.parts)
        significant = right.lstrip("零〇")
        low = _large(significant)
        whole = high.value == high.value.to_integral_value()
        if low is None or not whole or low.value >= size or len(right) - len(significant) > 1:
            return None
        if (low.arabic and len(right) > 1) or right == "两":  # 一万两 is a weight
            return None
        if len(right) == 1:  # 一万五
            return Numeral(high.value * size + low.value * size / 10, False, True, high.parts + 1)
        value = high.value * size + low.value
        return Numeral(value, False, low.abbreviated, high.parts + low.parts)
    return _section(text)


def _below(high: Numeral, size: int) -> bool:
    return high.arabic or high.value < size


def _section(text: str) -> Numeral | None:
    """Below a 万: 两千五百, 三百零五, 两千五; and a coefficient of 万 or 亿 in Arabic digits."""
    if text in ("零", "〇"):
        return Numeral(Decimal(0), False)
    if _ARABIC.fullmatch(text):
        return Numeral(Decimal(text.replace(",", "")), arabic=True)
    total, last, zero, end, parts = Decimal(0), 10000, False, 0, 0
    for part in _PART.finditer(text):
        if part.start() != end or last == 1:
            return None
        end = part.end()
        coefficient, magnitude, is_zero, unit = part.groups()
        if is_zero:
            if zero or last in (10000, 10):
                return None
            zero = True
            continue
        if magnitude:
            size = _MAGNITUDE[magnitude]
            count = _count(coefficient) if coefficient else (Decimal(1) if size == 10 else None)
            first = last == 10000
            odd = count is not None and (count >= 10 or count != int(count)) and not first
            if count is None or size >= last or odd or (coefficient == "两" and size == 10):
                return None
            total, last, zero = total + count * size, size, False
        elif last == 10000:
            return Numeral(Decimal(_VALUE[unit]), False) if len(text) == 1 else None
        else:
            count = _count(unit)
            if count is None or unit == "两" or not 0 < count < 10 or count != int(count):
                return None
            if not zero and last > 10:
                if end != len(text):
                    return None
                return Numeral(total + count * last / 10, False, True, parts + 1)
            total, last, zero = total + count, 1, False
        parts += 1
    if end != len(text) or zero:
        return None
    return Numeral(total, False, parts=parts)


def _count(text: str) -> Decimal | None:
    if text in _VALUE:
        return Decimal(_VALUE[text])
    return Decimal(text) if _ARABIC.fullmatch(text) else None
