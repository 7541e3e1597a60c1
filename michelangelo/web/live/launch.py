"""What the Live evaluation page asks for: plans from controls, and runs that are started, continued and extended."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import streamlit as st

from michelangelo.lsq.lengths import parse_length
from michelangelo.lsq.parameters import Value
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER
from michelangelo.runs import Plan, RunFolder, create, progress, reopen_failed, runs_root, start
from michelangelo.runs.limits import parties
from michelangelo.web.live import keys as live_keys

CACHE, LEND = "e_cache", "e_lend_"
"""Keys of the controls that say whether replies are kept, and, with a run's id behind it, whether a typed key may be
used for a run that another session started."""

UNLIMITED = ("reader", "local")
"""Providers that requests and tokens per minute mean nothing to: they run here."""

PATIENCE_S = 4.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What the controls say, as they were left.

    Attributes:
        models: names as written.
        tasks: registered names.
        lengths: as written, e.g. ``"8K"``.
        params: parameters by task, defaults left out.
        count: samples per task and length.
        seed: the first seed.
        repeats: how often each question is asked.
        concurrency: most requests in flight.
        tokenizer: whose tokens lengths are counted in.
        max_output_tokens: output limit, ``None`` for automatic.
        budget_usd: dollars that may be spent.
        timeout_s: seconds per attempt, ``None`` for automatic.
        per_minute: limits of every provider behind a network: ``requests_per_minute``, ``tokens_per_minute``.
    """

    models: Sequence[str]
    tasks: Sequence[str]
    lengths: Sequence[str]
    params: Mapping[str, Mapping[str, Value]]
    count: int
    seed: int
    repeats: int = 1
    concurrency: int = 2
    tokenizer: str = DEFAULT_TOKENIZER
    max_output_tokens: int | None = None
    budget_usd: float | None = None
    timeout_s: float | None = None
    per_minute: Mapping[str, float] = field(default_factory=dict)

    def plan(self) -> Plan:
        """The plan, checked.

        Raises:
            UserError: where something is missing or doesn't exist or doesn't fit.
        """
        providers = dict.fromkeys(parties(model)[0] for model in self.models)
        limited = {name: dict(self.per_minute) for name in providers if name not in UNLIMITED and self.per_minute}
        return Plan(
            models=tuple(self.models),
            tasks=tuple(self.tasks),
            lengths=tuple(parse_length(text.replace(",", "")) for text in self.lengths),
            count=self.count,
            seed=self.seed,
            repeats=self.repeats,
            params={task: dict(values) for task, values in self.params.items() if values},
            tokenizer=self.tokenizer,
            concurrency=self.concurrency,
            max_output_tokens=self.max_output_tokens,
            budget_usd=self.budget_usd,
            timeout_s=self.timeout_s,
            limits=limited,
        ).checked()


def launch(plan: Plan, latest: tuple[str, str] | None) -> str:
    """Start a run in a process of its own.

    Args:
        plan: what to ask.
        latest: plan text and folder of the run this session started last: a double click starts nothing twice.

    Returns:
        The run's folder.

    Raises:
        UserError: where the plan can't be carried out.
    """
    if latest and latest[0] == plan.to_toml() and progress(latest[1]).active:
        return latest[1]
    folder = create(plan)
    live_keys.remember_run(run_id_of(folder.path))
    _start(folder.path)
    return str(folder.path)


def resume(folder: Path) -> None:
    """Start the worker again; one that ended a moment ago still counts as live, so wait for a moment.

    Raises:
        UserError: where it can't be started.
    """
    until = time.monotonic() + PATIENCE_S
    while RunFolder(folder).live and time.monotonic() < until:
        time.sleep(0.1)
    _start(folder)


def retry(folder: Path) -> None:
    """Ask what failed once more.

    Raises:
        MichelangeloError: where the folder is in use or a row can't be read.
    """
    reopen_failed(folder)
    resume(folder)


def extend(folder: Path, plan: Plan) -> None:
    """Ask more in a run: a larger plan, of which only what is new is asked.

    Raises:
        UserError: where the plan doesn't continue the run's own, or a worker is at it.
    """
    create(plan, folder)
    resume(folder)


def _start(folder: Path) -> None:
    """Start the worker with this session's keys where the run is its own, or where it lends them."""
    run_id = run_id_of(folder)
    typed = live_keys.is_own(run_id) or bool(st.session_state.get(f"{LEND}{run_id}"))
    keys = live_keys.keys_for(RunFolder(folder).plan().models, typed=typed)
    start(folder, keys, cache=cache_folder() if st.session_state.get(CACHE) else None)


def cache_folder() -> Path:
    """Where replies are kept between runs, beside the runs."""
    return runs_root() / "replies"


def run_id_of(folder: str | Path) -> str:
    """A run's id."""
    return str(RunFolder(folder).info()["run_id"])


def without_lengths(plan: Plan, dropped: Mapping[str, Sequence[int]]) -> Plan:
    """A plan without the lengths that no model of it can take; the plan itself where nothing would be left.

    Args:
        plan: what is asked.
        dropped: lengths that a model can't take, by model.
    """
    lost = set.intersection(*(set(dropped.get(model, ())) for model in plan.models))
    kept = tuple(tokens for tokens in plan.lengths if tokens not in lost)
    return replace(plan, lengths=kept) if kept else plan
