from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from michelangelo.errors import UserError
from michelangelo.models import (
    Completion,
    Model,
    Request,
    keys,
    model_names,
    open_model,
    provider,
    providers,
    unregister_provider,
)
from michelangelo.models.keys import redact
from michelangelo.models.settings import join_name, split_name


class Echo(Model):
    """A provider as a newcomer would write it; this class is all of it."""

    title = "Echo"

    async def complete(self, request: Request) -> Completion:
        return Completion(request.messages[-1]["content"])


@pytest.fixture
def echo() -> Iterator[None]:
    provider("echo")(Echo)
    yield
    unregister_provider("echo")


@pytest.mark.usefixtures("echo")
def test_a_provider_is_one_class_with_one_line() -> None:
    model = open_model("echo/any:thing/at-all")
    assert (model.name, model.family, model.price, model.context_window) == ("echo/any:thing/at-all", "at", None, None)
    reply = asyncio.run(model.complete(Request([{"role": "user", "content": "hello"}])))
    assert reply.text == "hello"
    with pytest.raises(UserError, match="echo/x has no setting 'a'; it has none"):
        open_model("echo/x?a=1")
    unregister_provider("echo")
    with pytest.raises(UserError, match="no provider 'echo'"):
        open_model("echo/x")


def test_two_providers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'reader' of michelangelo\.models\.readers\.Reader is registered already"):
        provider("reader")(Echo)
    assert type(open_model("reader/oracle")).__name__ == "Reader"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "Half has no complete, has no title"),
        ({"complete": Echo.complete}, "Half has no title"),
        ({"title": "Half"}, "Half has no complete"),
        ({"title": "Half", "complete": Echo.complete, "keys": "HALF_API_KEY"}, "has keys that are no tuple"),
        ({"title": "Half", "complete": Echo.complete, "models": ["x"]}, "has models that are no tuple"),
        ({"title": "Half", "complete": Echo.complete, "Settings": dict}, "has Settings that are no dataclass"),
        (
            {"title": "Half", "complete": Echo.complete, "models": ("x",), "__init__": lambda self: None},
            "has models that can't be opened: .*takes 1 positional argument",
        ),
    ],
)
def test_an_incomplete_provider_is_refused_with_what_it_lacks(body: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=f"^provider 'half': .*{says}"):
        provider("half")(type("Half", (Model,), body))
    with pytest.raises(TypeError, match=r"^provider 'half': int is not a Model"):
        provider("half")(int)  # type: ignore[type-var]
    assert "half" not in providers()


def test_names_of_readers_say_their_defaults() -> None:
    assert [n for n in model_names() if n.startswith("reader/")] == [
        "reader/oracle",
        "reader/chance",
        "reader/recency?tokens=8192",
        "reader/retrieval?k=8&chunk=256",
        "reader/lossy?p=0.001",
        "reader/stretch",
        "reader/initial",
    ]
    for name in model_names("reader"):
        assert open_model(name).name == name
        assert open_model(name.split("?")[0]).name == name


def test_settings_are_written_into_the_name_in_one_order() -> None:
    assert open_model("reader/retrieval?chunk=64&k=2").name == "reader/retrieval?k=2&chunk=64"
    assert open_model("reader/retrieval?chunk=64").name == "reader/retrieval?k=8&chunk=64"
    assert open_model("reader/lossy?p=1e-5").name == "reader/lossy?p=1e-05"
    assert open_model("reader/lossy?p=1e-05").name == "reader/lossy?p=1e-05"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("oracle", "not provider/model"),
        ("reader/", "not provider/model"),
        ("", "not provider/model"),
        ("reader/orcle", "did you mean reader/oracle"),
        ("reader/zzzz", "there are reader/oracle, reader/chance"),
        ("raeder/oracle", "did you mean reader"),
        ("reader/oracle?p=1", "has no setting 'p'; it has none"),
        ("reader/lossy?q=1", "has no setting 'q'; there are p"),
        ("reader/lossy?p=2", "p=2 is outside 0 to 1"),
        ("reader/lossy?p=nan", "p=nan is not a number"),
        ("reader/recency?tokens=1.5", "tokens=1.5 is not a whole number"),
        ("reader/recency?tokens", "'tokens' is not setting=value"),
        ("reader/lossy?p=0.1&p=0.2", "given twice"),
    ],
)
def test_what_does_not_exist_is_named(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        open_model(name)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(min_size=1, max_size=30), max_size=4))
def test_names_come_apart_as_they_were_joined(values: dict[str, str]) -> None:
    encodable = {k: v for k, v in values.items() if v == v.encode("utf-8", "ignore").decode()}
    name = join_name("compatible", "org/model:7b", encodable)
    assert split_name(name) == ("compatible", "org/model:7b", encodable)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Incorrect API key provided: sk-proj-abcDEF123456.", "Incorrect API key provided: [key]."),
        ("Authorization: Bearer eyJhbGciOi.x", "Authorization: [key] [key]"),
        ("GET /v1?key=AIza" + "SyA1234567890abcdefghijkl&x=1", "GET /v1?key=[key]&x=1"),
        ("Prompt 3900 plus 512 requested does not fit.", "Prompt 3900 plus 512 requested does not fit."),
        ("task-specific risk-averse keyboard", "task-specific risk-averse keyboard"),
    ],
)
def test_keys_are_taken_out_of_messages(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_a_given_key_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_given", {})
    monkeypatch.setenv("TOY_API_KEY", "from-outside")
    assert keys.find_key("NO_SUCH_KEY", "TOY_API_KEY") == "from-outside"
    keys.give_keys({"TOY_API_KEY": "given", "EMPTY_KEY": ""})
    assert (keys.find_key("TOY_API_KEY"), keys.find_key("EMPTY_KEY")) == ("given", None)


def test_opening_a_reader_imports_nothing_heavy() -> None:
    code = (
        "import sys; from michelangelo.models import open_model; import michelangelo.runs; open_model('reader/oracle');"
        "print([m for m in ('pandas', 'scipy', 'bm25s', 'streamlit', 'plotly', 'openai') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
