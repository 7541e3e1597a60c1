"""MRCR replies of any origin under every grader the field uses, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from michelangelo.tasks.mrcr.scorer import score_reply

if TYPE_CHECKING:
    import pandas as pd

KEY_LENGTHS = {"mrcr_v2": 12}
"""Characters of the key an answer begins with, by task; openai/mrcr and its relatives have ``USUAL_KEY``."""

USUAL_KEY = 10


def grader_scores(key: str, answer: str, response: str) -> tuple[dict[str, float], tuple[str, ...]]:
    """Every grader's score of a reply by name, 0 to 1, as in ``tasks.mrcr.scorer``, and the scorer's flags.

    Args:
        key: the string asked for.
        answer: key and piece.
        response: the reply as it came.
    """
    judged = score_reply(key, answer, response)
    return dict(judged.variants), judged.flags


def key_of(task: str, answer: str, params: Mapping[str, Any] | None) -> str:
    """The key of an answer: ``params["key"]`` where it is noted, else the answer's first characters."""
    noted = (params or {}).get("key")
    if isinstance(noted, str) and noted and answer.startswith(noted):
        return noted
    length = (params or {}).get("key_length")
    return answer[: length if isinstance(length, int) else KEY_LENGTHS.get(task, USUAL_KEY)]


def rescore_mrcr(frame: pd.DataFrame) -> pd.DataFrame:
    """Add every grader's score to the MRCR rows that have a reply and an answer.

    Args:
        frame: tidy rows of any origin, with ``task``, ``response``, ``answer``, ``params``, ``scores``.

    Returns:
        The same rows; where the task's name says MRCR, the row carries a score and reply and answer are there,
        ``scores`` also holds every grader of ``tasks.mrcr.scorer.GRADERS`` with and without autojunk. The headline
        ``score`` is left as it is.
    """
    wanted = frame["task"].str.contains("mrcr", case=False, na=False) & frame["score"].notna()
    wanted &= frame["response"].notna() & frame["answer"].notna()
    scores = frame["scores"].tolist()
    params = frame["params"].tolist()
    for i, (ours, task, answer, reply) in enumerate(
        zip(wanted, frame["task"], frame["answer"], frame["response"], strict=True)
    ):
        if ours:
            known = params[i] if isinstance(params[i], dict) else None
            found, _ = grader_scores(key_of(task, answer, known), answer, reply)
            scores[i] = {**(scores[i] if isinstance(scores[i], dict) else {}), **found}
    again = frame.copy()
    again["scores"] = type(frame["scores"])(scores, index=frame.index, dtype=object)
    return again
