"""The anatomy table: every task's four parts in words, what was measured of it, and what can't be measured here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from michelangelo.analysis.lsq_xray import Xray
from michelangelo.analysis.names import tasks_by_title
from michelangelo.lsq.task import Anatomy

if TYPE_CHECKING:
    import pandas as pd

FIGURES = ("relevant", "needed", "evidence", "certified", "swap", "interaction", "auc", "retrieval", "chance")
"""Measured columns, each with ``_low``, ``_high`` and ``_n``; ``retrieval`` sees about a quarter of the context."""


class Elsewhere(NamedTuple):
    """A benchmark that can't be X-rayed here.

    Attributes:
        title: its name.
        anatomy: its parts in words, as far as it has them.
        reason: why not.
    """

    title: str
    anatomy: Anatomy
    reason: str


ELSEWHERE = (
    Elsewhere(
        "Long Range Arena",
        Anatomy(
            "differs: a nested expression, a text's class, a path in an image",
            "operators and operands; words; pixels",
            "none planned",
            "a class label",
        ),
        "A model is trained on each task before it is tested, so a score says what an architecture can learn, not what "
        "a pretrained model does with a context. There is no prompt to take apart. (Tay et al. 2020)",
    ),
    Elsewhere(
        "LOFT",
        Anatomy(
            "a document collection or, in SPIDER, tables of a database",
            "documents or rows that hold the answer",
            "the rest of the same collection",
            "a question, in SPIDER one a SQL query would answer",
        ),
        "The texts are a fixed corpus: no fresh instances, no segment with a proven role, and models may have seen it. "
        "(Lee et al. 2024)",
    ),
    Elsewhere(
        "Perplexity against length",
        Anatomy("none", "none", "none: every token counts alike", "the next token, at every place"),
        "There is no question and no single answer, so nothing to leave out. It falls with length while errors on "
        "tasks like these rise. It needs a model's log-probabilities.",
    ),
)
"""Rows without figures, with the reason."""


def anatomy(measured: Mapping[str, Xray] | None = None, reasons: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The anatomy of every registered task, and of what can't be measured here.

    Args:
        measured: X-rays by task; a task without one has no figures.
        reasons: why a task has none, by task.

    Returns:
        One row each: ``task`` (missing for benchmarks from elsewhere), ``title``, ``structure``, ``updates``,
        ``filler``, ``view``, the columns of ``FIGURES`` (NaN where not measured), ``retrieval_k``, ``tokens``,
        ``instances`` and ``reason``.
    """
    import pandas as pd

    known, why = measured or {}, reasons or {}
    rows = []
    for title, task in tasks_by_title().items():
        figures = _figures(known[task.name]) if task.name in known else {}
        reason = why.get(task.name, "")
        rows.append({"task": task.name, "title": title, **_words(task.anatomy), **figures, "reason": reason})
    rows += [{"task": None, "title": e.title, **_words(e.anatomy), "reason": e.reason} for e in ELSEWHERE]
    numbers = [f"{name}{end}" for name in FIGURES for end in ("", "_low", "_high", "_n")]
    numbers += ["retrieval_k", "tokens", "instances"]
    columns = ["task", "title", "structure", "updates", "filler", "view", *numbers, "reason"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))


def _words(parts: Anatomy) -> dict[str, str]:
    return {"structure": parts.structure, "updates": parts.updates, "filler": parts.filler, "view": parts.view}


def _figures(found: Xray) -> dict[str, float | None]:
    quarter = found.quarter
    values: dict[str, float | None] = {"tokens": found.tokens, "instances": found.instances, "retrieval_k": quarter.k}
    for name in FIGURES:
        one = quarter.score if name == "retrieval" else getattr(found, name)
        values |= {name: one.mean, f"{name}_low": one.low, f"{name}_high": one.high, f"{name}_n": one.n}
    return values
