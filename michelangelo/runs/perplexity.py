"""Perplexity of instances' texts under local models, one row per model and instance."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from michelangelo.errors import DataError, ProviderError, UserError
from michelangelo.lsq.files import LONGEST_LINE, replacing
from michelangelo.lsq.generation import generate_set
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.models.likelihood import binned, open_for_likelihood, token_losses
from michelangelo.models.local import LocalModel
from michelangelo.version import __version__


class BinRow(TypedDict):
    """Positions ``start`` to ``end`` (exclusive) in the model's own tokens, and the sum of their losses in nats."""

    start: int
    end: int
    tokens: int
    nll: float


class PerplexityRow(TypedDict):
    """One model and instance.

    ``nll`` is the sum over ``predicted_tokens`` in nats, ``perplexity`` is ``exp(nll / predicted_tokens)``; both are
    ``None`` where ``status`` isn't ``ok``. ``model_tokens`` counts the text in the model's own tokens, a
    begin-of-sequence counted in, the first of which is given; ``text_bytes`` in UTF-8.
    """

    model: str
    family: str
    task: str
    variant: str | None
    params: dict[str, Any]
    target_tokens: int
    instance_id: str
    seed: int
    tokenizer: str
    context_tokens: int
    text_bytes: int
    model_tokens: int | None
    predicted_tokens: int | None
    nll: float | None
    perplexity: float | None
    bins: list[BinRow]
    status: str
    error: str | None
    michelangelo_version: str


def write_perplexity(path: str | Path, rows: Iterable[PerplexityRow]) -> int:
    """Write rows as they come; the file appears when all are there.

    Returns:
        The number of rows.

    Raises:
        UserError: where the file can't be written, before the first row is taken.
    """
    count = 0
    with replacing(Path(path)) as temporary, temporary.open("x", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def load_perplexity(*paths: str | Path) -> pd.DataFrame:
    """The rows of one or several files as a frame with the columns of ``PerplexityRow``; missing numbers are NaN.

    Where files hold the same model and instance, the later one counts.

    Raises:
        UserError: where a file can't be opened.
        DataError: where a line is no perplexity row, or there is none; names file and line.
    """
    return perplexity_frame([row for path in paths for row in _read(Path(path))])


def perplexity_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame, the last of each model and instance."""
    kept = {(row["model"], row["instance_id"]): {name: row.get(name) for name in _FIELDS} for row in rows}
    frame = pd.DataFrame(list(kept.values()), columns=list(_FIELDS))
    frame["variant"] = frame["variant"].replace("", None)  # as result rows have it
    numbers = dict.fromkeys(("model_tokens", "predicted_tokens", "nll", "perplexity"), float)
    return frame.astype(numbers)


def _read(path: Path) -> Iterable[dict[str, Any]]:
    rows = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
                if line.strip():
                    rows.append(_checked(line, f"{path}, line {number}"))
    except OSError as error:
        raise UserError(f"file {str(path)!r} can't be read: {error.strerror or error}") from None
    if not rows:
        raise DataError(f"{path} holds no perplexity row")
    return rows


def _checked(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: cut or not JSON") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: not a perplexity row but {type(row).__name__}")
    for name, (fits, kind) in _FIELDS.items():
        if name not in row and name not in _OPTIONAL:
            raise DataError(f"{where}: no field {name!r}; is this a file that michelangelo perplexity wrote?")
        if not fits(row.get(name)):
            raise DataError(f"{where}: field {name!r} is not {kind}")
    if row["status"] == "ok" and (row["nll"] is None or not row["predicted_tokens"]):
        raise DataError(f"{where}: status ok without nll and predicted_tokens")
    return row


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_bins(value: Any) -> bool:
    names = ("start", "end", "tokens")
    return isinstance(value, list) and all(
        isinstance(b, dict) and all(_is_count(b.get(n)) for n in names) and b["tokens"] and _is_number(b.get("nll"))
        for b in value
    )


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_TEXT, _COUNT, _NUMBER = (_is_text, "text"), (_is_count, "a whole number"), (_or_none(_is_number), "a number or null")
_WORDS = (_or_none(_is_text), "text or null")
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": _TEXT,
    "family": _TEXT,
    "task": _TEXT,
    "variant": _WORDS,
    "params": (lambda value: isinstance(value, dict), "an object"),
    "target_tokens": _COUNT,
    "instance_id": _TEXT,
    "seed": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "tokenizer": _TEXT,
    "context_tokens": _COUNT,
    "text_bytes": _COUNT,
    "model_tokens": (_or_none(_is_count), "a whole number or null"),
    "predicted_tokens": (_or_none(_is_count), "a whole number or null"),
    "nll": _NUMBER,
    "perplexity": _NUMBER,
    "bins": (_is_bins, "a list of start, end, tokens and nll"),
    "status": _TEXT,
    "error": _WORDS,
    "michelangelo_version": _WORDS,
}
_OPTIONAL = ("variant", "error", "michelangelo_version")


def measure_perplexity(
    models: Sequence[str],
    task: str,
    *,
    lengths: Sequence[int],
    count: int,
    seed: int = 0,
    tokenizer: str = DEFAULT_TOKENIZER,
    params: Mapping[str, Any] | None = None,
) -> Iterator[PerplexityRow]:
    """Read each instance's flat prompt with each model; one model is in memory at a time.

    The instances are those of a run with the same task, lengths, seed and parameters, so that scores and perplexity
    are of the same texts.

    Args:
        models: full names of local models.
        task: registered name.
        lengths: target lengths, tokens.
        count: instances per length; instance i has seed ``seed + i``.
        seed: the first seed.
        tokenizer: the counter of target lengths.
        params: the task's parameters.

    Yields:
        Rows by model, then length, then seed. A text that exceeds a model's window is a row without numbers.

    Raises:
        UserError: a model that isn't local, an unknown task or parameter, packages that are missing.
        TooShortError: a length below the smallest feasible one.
    """
    opened = [open_for_likelihood(name) for name in models]
    ordered = tuple(sorted(lengths))
    for model in opened:
        try:
            for instance in generate_set(
                task, lengths=ordered, count=count, seed=seed, tokenizer=tokenizer, params=params
            ):
                yield _row(model, instance)
        finally:
            model.unload()


def _row(model: LocalModel, instance: Instance) -> PerplexityRow:
    text = instance.prompt
    row: PerplexityRow = {
        "model": model.name,
        "family": model.family,
        "task": instance.task,
        "variant": get_task(instance.task).variant(instance.params),
        "params": dict(instance.params),
        "target_tokens": instance.target_tokens,
        "instance_id": instance.id,
        "seed": instance.seed,
        "tokenizer": instance.tokenizer,
        "context_tokens": instance.context_tokens,
        "text_bytes": len(text.encode()),
        "model_tokens": None,
        "predicted_tokens": None,
        "nll": None,
        "perplexity": None,
        "bins": [],
        "status": "ok",
        "error": None,
        "michelangelo_version": __version__,
    }
    try:
        losses = token_losses(model, text)
    except ProviderError as error:
        return {**row, "status": error.status, "error": str(error)}
    total = float(losses.sum())
    return {
        **row,
        "model_tokens": len(losses) + 1,
        "predicted_tokens": len(losses),
        "nll": total,
        "perplexity": math.exp(total / len(losses)),
        "bins": [{"start": b.start, "end": b.end, "tokens": b.tokens, "nll": b.nll} for b in binned(losses)],
    }
