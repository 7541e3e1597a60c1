"""Build a writing bank with a connected model: ask for each piece, keep what passes the checks, resume where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.files import replacing
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.tasks.mrcr.bank import COLUMNS, Bank, Piece, save_bank
from michelangelo.tasks.mrcr.measure import MOST_ALIKE, faults_of, word_ratio

STYLES = ("plain", "lyrical", "wry", "formal", "conversational", "dramatic", "nostalgic", "matter-of-fact")

Ask = Callable[[str], str]
"""A model as seen from here: a request in, its reply out; raises ``ProviderError`` where the call fails."""


def order(formats: Sequence[str], topics: Sequence[str], each: int) -> list[tuple[str, str, str]]:
    """(format, topic, style) of every piece wanted, in a fixed order."""
    wanted = []
    for k, (format_, topic) in enumerate((f, t) for f in formats for t in topics):
        wanted += [(format_, topic, STYLES[(k + i) % len(STYLES)]) for i in range(each)]
    return wanted


def request_for(format_: str, topic: str, style: str, earlier: Sequence[str]) -> str:
    """The request sent to the model; earlier pieces of the same kind are shown so that it writes something else."""
    told = "".join(f"\n---\n{text}" for text in earlier)
    apart = f" It must differ from these in opening, angle and events:{told}\n---" if earlier else ""
    return (
        f"Write one {format_} about {topic} in a {style} style, between 60 and 350 words (a riddle or social media "
        "post: 35 to 90). Give only the text: no title, no heading, no preamble, no placeholder, no real people."
        + apart
    )


def build(ask: Ask, author: str, wanted: Sequence[tuple[str, str, str]], out: Path, *, tries: int = 3) -> Bank:
    """Write a bank, piece by piece; what is written so far lies beside it (``OUT.part.jsonl``) and is not asked again.

    Args:
        ask: the model.
        author: its name, recorded with every piece.
        wanted: (format, topic, style) of each piece.
        out: the bank's file; appears when every piece is there.
        tries: how often a piece that fails the checks is asked for again.

    Raises:
        UserError: a piece failed the checks every time; names it and the fault.
        DataError: the part file is not of this bank.
    """
    part = out.with_name(out.name + ".part.jsonl")
    pieces = _read_part(part, wanted, author)
    with part.open("a", encoding="utf-8") as file:
        for format_, topic, style in wanted[len(pieces) :]:
            piece = _write_piece(ask, author, (format_, topic, style), pieces, tries)
            file.write(json.dumps({c: getattr(piece, c) for c in COLUMNS}, ensure_ascii=False) + "\n")
            file.flush()
            pieces.append(piece)
    save_bank(pieces, out)
    part.unlink()
    return Bank(str(out), tuple(pieces))


def _read_part(part: Path, wanted: Sequence[tuple[str, str, str]], author: str) -> list[Piece]:
    if not part.exists():
        return []
    whole = part.read_bytes()
    lines = whole.splitlines()
    if whole and not whole.endswith(b"\n"):
        lines.pop()
        with replacing(part) as temporary:
            temporary.write_bytes(b"".join(line + b"\n" for line in lines))
    pieces = []
    for number, (line, kind) in enumerate(zip(lines, wanted, strict=False), start=1):
        row = json.loads(line)
        piece = Piece(*(str(row.get(column, "")) for column in COLUMNS))
        if (piece.format, piece.topic, piece.style) != kind or piece.author != author:
            raise DataError(f"{part}, line {number}: of another order of pieces or another model; remove it")
        pieces.append(piece)
    return pieces


def _write_piece(ask: Ask, author: str, kind: tuple[str, str, str], pieces: Sequence[Piece], tries: int) -> Piece:
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    earlier = [p.text for p in pieces if (p.format, p.topic) == kind[:2]]
    faults: list[str] = []
    for _ in range(tries):
        piece = Piece(*kind, author, ask(request_for(*kind, earlier)).strip())
        faults = faults_of(piece, counter.count(piece.text))
        if any(word_ratio(piece.text, text) > MOST_ALIKE for text in earlier):
            faults.append("it is too much like an earlier one")
        if not faults:
            return piece
    raise UserError(f"{author} wrote no usable {kind[0]} about {kind[1]} in {tries} tries: {faults[0]}")
