"""Building one MRCR conversation of 1M tokens against encoding its text once with tiktoken."""

from __future__ import annotations

import importlib.util
import statistics
import time
from pathlib import Path
from typing import Any

import michelangelo as mi
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER

TOKENS = 1_048_576
REPEATS = 3
BAR = 1.5


def run() -> dict[str, Any]:
    """Median ratio of three seeds; certificate, segments, recount and prompt are part of the work."""
    spec = importlib.util.spec_from_file_location("benchmark_generate", Path(__file__).with_name("generate.py"))
    assert spec is not None
    assert spec.loader is not None
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    encoding = shared.offline_tiktoken(DEFAULT_TOKENIZER)
    mi.generate("mrcr", tokens=4096, seed=0)
    encoding.encode("warm", disallowed_special=())
    ratios, built, encoded = [], [], []
    for seed in range(REPEATS):
        start = time.perf_counter()
        instance = mi.generate("mrcr", tokens=TOKENS, seed=seed)
        prompt = (instance.certificate, instance.segments, instance.context_tokens, instance.prompt)[-1]
        built.append(time.perf_counter() - start)
        start = time.perf_counter()
        encoding.encode(prompt, disallowed_special=())
        encoded.append(time.perf_counter() - start)
        ratios.append(built[-1] / encoded[-1])
    detail = (
        f"mrcr at {TOKENS:,} tokens with certificate and segments, median {statistics.median(built):.2f} s; "
        f"one tiktoken pass over the same text, {statistics.median(encoded):.2f} s"
    )
    return {"name": "generate_mrcr", "ratio": statistics.median(ratios), "bar": BAR, "detail": detail}
