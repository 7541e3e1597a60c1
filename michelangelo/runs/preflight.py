"""What is known of each model before its first question, and, on request, what two short calls tell.

Without a call: whether the plan's lengths fit its window, whether its price is known and its key found. With calls:
whether the key and the model work, how many prompt tokens it reports, and whether it still sees the start of the
longest prompt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from michelangelo.errors import ProviderError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.tokenizers import Tokenizer, get_tokenizer
from michelangelo.models.keys import key_source, redact
from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.registry import open_model
from michelangelo.runs.attempts import Prepared
from michelangelo.runs.estimate import estimate
from michelangelo.runs.plan import Plan
from michelangelo.runs.policy import timeout_s
from michelangelo.scoring.outcome import SEEN_SHARE, prompt_share, status_without_score

CODE = "tanager 4817"
"""What the probe of the window puts at the start of the longest prompt and asks for at its end."""

PROBE_OUTPUT = 32
"""Output limit of a probe, tokens; a model that thinks gets what it needs."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What one short call told.

    Attributes:
        name: ``call`` (a short prompt) or ``window`` (the longest prompt).
        ok: whether all is well.
        says: what is or isn't, one sentence.
        sent_tokens: prompt tokens sent, by the plan's tokenizer.
        prompt_tokens: as the model reported them.
        latency_s: seconds until the reply.
        cost_usd: dollars, or ``None`` where unknown.
    """

    name: str
    ok: bool
    says: str
    sent_tokens: int
    prompt_tokens: int | None = None
    latency_s: float | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Preflight:
    """What is known of one model before its first question.

    Attributes:
        model: full name.
        window: longest prompt, tokens, or ``None`` where unknown.
        too_long: the plan's lengths that don't fit with their output limit; they are not asked.
        priced: whether its price is known.
        keys: environment variables its key may stand in; none where it needs no key.
        key_from: the one a key was found in, or ``None``.
        probes: what calls told, where they were asked for.
        key_optional: whether it may well need none, such as a server of one's own.
        price: dollars per million tokens in words, or ``free``; ``None`` where that is unknown.
    """

    model: str
    window: int | None
    too_long: tuple[int, ...]
    priced: bool
    keys: tuple[str, ...]
    key_from: str | None
    probes: tuple[Probe, ...] = ()
    key_optional: bool = False
    price: str | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong or unknown, one sentence each."""
        found = []
        if self.keys and not (self.key_from or self.key_optional):
            found.append(f"no key found; set {' or '.join(self.keys)}")
        if self.too_long:
            lengths = ", ".join(format_length(n) for n in self.too_long)
            found.append(f"{lengths} with the output limit exceed its window of {self.window:,} tokens: not asked")
        if not self.priced:
            found.append("its price is unknown")
        return (*found, *(probe.says for probe in self.probes if not probe.ok))


def preflight(plan: Plan, *, probe: bool = False) -> tuple[Preflight, ...]:
    """What is known of a plan's models.

    Args:
        plan: what would be asked.
        probe: whether to make the two calls per model, which cost what a short and one longest prompt cost.

    Raises:
        UserError: where the plan can't be carried out.
    """
    plan = plan.checked()
    dropped = estimate(plan).dropped
    models = [open_model(name) for name in plan.models]
    probes = _in_own_loop(lambda: _probe_all(plan, models, dropped)) if probe else [()] * len(models)
    return tuple(
        Preflight(
            model=model.name,
            window=model.context_window,
            too_long=dropped.get(model.name, ()),
            priced=model.price_usd(1000, 100) is not None,
            keys=model.keys,
            key_from=key_source(*model.keys),
            probes=tuple(told),
            key_optional=model.key_optional,
            price=model.price,
        )
        for model, told in zip(models, probes, strict=True)
    )


def _in_own_loop(main: Callable[[], Any]) -> Any:
    from michelangelo.runs.worker import in_fresh_loop

    return in_fresh_loop(main)


async def _probe_all(plan: Plan, models: list[Model], dropped: dict[str, tuple[int, ...]]) -> list[tuple[Probe, ...]]:
    counter = get_tokenizer(plan.tokenizer)
    longest = [max((n for n in plan.lengths if n not in dropped.get(m.name, ())), default=0) for m in models]
    asked = [_probe(model, n, counter) for model, n in zip(models, longest, strict=True)]
    return list(await asyncio.gather(*asked))


async def _probe(model: Model, longest: int, counter: Tokenizer) -> tuple[Probe, ...]:
    if model.is_reader:
        return ()  # readers see whole tasks only, and as much of them as their settings say
    limit = max(PROBE_OUTPUT, model.min_output_tokens)
    async with Prepared(model, longest, limit) as trouble:
        if trouble:
            return (Probe("call", False, trouble, 0),)
        short = await _call(model, "call", "Reply with the one word: ready", limit, counter)
        if not short.ok or not longest:
            return (short,)
        text = probe_text(longest, counter)
        return short, await _call(model, "window", text, limit, counter, wanted=CODE)


def probe_text(tokens: int, counter: Tokenizer) -> str:
    """A prompt of at most so many tokens with the code at its start and the question at its end."""
    start, end = f"The access code is {CODE}.\n", "\nWhat is the access code? Reply with the code alone."
    line = "The harbour was calm and nothing of note was written down that day.\n"
    lines = max(0, tokens - counter.count(start + end)) // counter.count(line)
    while lines and counter.count(text := start + line * lines + end) > tokens:
        lines -= max(1, lines // 50)
    return text if lines else start + end


async def _call(model: Model, name: str, text: str, limit: int, counter: Tokenizer, wanted: str | None = None) -> Probe:
    sent, begun = counter.count(text), time.perf_counter()
    request = Request(({"role": "user", "content": text},), limit, timeout_s=timeout_s(sent, limit))
    try:
        async with asyncio.timeout(request.timeout_s):
            reply = await model.complete(request)
    except TimeoutError:
        return Probe(name, False, f"no reply within {request.timeout_s:.0f} s", sent)
    except (ProviderError, OSError) as error:
        return Probe(name, False, redact(str(error)), sent)
    taken = time.perf_counter() - begun
    ok, says = _judge(reply, sent, wanted)
    return Probe(name, ok, says, sent, reply.prompt_tokens, round(taken, 3), reply.cost_usd)


def _judge(reply: Completion, sent: int, wanted: str | None) -> tuple[bool, str]:
    status = status_without_score(reply)
    if status not in (None, "output_truncated"):
        return False, reply.error or f"the reply was {status}"
    if wanted is None:
        return True, "it replied"
    if wanted.split()[-1] in (reply.text or ""):
        return True, "it saw the start of the longest prompt"
    share = prompt_share(reply.prompt_tokens, sent)
    if share is not None and share < SEEN_SHARE:
        return False, f"it reports {reply.prompt_tokens:,} of about {sent:,} prompt tokens: the prompt was cut"
    return False, "it did not repeat what stands at the start of the longest prompt: the prompt may have been cut"
