"""Building one Latent List instance of 1M tokens against encoding its text once with tiktoken."""

from __future__ import annotations

import statistics
import time
from typing import Any

import michelangelo as mi
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER

TOKENS = 1_048_576
REPEATS = 3
BAR = 1.5


def run() -> dict[str, Any]:
    """Median ratio of three seeds; certificate, segments, recount and prompt are part of the work."""
    encoding = offline_tiktoken(DEFAULT_TOKENIZER)
    mi.generate("latent_list", tokens=4096, seed=0)
    encoding.encode("warm", disallowed_special=())
    ratios, built, encoded = [], [], []
    for seed in range(REPEATS):
        start = time.perf_counter()
        instance = mi.generate("latent_list", tokens=TOKENS, seed=seed)
        parts = (instance.certificate, instance.segments, instance.context_tokens, instance.prompt)
        built.append(time.perf_counter() - start)
        start = time.perf_counter()
        count = len(encoding.encode(parts[-1], disallowed_special=()))
        encoded.append(time.perf_counter() - start)
        if count != instance.context_tokens:
            raise RuntimeError(f"tiktoken counts {count:,} tokens, the instance says {instance.context_tokens:,}")
        ratios.append(built[-1] / encoded[-1])
    detail = (
        f"latent_list at {TOKENS:,} tokens with certificate and segments, median {statistics.median(built):.2f} s; "
        f"one tiktoken pass over the same text, {statistics.median(encoded):.2f} s"
    )
    return {"name": "generate", "ratio": statistics.median(ratios), "bar": BAR, "detail": detail}


def offline_tiktoken(name: str) -> Any:
    """An encoding of tiktoken made of the vocabulary that quicktok carries, so that nothing is downloaded."""
    import quicktok
    import tiktoken
    from tiktoken_ext import openai_public

    source = quicktok.get_encoding(name)
    ranks = {source.decode_single_token_bytes(i): i for i in range(len(source.token_byte_values()))}
    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_args, **_kwargs: ranks
    try:
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())
    finally:
        openai_public.load_tiktoken_bpe = original
