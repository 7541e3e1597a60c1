"""Perplexity of instances' texts under local models, one row per model and instance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from michelangelo.errors import ProviderError
from michelangelo.lsq.generation import generate_set
from michelangelo.lsq.instance import Instance
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.models.likelihood import binned, open_for_likelihood, token_losses
from michelangelo.models.local import LocalModel
from michelangelo.runs.perplexity_rows import PerplexityRow
from michelangelo.version import __version__


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
