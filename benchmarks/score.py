"""Scoring 1,000 talkative Latent List replies against parsing the bare answers with Python's own literal parser."""

from __future__ import annotations

import ast
import statistics
import time
from typing import Any

import michelangelo as mi

REPLIES = 1000
REPEATS = 3
BAR = 20.0
"""Extraction, raw and post-processed score and their trace may cost this many literal parses each."""


def run() -> dict[str, Any]:
    """Median ratio of three passes; every reply holds the right answer, so each must score 1 after post-processing."""
    instances = [mi.generate("latent_list", tokens=512, seed=seed, complexity=5) for seed in range(40)]
    questions = [instances[i % len(instances)] for i in range(REPLIES)]
    replies = [_reply(i, question.answer) for i, question in enumerate(questions)]
    ratios, ours, theirs = [], [], []
    for _ in range(REPEATS):
        start = time.perf_counter()
        values = [mi.score(q, reply).value for q, reply in zip(questions, replies, strict=True)]
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for question in questions:
            ast.literal_eval(question.answer)
        theirs.append(time.perf_counter() - start)
        if min(values) < 1:
            raise RuntimeError(f"{sum(v < 1 for v in values)} of {REPLIES:,} right replies scored below 1")
        ratios.append(ours[-1] / theirs[-1])
    detail = (
        f"{REPLIES:,} talkative latent_list replies, median {statistics.median(ours) * 1000:.0f} ms; "
        f"ast.literal_eval of the {REPLIES:,} bare answers, {statistics.median(theirs) * 1000:.0f} ms"
    )
    return {"name": "score", "ratio": statistics.median(ratios), "bar": BAR, "detail": detail}


def _reply(number: int, answer: str) -> str:
    forms = (
        "{}",
        "Output: {}",
        "```\n{}\n```",
        "So the answer is **{}**.",
        "I follow the program line by line.\n\nThe final output is:\n```python\n{}\n```",
    )
    return forms[number % len(forms)].format(answer)
