"""A million result rows from a Parquet file to curves with intervals, against pandas' own read and group-by.

Both sides are processes of their own, timed from their start to their end, imports included. Pandas reads the columns
it needs only and computes mean, deviation and count; the other side also checks every row, finds repeated ones, and
gives intervals, running means, worst cases and what was not measured.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._processes import timed

ROWS, MODELS, INSTANCES = 1_000_000, 8, 125_000
REPEATS = 3
BAR = 6.0

OURS = """
import sys
from michelangelo import analysis, load_results
curves = analysis.curves(load_results(sys.argv[1], details=False))
assert curves["n_planned"].sum() == int(sys.argv[2]) and curves["low"].notna().all()
"""
THEIRS = """
import sys
import pandas as pd
rows = pd.read_parquet(sys.argv[1], columns=["model", "task", "target_tokens", "score"])
means = rows.groupby(["model", "task", "target_tokens"])["score"].agg(["mean", "std", "count"])
assert means["count"].sum() == int(sys.argv[2])
"""


def run() -> dict[str, Any]:
    """Median ratio of three pairs of processes; every row must have been counted on each side."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.parquet"
        rows().to_parquet(file, index=False, compression="zstd")
        theirs, ours = [], []
        for _ in range(REPEATS):
            theirs.append(timed([sys.executable, "-c", THEIRS, str(file), str(ROWS)]))
            ours.append(timed([sys.executable, "-c", OURS, str(file), str(ROWS)]))
    ratios = [a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True)]
    detail = (
        f"{ROWS:,} rows to curves with intervals, {statistics.median(u.seconds for u in ours):.1f} s, "
        f"{max(u.megabytes for u in ours):.0f} MB (bar 3 s, 1,500 MB); pandas' means alone, "
        f"{statistics.median(u.seconds for u in theirs):.1f} s, {max(u.megabytes for u in theirs):.0f} MB"
    )
    return {"name": "curves", "ratio": statistics.median(ratios), "bar": BAR, "detail": detail}


def rows() -> pd.DataFrame:
    """Result rows of eight models that were asked the same instances of three tasks at eight lengths."""
    rng = np.random.default_rng(0)
    instance = np.arange(ROWS) % INSTANCES
    model = np.arange(ROWS) // INSTANCES
    length = 1024 * 2 ** (instance % 8)
    chance = np.clip(1 - np.log2(length / 512) / 12 - model / 20, 0, 1)
    return pd.DataFrame(
        {
            "run_id": "one run",
            "model": np.array([f"provider/model-{i}" for i in range(MODELS)])[model],
            "task": np.array(["latent_list", "mrcr", "idk"])[instance % 3],
            "variant": "standard",
            "complexity": np.array([1, 5, 20])[instance // 3 % 3],
            "instance_id": [f"{i:016x}" for i in instance],
            "seed": instance,
            "repeat": 0,
            "target_tokens": length,
            "context_tokens": length - instance % 7,
            "prompt_tokens": length,
            "completion_tokens": 12,
            "response": "a reply of some forty characters or more",
            "score": (rng.random(ROWS) < chance).astype(float),
            "status": "ok",
            "finish_reason": "stop",
            "latency_s": rng.random(ROWS),
            "started_at": np.datetime_as_string(np.datetime64("2026-11-30T00:00:00") + instance.astype("m8[s]")),
        }
    )
