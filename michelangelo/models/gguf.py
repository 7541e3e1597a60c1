"""What a GGUF model file says of itself, read from its header alone.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 2 and 3, little-endian).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from michelangelo.errors import DataError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_LONGEST_TEXT = 2**24
_MOST_ENTRIES = 2**16


@dataclass(frozen=True, slots=True)
class Header:
    """What is needed to ask a model.

    Attributes:
        context_length: length it was trained for, tokens, or ``None`` where the file doesn't say.
        family: the base model's name, else the architecture's, lower case.
        chat: whether it has a chat template.
    """

    context_length: int | None
    family: str
    chat: bool


def read_header(path: Path) -> Header:
    """The header of a GGUF file; only the header is read.

    Raises:
        DataError: where it is no GGUF file, or is cut.
    """
    try:
        with path.open("rb") as file:
            values = _values(file)
    except OSError as error:
        raise DataError(f"model file {str(path)!r} can't be read: {error.strerror or error}") from None
    except (struct.error, KeyError, ValueError, OverflowError, RecursionError):
        raise DataError(f"model file {str(path)!r} is no GGUF file of version 2 or 3, or is cut") from None
    architecture = str(values.get("general.architecture", ""))
    length = values.get(f"{architecture}.context_length")
    return Header(
        context_length=length if isinstance(length, int) and length > 0 else None,
        family=str(values.get("general.basename") or architecture or "unknown").lower(),
        chat="tokenizer.chat_template" in values,
    )


def _values(file: IO[bytes]) -> dict[str, Any]:
    magic, version, _, entries = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version not in (2, 3) or entries > _MOST_ENTRIES:
        raise ValueError
    found = {}
    for _ in range(entries):
        key = _text(file)
        found[key] = _value(file, _number(file, "I"))
    return found


def _value(file: IO[bytes], kind: int) -> Any:
    """A value; lists are passed over."""
    if kind == _TEXT:
        return _text(file)
    if kind != _LIST:
        return _number(file, _NUMBERS[kind])
    inner, size = _number(file, "I"), _number(file, "Q")
    if inner in _NUMBERS:
        file.seek(size * struct.calcsize("<" + _NUMBERS[inner]), 1)
    else:
        for _ in range(size):
            _value(file, inner)
    return None


def _number(file: IO[bytes], kind: str) -> Any:
    return struct.unpack("<" + kind, file.read(struct.calcsize("<" + kind)))[0]


def _text(file: IO[bytes]) -> str:
    size = _number(file, "Q")
    if size > _LONGEST_TEXT:
        raise ValueError
    data = file.read(size)
    if len(data) < size:
        raise ValueError
    return data.decode("utf-8", "replace")
