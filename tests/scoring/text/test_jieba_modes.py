"""jieba's modes and a user's words, against the jieba package itself."""

from __future__ import annotations

import io
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import jieba
import pyarrow as pa
import pytest
from jieba import finalseg

from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import jieba_dictionary, make_tokenizer
from scoring.text.tokenizers.jieba_dictionary import NO_WORDS
from scoring.text.tokenizers.jieba_words import JiebaTokenizer
from scoring.text.tokenizers.user_words import (
    UserWords,
    can_cut_a_run,
    cuts_a_run,
    read_user_words,
)

CHAT = Path(__file__).parents[1] / "golden" / "chat_texts.json"

WORDS = """微信支付 100 n
网易杭研大厦
杭研 0
马建国 5 nr
今天去 100000
我们今天
量尺
吃 0 v
北京大学 0
哈哈哈 0
好的呢
好的
了吗 2000000
尚未结 1
&T&

二〇二四年 30 t
—— 5
微信 支付 7
鿖鿖
#话题#
京大学今
"""
# With a letter or a digit at an edge: these stand alone in the texts, since jieba lets them cut a
# longer run, which is held back here.
LATIN = ["iPhone15 5", "T恤衫", "Wi-Fi", "wifi 1", "5G手机", "PM2.5", "2024-05 9", "user.name"]
LATIN_WORDS = WORDS + "C++\n" + "\n".join(LATIN) + "\nGPT-4 3 n\n"

MODES = ("jieba", "jieba:hmm=false", "jieba:mode=search", "jieba:mode=search,hmm=false")
DICTIONARIES = {"none": "", "words": WORDS, "latin": LATIN_WORDS}
PIECES = [
    *["我们", "今天", "去", "北京大学", "吃饭", "了", "吗", "？", "。", "，", "……", "——", "好的"],
    *["他来到网易杭研大厦", "小明硕士毕业于中国科学院", "结婚的和尚未结婚的", "量尺", "马建国"],
    *["微信支付", "微信 支付", "#话题#", "&T&", "c#", "AT&T", "卡拉OK", "B超", "T恤", "1.5", "20%"],
    *[" ", "\n", "\r\n", "\t", "\u3000", "\x1c", "\u200b", "\0", "😀", "👍🏽", "é", "ж", "한글"],
    *[
        "𠀀",
        "㐀",
        "鿕",
        "鿖",
        "鿖鿖",
        "豈",
        "〇",
        "二〇二四年",
        "３",
        "Ｔ",
        "℃",
        "a-b",
        "a.b/c?d=1",
    ],
    *["哈哈哈", "呢", "かな", " hello "],
    *[f" {word.split()[0]} " for word in [*LATIN, "C++", "GPT-4"]],
]


def read(text: str) -> UserWords:
    return read_user_words([("words.txt", text.encode())])[0]


@pytest.fixture(scope="module", params=DICTIONARIES)
def words(request: pytest.FixtureRequest) -> str:
    return DICTIONARIES[request.param]


