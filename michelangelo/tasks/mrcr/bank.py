"""Writing banks: pieces written beforehand by a language model, from which conversations are made.

A bank is one Parquet file with the columns ``format``, ``topic``, ``style``, ``author`` (the model that wrote it) and
``text``. Its hash is part of every instance made with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import replacing
from michelangelo.lsq.tokenizers import BUNDLED, Tokenizer, get_tokenizer

OWN = "michelangelo"
"""Name of the bank that comes with the package."""

COLUMNS = ("format", "topic", "style", "author", "text")
_HASH_DIGITS = 12
_PINNED = re.compile(rf"(.+)@([0-9a-f]{{{_HASH_DIGITS}}})")


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of writing.

    Attributes:
        format: what it is, in the singular: ``poem``.
        topic: what it is about: ``penguins``.
        style: its manner: ``wry``; empty where unknown.
        author: the model that wrote it.
        text: the piece itself, no outer white space.
    """

    format: str
    topic: str
    style: str
    author: str
    text: str


@dataclass(frozen=True)
class Bank:
    """A writing bank.

    Attributes:
        name: its name, or its file's.
        pieces: in the file's order.
    """

    name: str
    pieces: tuple[Piece, ...]

    @cached_property
    def hash(self) -> str:
        """Hash of what conversations depend on: the pieces in their order."""
        rows = [[p.format, p.topic, p.style, p.text] for p in self.pieces]
        return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:_HASH_DIGITS]

    @property
    def reference(self) -> str:
        """How a parameter names the bank exactly: ``name@hash``."""
        return f"{self.name}@{self.hash}"

    @cached_property
    def groups(self) -> Mapping[tuple[str, str], tuple[int, ...]]:
        """Indices of the pieces of each (format, topic), in order."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for i, piece in enumerate(self.pieces):
            found[piece.format, piece.topic].append(i)
        return {key: tuple(indices) for key, indices in found.items()}

    def sizes(self, tokenizer: Tokenizer) -> list[int]:
        """Token count of each piece."""
        if tokenizer.name in BUNDLED:
            return _bundled_sizes(self.reference, tokenizer.name)
        return [tokenizer.count(piece.text) for piece in self.pieces]


@cache
def _bundled_sizes(reference: str, tokenizer: str) -> list[int]:
    counter = get_tokenizer(tokenizer)
    return [counter.count(piece.text) for piece in find_bank(reference).pieces]


def own_bank_path() -> Path:
    """Where the package's own bank lies."""
    return Path(__file__).parent / "banks" / f"{OWN}.parquet"


def find_bank(reference: str) -> Bank:
    """The bank a parameter names: the package's own by name, or a file by path; ``@hash`` pins its content.

    Raises:
        UserError: no such bank, or its content is not what the hash says.
        DataError: the file is no writing bank.
    """
    pinned = _PINNED.fullmatch(reference)
    name, digest = (pinned[1], pinned[2]) if pinned else (reference, "")
    bank = _load(str(own_bank_path()) if name == OWN else name, name)
    if digest and digest != bank.hash:
        raise UserError(f"bank={reference}: the bank's content has hash {bank.hash}; it is another version")
    return bank


@cache
def _load(path: str, name: str) -> Bank:
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    if not Path(path).is_file():
        raise UserError(f"bank={name}: there is no such bank; give {OWN} or the path of a bank's .parquet file")
    try:
        table = pq.read_table(path)
    except (ArrowException, OSError):
        raise DataError(f"{name} is not a Parquet file") from None
    missing = [column for column in COLUMNS if column not in table.column_names]
    if missing:
        raise DataError(f"{name} is no writing bank: it lacks the column {missing[0]!r}")
    rows = zip(*(table.column(column).to_pylist() for column in COLUMNS), strict=True)
    pieces = tuple(Piece(*(str(value or "") for value in row)) for row in rows)
    if not pieces:
        raise DataError(f"{name} is an empty writing bank")
    return Bank(name, pieces)


def save_bank(pieces: Sequence[Piece], path: Path) -> None:
    """Write a bank file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({column: [getattr(piece, column) for piece in pieces] for column in COLUMNS})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", compression_level=19)
