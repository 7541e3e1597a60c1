"""How replies are read: the forms that models answer in, and what strict, careful and lenient reading make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from michelangelo.errors import UserError
from michelangelo.lsq.registry import tasks
from michelangelo.lsq.score import Score
from michelangelo.results.table.schema import MEASURED
from michelangelo.scoring.outcome import score

READINGS = ("strict", "careful", "lenient")
"""The reply as it is; what a careful person reads; the last value that the reply names in whatever way."""

FORMS = ("bare", "declared", "listed", "alone", "concluded", "said", "piece", "ambiguous", "unparsed")
"""Forms of a reply: ``bare`` is nothing but its answer, ``piece`` a text that isn't read for values, as MRCR's."""

_EXCERPT = 400


def reply_forms(frame: pd.DataFrame) -> pd.DataFrame:
    """The forms of each model's replies per task, and its mean by every reading.

    Args:
        frame: result rows with replies and answers, of tasks that are known here; others are left out.

    Returns:
        One row per task and model: ``n`` replies read; ``forms``, their number by form; the shares ``ambiguous``,
        ``unparsed`` and ``corrected`` (something was taken back); the means ``strict``, ``careful`` and ``lenient``, 0
        to 1; and ``rank_…`` of each among the task's models, 1 the best, equal ones sharing the mean of their ranks.

    Raises:
        UserError: where no row can be read.
    """
    lines: dict[tuple[str, str], list[Score]] = {}
    for row in frame.to_dict("records"):
        judged = read_row(row)
        if judged is not None:
            lines.setdefault((str(row["task"]), str(row["model"])), []).append(judged)
    if not lines:
        raise UserError("no row has a reply and an answer of a task that is known here")
    found = pd.DataFrame([{"task": t, "model": m, **_figures(scores)} for (t, m), scores in sorted(lines.items())])
    for reading in READINGS:
        found[f"rank_{reading}"] = found.groupby("task")[reading].rank(ascending=False)
    return found


def read_row(row: Mapping[Any, Any]) -> Score | None:
    """A measured row's reply as it is read now, ``None`` where there is nothing to read."""
    known = (
        row.get("status") in MEASURED and isinstance(row.get("response"), str) and isinstance(row.get("answer"), str)
    )
    if not known or row.get("task") not in tasks():
        return None
    question = {name: value for name, value in row.items() if isinstance(value, str | dict)}
    try:
        return score(question, row["response"])
    except (UserError, KeyError):  # another tool's row lacks what this task's scorer needs to know
        return None


def form_of(judged: Score) -> str:
    """The form of a reply; one of ``FORMS``."""
    if not judged.parsed or judged.ambiguous:
        return "ambiguous" if judged.ambiguous else "unparsed"
    if not judged.postprocessed:
        return "bare"
    manners = [span.manner for span in judged.spans if span.stance == "asserted"]
    return next((form for form in FORMS if form in manners), "piece")


def explained(judged: Score) -> Iterator[str]:
    """What was read in a reply, in lines: the decision, and the reply with each value marked by how it is meant."""
    yield judged.reason
    text = dict(judged.trace).get("reply", "")
    if not judged.spans:
        yield text[:_EXCERPT]
        return
    at = max(0, judged.spans[0].start - _EXCERPT)
    pieces = ["…" if at else ""]
    for span in judged.spans:
        gap = text[at : span.start]
        pieces.append(gap if len(gap) <= 2 * _EXCERPT else f"{gap[:_EXCERPT]}…{gap[-_EXCERPT:]}")
        pieces.append(f"⟦{text[span.start : span.end]}⟧({span.manner}, {span.stance})")
        at = span.end
    yield "".join([*pieces, text[at : at + _EXCERPT]])


def _figures(scores: list[Score]) -> dict[str, Any]:
    forms, n = Counter(map(form_of, scores)), len(scores)
    corrected = sum(any(span.stance == "withdrawn" for span in s.spans) for s in scores)
    return {
        "n": n,
        "forms": {form: forms[form] for form in FORMS if forms[form]},
        "ambiguous": forms["ambiguous"] / n,
        "unparsed": forms["unparsed"] / n,
        "corrected": corrected / n,
        "strict": sum(s.raw for s in scores) / n,
        "careful": sum(s.value for s in scores) / n,
        "lenient": sum(s.variants.get("lenient", s.value) for s in scores) / n,
    }
