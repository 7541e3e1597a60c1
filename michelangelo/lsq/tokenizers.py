"""Token counters behind one small protocol, all of them offline but the fallback, which says so.

Text is always ordinary text: ``<|endoftext|>`` in a prompt is counted as the characters it is made of.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from michelangelo.errors import UserError

DEFAULT_TOKENIZER = "o200k_base"
BUNDLED = {
    "o200k_base": "OpenAI GPT-4o, o-series, GPT-5",
    "cl100k_base": "OpenAI GPT-4, GPT-3.5",
    "llama3": "Meta Llama 3",
    "qwen3": "Qwen 2.5 and 3",
}
"""Vocabularies at hand by name, and the models they belong to."""

_TIKTOKEN = ("o200k_base", "cl100k_base")


class Tokenizer(Protocol):
    """Counts tokens.

    Attributes:
        name: what is written into an instance; names the vocabulary exactly.
    """

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """Number of tokens of a text taken as a whole."""
        ...


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """A counter at hand.

    Attributes:
        name: its name.
        models: whose models it counts for.
        engine: the package that counts.
        location: where its vocabulary lies.
        offline: whether it works without a network.
    """

    name: str
    models: str
    engine: str
    location: str
    offline: bool


@dataclass(frozen=True, slots=True)
class _Quicktok:
    name: str

    def count(self, text: str) -> int:
        return int(_quicktok(self.name).count(text))


@lru_cache
def _quicktok(name: str):  # type: ignore[no-untyped-def]
    import quicktok

    return quicktok.get_encoding(name)


@dataclass(frozen=True, slots=True)
class _Tiktoken:
    name: str

    def count(self, text: str) -> int:
        import tiktoken

        return len(tiktoken.get_encoding(self.name).encode_ordinary(text))


class _FromFile:
    """A user's ``tokenizer.json``, counted without the special tokens a model's template would add."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Loaded

        try:
            data = path.read_bytes()
            self._tokenizer = Loaded.from_str(data.decode())
        except Exception as error:
            raise UserError(f"tokenizer file {path} can't be read: {error}") from None
        self._path = path
        self.name = f"{path.name}@{hashlib.sha256(data).hexdigest()[:12]}"

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def get_tokenizer(name: str = DEFAULT_TOKENIZER) -> Tokenizer:
    """A counter by name, or the path of a ``tokenizer.json``.

    Raises:
        UserError: where there is none of that name, or the file can't be read.
    """
    if name in BUNDLED and find_spec("quicktok"):
        return _Quicktok(name)
    if name in _TIKTOKEN:
        return _Tiktoken(name)
    if name.endswith(".json"):
        return _from_file(Path(name).resolve())
    if name in BUNDLED:
        raise UserError(f"tokenizer {name} needs quicktok-v1, which is not installed: pip install quicktok-v1")
    raise UserError(f"no tokenizer {name!r}; there are {', '.join(BUNDLED)}, or the path of a tokenizer.json")


@lru_cache(maxsize=8)
def _from_file(path: Path) -> _FromFile:
    return _FromFile(path)


def tokenizer_infos() -> list[TokenizerInfo]:
    """The counters at hand, with where their vocabularies lie."""
    spec = find_spec("quicktok")
    if spec and spec.origin:
        data = str(Path(spec.origin).parent / "data")
        return [TokenizerInfo(name, models, "quicktok", data, True) for name, models in BUNDLED.items()]
    where = "downloaded on first use (quicktok-v1 is not installed)"
    return [TokenizerInfo(name, BUNDLED[name], "tiktoken", where, False) for name in _TIKTOKEN]


@dataclass(frozen=True, slots=True)
class TokenizerCheck:
    """What a counter at hand says about the fixed texts.

    Attributes:
        name: its name.
        texts: number of texts counted.
        problems: where it differs from the reference, one sentence each; empty where it works.
    """

    name: str
    texts: int
    problems: tuple[str, ...]


def check_tokenizers() -> list[TokenizerCheck]:
    """Count ``CHECK_TEXTS`` with every counter at hand and compare with the reference counts."""
    checks = []
    for info in tokenizer_infos():
        column = list(BUNDLED).index(info.name)
        problems = []
        for text, counts in CHECK_TEXTS.items():
            try:
                counted = get_tokenizer(info.name).count(text)
            except Exception as error:  # whatever keeps it from counting is what the check is asked for
                problems.append(f"it can't count: {type(error).__name__}: {error}")
                break
            if counted != counts[column]:
                problems.append(f"{text[:24]!r} counts {counted}, the reference is {counts[column]}")
        checks.append(TokenizerCheck(info.name, len(CHECK_TEXTS), tuple(problems)))
    return checks


CHECK_TEXTS = {
    ">> a.insert(-3, 2817)\n>> a.pop(12)\n>> a = [1, 2, 3, 4, 5, 6]\n": (37, 37, 37, 40),
    "The heron waits at the edge of the pond; it doesn't move, and we've forgotten why.": (20, 22, 22, 22),
    "W F D N C Q Z A P L K J H G": (14, 14, 14, 14),
    "-4000 3999 1048576 0.85 1,234,567 007": (22, 22, 22, 37),
    "def f(x):\n\treturn {'k': [x ** 2 for _ in range(10)]}\r\n\r\n    # done\n": (25, 25, 25, 26),
    "Žluťoučký kůň; crème brûlée; straße; Ελληνικά; привет, мир": (23, 40, 26, 36),
    "深い森の中で、鹿は水を飲む。 서울은 밤에도 밝다. 长文本评测": (25, 40, 25, 25),
    "السلام عليكم ورحمة الله · नमस्ते दुनिया · שלום עולם": (12, 43, 29, 28),
    "🦩🧵 👩\u200d👩\u200d👧\u200d👦 ✓ → ∑ ½ ﬁ": (24, 31, 28, 22),
    "<|endoftext|> <|im_start|>user<|im_end|> </think>": (23, 22, 22, 22),
    "   leading, trailing   \n\n\n \t \u00a0\u2003\n": (10, 11, 10, 11),
    "x" * 300 + " " + "ab" * 200: (139, 238, 238, 238),
    "Don't WON'T camelCaseWords SCREAMING_SNAKE kebab-case https://example.org/a?b=c#d": (25, 26, 26, 26),
}
"""Fixed texts with their reference counts, in the order of ``BUNDLED``.

References: tiktoken's own vocabularies and patterns for o200k_base and cl100k_base; for llama3 and qwen3 tiktoken's
byte-pair merging with the pattern each model publishes (qwen3 after NFC normalisation).
"""
