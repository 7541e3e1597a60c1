"""How well a local model predicts a text: the negative log-likelihood of each of its tokens.

Chat templates play no part: instruct models read the same text as base models.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from michelangelo.errors import ProviderError, UserError
from michelangelo.models.llama_engine import Engine
from michelangelo.models.local import LocalModel
from michelangelo.models.registry import open_model

ROWS = 64
"""Positions whose scores over the vocabulary are in memory at once: 64 MB for a vocabulary of 262,144."""

FIRST_BIN = 256
"""The first bin holds positions 0 to 255, the next 256 to 511, then each is twice as long as the one before."""

Floats = npt.NDArray[np.float64]


class Bin(NamedTuple):
    """A stretch of positions.

    Attributes:
        start: first position, in the model's own tokens.
        end: one past the last.
        tokens: how many of them were predicted.
        nll: sum of their negative log-likelihoods, nats.
    """

    start: int
    end: int
    tokens: int
    nll: float


def open_for_likelihood(name: str) -> LocalModel:
    """A model that gives log-probabilities.

    Raises:
        UserError: where there is no such model, or it is not a local one.
    """
    model = open_model(name)
    if not isinstance(model, LocalModel):
        raise UserError(f"{name} gives no log-probabilities; perplexity needs a local model, e.g. local/gemma-3-270m")
    return model


def token_losses(model: LocalModel, text: str) -> Floats:
    """Negative log-likelihood, in nats, of every token but the first, given all before it.

    Args:
        model: not while questions to it are in flight.
        text: read as ordinary text; a begin-of-sequence token comes first where the model wants one.

    Returns:
        Shape (n - 1,) for a text of n tokens; entry i belongs to position i + 1.

    Raises:
        ProviderError: ``context_overflow`` where the text exceeds the model's window; names both lengths.
        UserError: where packages are missing, or the file can't be loaded.
    """
    engine = model.engine(0)
    tokens = engine.encode(text)
    window = model.context_window or engine.trained
    if len(tokens) > window:
        raise ProviderError(
            f"the text's {len(tokens):,} tokens exceed the window of {window:,} tokens", status="context_overflow"
        )
    return _losses(model.engine(len(tokens)), tokens)


def binned(losses: Floats) -> list[Bin]:
    """Losses summed by position, in the order of positions; the last bin ends with the text.

    Args:
        losses: as ``token_losses`` gives them.
    """
    bins, start, size = [], 0, len(losses) + 1
    while start < size:
        end = min(size, max(FIRST_BIN, 2 * start))
        part = losses[max(start - 1, 0) : end - 1]  # position 0 is given, not predicted
        if len(part):
            bins.append(Bin(start, end, len(part), float(part.sum())))
        start = end
    return bins


def _losses(engine: Engine, tokens: Sequence[int]) -> Floats:
    api = importlib.import_module("llama_cpp")
    engine.forget()
    api.llama_memory_clear(api.llama_get_memory(engine.llama.ctx), True)
    found = np.empty(max(len(tokens) - 1, 0))
    with _batch(api) as batch:
        for start in range(0, len(found), ROWS):
            end = min(start + ROWS, len(found))
            _fill(batch, tokens[start:end], start)
            code = api.llama_decode(engine.llama.ctx, batch)
            if code:
                raise ProviderError(f"llama.cpp failed with code {code}")
            shape = (end - start, engine.llama.n_vocab())
            logits = np.ctypeslib.as_array(api.llama_get_logits(engine.llama.ctx), shape)
            found[start:end] = cross_entropy(logits, tokens[start + 1 : end + 1])
    engine.forget()
    return found


def cross_entropy(logits: npt.NDArray[np.float32], targets: Sequence[int]) -> Floats:
    """``log(sum(exp(logits))) - logits[target]`` by row; overwrites the logits.

    Args:
        logits: shape (n, vocabulary).
        targets: n indices into the vocabulary.
    """
    highest = logits.max(axis=1)
    said = logits[np.arange(len(targets)), np.asarray(targets)].astype(float)
    np.subtract(logits, highest[:, None], out=logits)
    np.exp(logits, out=logits)
    return np.asarray(np.log(logits.sum(axis=1, dtype=float)) + highest - said)


@contextmanager
def _batch(api: Any) -> Iterator[Any]:
    batch = api.llama_batch_init(ROWS, 0, 1)
    try:
        yield batch
    finally:
        api.llama_batch_free(batch)


def _fill(batch: Any, tokens: Sequence[int], first: int) -> None:
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i] = token, first + i
        batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, True
