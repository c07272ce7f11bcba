"""The tokenizers, by name. Users add theirs under the entry point group ``liangchi.tokenizers``:
a callable that takes the parameters of a spec as strings and returns a ``Tokenizer``."""

from __future__ import annotations

from scoring.text import specs
from scoring.text.tokenizers.user_words import UserWords
from scoring.text.tokens import TakesWords, Tokenizer

GROUP = "liangchi.tokenizers"

# Each is imported when it is asked for: some load a dictionary or a model.
BUILT_IN = {
    "jieba": "scoring.text.tokenizers.jieba_words:make",
    "char": "scoring.text.tokenizers.char:CharTokenizer",
    "grapheme": "scoring.text.tokenizers.grapheme:GraphemeTokenizer",
    "zh": "scoring.text.tokenizers.zh:ZhTokenizer",
    "zh-fixed": "scoring.text.tokenizers.zh_fixed:FixedZhTokenizer",
    "13a": "scoring.text.tokenizers.mteval_13a:Mteval13aTokenizer",
    "intl": "scoring.text.tokenizers.international:InternationalTokenizer",
    "none": "scoring.text.tokenizers.blanks:BlankTokenizer",
    # These need an extra of setup.py.
    "lindera": "scoring.text.tokenizers.lindera:LinderaTokenizer",
    "wapic": "scoring.text.tokenizers.wapic:WapicTokenizer",
    "lac": "scoring.text.tokenizers.lac:LacTokenizer",
    # These need one and a model.
    "ltp": "scoring.text.tokenizers.ltp:LtpTokenizer",
    "hanlp": "scoring.text.tokenizers.hanlp:HanlpTokenizer",
}


def make_tokenizer(spec: str, words: UserWords | None = None) -> Tokenizer:
    """The tokenizer of a spec such as ``jieba:mode=search``, with a user's words if there are any.

    Raises ValueError, naming those that exist, if there is none; and for wrong parameters, or
    words that the tokenizer does not take.
    """
    made: Tokenizer = specs.make(spec, "tokenizer", BUILT_IN, GROUP)
    if words is None or not words.entries:
        return made
    if not isinstance(made, TakesWords):
        raise ValueError(f"the tokenizer {spec} takes no user dictionary; jieba does")
    return made.with_words(words)
