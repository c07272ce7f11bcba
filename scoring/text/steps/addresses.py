"""Steps ``strip_urls``, ``strip_emails`` and ``strip_phones``: each such thing becomes a blank."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.steps.rewriting import change_some, replace

_URL = r"(?i)\b(?:(?:https?|ftp)://|www\.)[a-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*[a-z0-9\-_~/#&=%+$@*]"

_EMAIL = r"[A-Za-z0-9._%+\-]*[A-Za-z0-9_%+\-]@(?:[A-Za-z0-9\-]+\.)+[A-Za-z]{2,}"

# Texts with a phone number have one of these.
_MAYBE_A_PHONE = r"[0-9][0-9][0-9][ \-]?[0-9][0-9][0-9]|\+[0-9]{1,3}[ \-]"

_PHONE = re.compile(
    r"""
    (?<![0-9A-Za-z_.+\-])                                # inside no longer number or word
    (?:
        (?:\(?(?:\+|00)?86\)?[ \-]?)?                    # +86, 0086, 86, (+86)
        1[3-9][0-9](?:[ \-]?[0-9]{4}){2}                 # a mobile phone
      | (?:(?:\+|00)86[ \-]?(?:10|2[0-9]|[3-9][0-9]{2})[ \-]?  # a line of a place in China
          | \((?:010|02[0-9]|0[3-9][0-9]{2})\)[ \-]?
          | (?:010|02[0-9]|0[3-9][0-9]{2})[ \-]?)
        [2-8][0-9]{2,3}[ \-]?[0-9]{4}
        (?:(?:-|转)[0-9]{1,5})?
      | [48]00(?:[ \-][0-9]{3,4}[ \-][0-9]{3,4}|[0-9]{7})      # 400 and 800 numbers
      | \+[1-9][0-9]{0,2}[ \-](?:\(?[0-9]{1,4}\)?[ \-]?){1,4}[0-9]{3,4}  # other countries
    )
    (?![0-9A-Za-z_]|[.\-][0-9]|[ ]?[元块圆万亿円%‰])        # nor an amount
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class StripUrls:
    """http://, https://, ftp:// or www. and the ASCII characters of a URL after it.

    It ends before the first character that is not ASCII (Chinese text may follow without a blank)
    and before punctuation at its end. example.com without www. stays, and so does what is not
    ASCII of an address with Chinese letters.
    """

    def signature(self) -> str:
        return "strip_urls"

    def apply(self, texts: pa.Array) -> pa.Array:
        return replace(texts, _URL, " ")


@dataclass(frozen=True)
class StripEmails:
    """name@host.tld of ASCII letters; Chinese text may stand at both sides without a blank."""

    def signature(self) -> str:
        return "strip_emails"

    def apply(self, texts: pa.Array) -> pa.Array:
        if not pc.any(pc.match_substring(texts, "@")).as_py():
            return texts
        return replace(texts, _EMAIL, " ")


@dataclass(frozen=True)
class StripPhones:
    """Phone numbers of China (mobile, line with its area code, 400 and 800) and, written with +
    and the code of a country, others.

    Digits alone or in groups with one blank or dash between. Dates, amounts (before 元, 万, %),
    parts of longer numbers or words, and numbers without an area code (95588, 62345678) stay.
    """

    def signature(self) -> str:
        return "strip_phones"

    def apply(self, texts: pa.Array) -> pa.Array:
        return change_some(texts, _MAYBE_A_PHONE, _without_phones)


def _without_phones(text: str) -> str:
    return _PHONE.sub(" ", text)
