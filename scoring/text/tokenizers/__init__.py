"""The tokenizers, by name. Users add theirs under the entry point group ``liangchi.tokenizers``."""

from __future__ import annotations

from importlib.metadata import entry_points

from scoring.text.tokens import Tokenizer

GROUP = "liangchi.tokenizers"
BUILT_IN = ("jieba", "char", "zh", "13a", "none")


def make_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name. Raises ValueError, naming those that exist, if there is none."""
    # Each is imported when it is asked for: some load a dictionary or a model.
    if name == "jieba":
        from scoring.text.tokenizers.jieba_words import JiebaTokenizer

        return JiebaTokenizer()
    if name == "char":
        from scoring.text.tokenizers.char import CharTokenizer

        return CharTokenizer()
    if name == "zh":
        from scoring.text.tokenizers.zh import ZhTokenizer

        return ZhTokenizer()
    if name == "13a":
        from scoring.text.tokenizers.mteval_13a import Mteval13aTokenizer

        return Mteval13aTokenizer()
    if name == "none":
        from scoring.text.tokenizers.blanks import BlankTokenizer

        return BlankTokenizer()
    plugins = {point.name: point for point in entry_points(group=GROUP)}
    if name in plugins:
        made: Tokenizer = plugins[name].load()()
        return made
    raise ValueError(
        f"no tokenizer is called {name!r}; there are {', '.join([*BUILT_IN, *sorted(plugins)])}"
    )
