"""Steps by name: the text form of a step, and what is said when it is wrong."""

from __future__ import annotations

import pytest

from scoring.text import specs
from scoring.text.steps import BUILT_IN, make_step
from scoring.text.token_steps import make_token_step


@pytest.mark.parametrize(
    ("spec", "name", "parameters"),
    [
        ("nfc", "nfc", {}),
        ("stopwords:file=a.txt", "stopwords", {"file": "a.txt"}),
        ("x:file=a,b=c.txt,mode=1", "x", {"file": "a", "b": "c.txt", "mode": "1"}),
        ("x:file=C:\\a, b.txt", "x", {"file": "C:\\a, b.txt"}),
        ("x:file=", "x", {"file": ""}),
        ("x:file=gs://b/a=1:2", "x", {"file": "gs://b/a=1:2"}),
    ],
)
def test_a_spec_is_a_name_with_parameters(spec: str, name: str, parameters: dict[str, str]) -> None:
    assert specs.parse(spec) == (name, parameters)


@pytest.mark.parametrize("spec", ["x:", "x:a", "x:a=1,a=2", "x:=3"])
def test_what_is_no_spec_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=r"expected name:parameter=value|given twice"):
        specs.parse(spec)


def test_an_unknown_step_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match=f"'nfd'; there are {', '.join(BUILT_IN)}"):
        make_step("nfd")
    with pytest.raises(ValueError, match="no token step is called 'nfc'"):
        make_token_step("nfc")


def test_a_parameter_that_a_step_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="no parameter 'form'; its parameters: none"):
        make_step("nfc:form=D")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_step_is_made_by_its_name(name: str) -> None:
    assert make_step(name).signature().startswith(name)
