"""Context lengths as people write them: ``2k`` is 2048, ``1m`` is 1048576, plain numbers as they are."""

from __future__ import annotations

import re

from michelangelo.errors import UserError

STANDARD_LENGTHS = tuple(2**k for k in range(11, 21))
"""The standard curve's lengths, 2K to 1M tokens."""

LONGEST = 2**21
"""The longest length that is accepted, tokens: a slip of the finger must not fill the memory."""

_LENGTH = re.compile(r"(\d+)([km]?)", re.IGNORECASE | re.ASCII)
_BOTH_THOUSANDS = 128_000  # lengths that are whole thousands of 1,000 and of 1,024 tokens
_FACTOR = {"": 1, "k": 1024, "m": 1024 * 1024}


def parse_length(text: str) -> int:
    """One length in tokens.

    Raises:
        UserError: where the text is no length between 1 and ``LONGEST``.
    """
    match = _LENGTH.fullmatch(text.strip())
    if not match:
        raise UserError(f"length {text!r} is not understood; write a number of tokens such as 4096, 8k or 1m")
    tokens = int(match[1]) * _FACTOR[match[2].lower()]
    if not 1 <= tokens <= LONGEST:
        raise UserError(f"length {text!r} is outside 1 to {format_length(LONGEST)} tokens")
    return tokens


def parse_lengths(text: str) -> tuple[int, ...]:
    """Comma-separated lengths, each once, in the order given.

    Raises:
        UserError: where one of them is no length.
    """
    return tuple(dict.fromkeys(parse_length(part) for part in text.split(",")))


def format_length(tokens: int) -> str:
    """A length as people write it: 8192 is ``8K``, 1048576 is ``1M``, 5001 is ``5,001``.

    128000, which others call 128K, would be ``125K`` and be mistaken for a slip: it is ``128,000``.
    """
    if tokens and tokens % _BOTH_THOUSANDS == 0:
        return f"{tokens:,}"
    for size, suffix in ((1024 * 1024, "M"), (1024, "K")):
        if tokens >= size and tokens % size == 0:
            return f"{tokens // size}{suffix}"
    return f"{tokens:,}"