@pytest.fixture(scope="module")
def package(words: str) -> Iterator[jieba.Tokenizer]:
    """jieba's own tokenizer with the words, without its cache in the shared temporary folder."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    tokenizer.load_userdict(io.BytesIO(words.encode()))
    yield tokenizer
    finalseg.Force_Split_Words.clear()  # jieba keeps them for all tokenizers of a process


def sentences(words: str) -> list[str]:
    """5,000: chat, odd pieces, and random characters of both."""
    stored = json.loads(CHAT.read_text(encoding="utf-8"))
    chat = [t for e in stored["examples"] for k in ("references", "replies") for t in e[k]][:1000]
    draw = random.Random(26)
    odd = ["".join(draw.choices(PIECES, k=draw.randrange(12))) for _ in range(2500)]
    characters = sorted(
        {c for text in [*chat, *PIECES, words] for c in text if c > "z" or c == " "}
    )
    count = 5000 - len(chat) - len(odd)
    mixed = ["".join(draw.choices(characters, k=draw.randrange(15))) for _ in range(count)]
    return [*chat, *odd, *mixed]


def tokens(tokenizer: JiebaTokenizer, texts: list[str]) -> list[list[str]]:
    return TextRecipe(tokenizer).tokenize(pa.array(texts, pa.string())).to_lists()


def jieba_tokens(package: jieba.Tokenizer, mode: str, text: str) -> list[str]:
    cut = package.cut_for_search if "search" in mode else package.cut
    return [part for token in cut(text, HMM="hmm=false" not in mode) for part in token.split()]


def made(mode: str, words: str) -> JiebaTokenizer:
    tokenizer = make_tokenizer(mode, read(words))
    assert isinstance(tokenizer, JiebaTokenizer)
    return tokenizer


@pytest.mark.parametrize("mode", MODES)
def test_five_thousand_sentences_are_cut_as_jieba_cuts_them(
    mode: str, words: str, package: jieba.Tokenizer
) -> None:
    texts = sentences(words)
    assert len(texts) == 5000
    tokenizer = made(mode, words)
    expected = [jieba_tokens(package, mode, text) for text in texts]
    found = tokens(tokenizer, texts)
    assert [x for x in zip(texts, found, expected) if x[1] != x[2]] == []


def test_frequencies_are_those_that_jieba_chooses(words: str, package: jieba.Tokenizer) -> None:
    ours = jieba_dictionary._Package(read(words))
    assert ours.total == package.total
    assert ours.FREQ == package.FREQ


def test_the_signature_has_all_that_moves_a_boundary() -> None:
    read_words = read(WORDS)
    assert make_tokenizer("jieba").signature() == "jieba-0.42"
    assert make_tokenizer("jieba:mode=precise,hmm=true").signature() == "jieba-0.42"
    assert made(MODES[3], "").signature() == "jieba-0.42:mode=search,hmm=false"
    assert made("jieba", WORDS).signature() == f"jieba-0.42:words={read_words.content}"
    assert made("jieba", WORDS).signature() != made("jieba", WORDS + "好").signature()
    assert [made(mode, "").overlaps for mode in MODES] == [False, False, True, True]


@pytest.mark.parametrize("spec", ["jieba:mode=full", "jieba:hmm=no", "jieba:engine=fast"])
def test_a_wrong_parameter_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="jieba"):
        make_tokenizer(spec)


GUARDED = [
    ("license", ["license"]),
    ("许可license和ens", ["许可", "license", "和", "ens"]),
    ("ens,sens", ["ens", ",", "sens"]),
    ("15G手机5G手机", ["15G", "手机", "5G", "手机"]),
    ("iphone15 xiphone", ["iphone", "15", "xiphone"]),
    ("BA制A制", ["BA", "制", "A制"]),
    ("aWi-Fi Wi-Fi Wi-Fis", ["aWi", "-", "Fi", "Wi-Fi", "Wi", "-", "Fis"]),
    ("license lic ens", ["license", "lic", "ens"]),
]


def test_a_users_word_never_cuts_a_run_of_letters_or_digits() -> None:
    words = "ens\n5G\n手机\niphone\nA制 100\nWi-Fi\nlic 9999\n"
    texts, expected = [text for text, _ in GUARDED], [cut for _, cut in GUARDED]
    assert tokens(made("jieba", words), texts) == expected
    assert tokens(made("jieba:hmm=false", words), texts) == expected
    assert tokens(made("jieba:mode=search", words), ["license"]) == [["license"]]


class Guarded(jieba.Tokenizer):  # type: ignore[misc]
    """jieba's own tokenizer, which takes no user's word that would cut a run."""

    def __init__(self, words: UserWords) -> None:
        super().__init__()
        package = jieba_dictionary._Package(words)
        self.FREQ, self.total, self.initialized = package.FREQ, package.total, True
        self.users = {word for word, _ in words.entries if can_cut_a_run(word)}

    def forbids(self, text: str, start: int, end: int) -> bool:
        return text[start:end] in self.users and cuts_a_run(text, start, end)

    def get_DAG(self, sentence: str) -> dict[int, list[int]]:
        return {
            start: [end for end in ends if not self.forbids(sentence, start, end + 1)] or [start]
            for start, ends in super().get_DAG(sentence).items()
        }

    def cut_for_search(self, sentence: str, HMM: bool = True) -> Iterator[str]:
        for word in self.cut(sentence, HMM=HMM):
            for size in (2, 3):
                for start in range(len(word) - size + 1 if len(word) > size else 0):
                    part = word[start : start + size]
                    if self.FREQ.get(part) and not self.forbids(word, start, start + size):
                        yield part
            yield word


@pytest.mark.parametrize("mode", MODES)
def test_letters_and_digits_are_cut_as_jieba_would_without_the_words_that_cut_them(
    mode: str,
) -> None:
    dictionary = LATIN_WORDS + "ens\n5G\nab\nb\nA制 100\n恤衫1 4\n1.5 8\n是a是\n-9 4\n"
    draw = random.Random(27)
    pieces = [
        "a",
        "b",
        "ab",
        "ens",
        "5",
        "5G",
        "1.5",
        ".",
        "-",
        "9",
        "A制",
        "T恤衫",
        "1",
        " ",
        "是",
    ]
    texts = ["".join(draw.choices(pieces, k=draw.randrange(9))) for _ in range(3000)]
    for words in (dictionary, dictionary.replace("\nb\n", "\n")):
        package = Guarded(read(words))
        found = tokens(made(mode, words), texts)
        expected = [jieba_tokens(package, mode, text) for text in texts]
        assert [x for x in zip(texts, found, expected) if x[1] != x[2]] == []


def test_a_word_that_is_taken_out_is_in_no_mode_a_token() -> None:
    # 杭研 is no word of the dictionary: jieba's model makes it.
    text = "他在北京大学网易杭研大厦"
    gone = {"北京大学", "杭研"}
    assert gone <= set(tokens(made("jieba", ""), [text])[0])
    for mode in MODES:
        assert not gone & set(tokens(made(mode, "杭研 0\n北京大学 0"), [text])[0])


def test_two_dictionaries_in_one_process_do_not_mix() -> None:
    text = "他用微信支付了网易杭研大厦"
    plain = tokens(JiebaTokenizer(), [text])
    shared = set(finalseg.Force_Split_Words)
    one, other = made("jieba", "用微信支付"), made("jieba", "网易杭研大厦\n微信 0")
    for _ in range(2):
        assert "用微信支付" in tokens(one, [text])[0]
        assert "网易杭研大厦" not in tokens(one, [text])[0]
        assert "网易杭研大厦" in tokens(other, [text])[0]
        assert "用微信支付" not in tokens(other, [text])[0]
        assert tokens(JiebaTokenizer(), [text]) == plain
    assert "用微信支付" not in jieba.dt.FREQ
    assert finalseg.Force_Split_Words == shared
    assert jieba_dictionary.dictionary(one.words) is jieba_dictionary.dictionary(read("用微信支付"))


def test_words_travel_by_value_and_are_loaded_at_the_first_call() -> None:
    jieba_dictionary.dictionary.cache_clear()
    copy = pickle.loads(pickle.dumps(made("jieba", "用微信支付")))
    assert jieba_dictionary.dictionary.cache_info().currsize == 0
    assert copy == made("jieba", "用微信支付")
    assert "用微信支付" in tokens(copy, ["他用微信支付了"])[0]


def test_without_words_nothing_is_said_of_them() -> None:
    assert make_tokenizer("jieba", NO_WORDS) == JiebaTokenizer()
    with pytest.raises(ValueError, match="char takes no user dictionary"):
        make_tokenizer("char", read("量尺"))
    assert make_tokenizer("char", NO_WORDS).name == "char"
