"""One llama.cpp context: tokens, prompt evaluation that reuses a shared beginning, and generation that can be stopped.

Nothing is ever shifted or cut: whoever calls makes sure that prompt and output fit the window.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.task import Messages

BATCH = 256
"""Prompt tokens evaluated at once. Only whole batches are reused, so that a reply never depends on what was asked
before: the same tokens in another batch round differently."""

_loading = threading.Lock()  # while a model loads, llama-cpp-python redirects the process's standard streams
_quiet: list[Any] = []


class StoppedError(Exception):
    """The caller's ``stopped`` turned true."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    Attributes:
        temperature: 0 takes the likeliest token always.
        top_p: share of probability that is drawn from, 0 to 1.
        seed: of the draws.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model wrote.

    Attributes:
        text: without the stop text.
        finish_reason: ``stop`` where the model or a stop text ended it, ``length`` where the limit did.
        tokens: tokens written, those of a stop text counted in.
        evaluated: prompt tokens that had to be evaluated; the rest was reused.
        prompt_s: seconds for them.
        output_s: seconds for the tokens after the first.
    """

    text: str
    finish_reason: str
    tokens: int
    evaluated: int
    prompt_s: float
    output_s: float


class Engine:
    """A loaded model with a context of fixed size. Not for several threads at once.

    Attributes:
        window: tokens that fit, prompt and output together.
        trained: the window the model was trained for, tokens.
        llama: the ``llama_cpp.Llama``.
    """

    def __init__(self, path: Path, window: int, threads: int) -> None:
        """Load.

        Args:
            path: GGUF file.
            window: tokens that must fit.
            threads: threads that compute.

        Raises:
            UserError: where llama.cpp is missing or can't load the file.
        """
        llama_cpp = load_llama_cpp()
        with _loading:
            try:
                self.llama = llama_cpp.Llama(
                    str(path), n_ctx=window, n_batch=BATCH, n_ubatch=BATCH, n_threads=threads, n_threads_batch=threads,
                    verbose=False,
                )  # fmt: skip
            except (ValueError, RuntimeError) as error:
                raise UserError(f"llama.cpp can't load {str(path)!r}: {error}") from None
        self._api = llama_cpp
        self._vocab = llama_cpp.llama_model_get_vocab(self.llama.model)
        self.window: int = self.llama.n_ctx()
        self.trained: int = llama_cpp.llama_model_n_ctx_train(self.llama.model)
        recurrent, hybrid = llama_cpp.llama_model_is_recurrent, llama_cpp.llama_model_is_hybrid
        self._reusable = not (recurrent(self.llama.model) or hybrid(self.llama.model))
        self._prompt: list[int] = []
        self._stopped: Callable[[], bool] = lambda: False
        self._abort = llama_cpp.ggml_abort_callback(lambda _: self._stopped())  # kept alive: C holds only its address
        llama_cpp.llama_set_abort_callback(self.llama.ctx, self._abort, None)

    def close(self) -> None:
        """Free its memory."""
        self.llama.close()

    def encode(self, text: str, *, special: bool = False, begin: bool = True) -> list[int]:
        """Tokens of a text.

        Args:
            text: the text.
            special: whether what looks like a control token is one; else it is ordinary text.
            begin: whether the model's begin-of-sequence token, if it wants one, comes first.
        """
        tokens: list[int] = self.llama.tokenize(text.encode(), add_bos=begin, special=special)
        return tokens

    def encode_chat(self, messages: Messages) -> list[int]:
        """Tokens of a conversation in the model's own chat template, the assistant's turn opened.

        Control tokens come from the template alone: in a message they are ordinary text.

        Raises:
            UserError: where the model has no chat template, or it refuses the conversation.
        """
        template = self.llama.metadata.get("tokenizer.chat_template")
        if template is None:
            raise UserError("this model has no chat template; give it ?mode=completion")
        contents = [m["content"] for m in messages]
        plain = all(self.encode(c, special=True) == self.encode(c) for c in contents)
        marks = contents if plain else [f"\x02{i}\x03" for i in range(len(contents))]
        turns = [{"role": m["role"], "content": mark} for m, mark in zip(messages, marks, strict=True)]
        text = self._rendered(template, turns)
        begin = not text.startswith(self._text_of(self.llama.token_bos()))
        if plain:
            return self.encode(text, special=True, begin=begin)
        tokens: list[int] = []
        for mark, content in zip(marks, contents, strict=True):
            before, found, text = text.partition(mark)
            if not found:
                raise UserError("this model's chat template leaves out a message; give it ?mode=completion")
            tokens += self.encode(before, special=True, begin=begin and not tokens)
            tokens += self.encode(content, begin=False)
        return tokens + self.encode(text, special=True, begin=False)

    def _rendered(self, template: str, turns: list[dict[str, str]]) -> str:
        formatter = importlib.import_module("llama_cpp.llama_chat_format").Jinja2ChatFormatter
        begin, end = self._text_of(self.llama.token_bos()), self._text_of(self.llama.token_eos())
        try:
            text: str = formatter(template, end, begin)(messages=turns).prompt
        except Exception as error:  # a template is a program of its own
            raise UserError(f"this model's chat template refuses the conversation: {error}") from None
        return text

    def _text_of(self, token: int) -> str:
        text: str = self.llama.detokenize([token], special=True).decode("utf-8", "replace") if token >= 0 else ""
        return text or "\x00"

    def generate(
        self,
        prompt: Sequence[int],
        limit: int,
        *,
        stops: Sequence[str] = (),
        sampling: Sampling | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Generated:
        """Write on from a prompt.

        Args:
            prompt: its tokens, at least one; with ``limit`` they fit the window.
            limit: most tokens to write, at least 1.
            stops: texts that end the reply once something other than white space stands before them.
            sampling: how tokens are drawn; the likeliest where left out.
            stopped: asked many times a second, also while the prompt is evaluated; true ends the work.

        Raises:
            StoppedError: where ``stopped`` turned true.
            RuntimeError: where llama.cpp failed.
        """
        self._stopped = stopped
        try:
            begun = time.perf_counter()
            reused = self._evaluate(list(prompt))
            read = time.perf_counter()
            text, reason, tokens = self._write(prompt, limit, stops, sampling or Sampling())
            written = time.perf_counter()
        except RuntimeError:
            if stopped():
                raise StoppedError from None
            raise
        finally:
            self._stopped = lambda: False
        return Generated(text, reason, tokens, len(prompt) - reused, read - begun, written - read)

    def forget(self) -> None:
        """Reuse nothing of what was evaluated; for whoever decodes on this context by other means."""
        self._prompt = []
        self.llama.reset()

    def _evaluate(self, prompt: list[int]) -> int:
        """Evaluate a prompt; returns how many of its tokens were there from the prompt before."""
        shared = 0
        if self._reusable:
            most = min(len(prompt) - 1, len(self._prompt))
            shared = next((i for i in range(most) if prompt[i] != self._prompt[i]), max(most, 0))
        kept = shared // BATCH * BATCH
        self._prompt = prompt[:kept]
        if kept:
            self.llama.n_tokens = kept  # the next evaluation drops what lies behind
        else:
            self.llama.reset()
        for start in range(kept, len(prompt), BATCH):
            self.llama.eval(prompt[start : start + BATCH])
            self._prompt = prompt[: start + BATCH]
        return kept

    def _write(self, prompt: Sequence[int], limit: int, stops: Sequence[str], how: Sampling) -> tuple[str, str, int]:
        self.llama.set_seed(how.seed % 2**32)
        data, text, tokens = b"", "", 0
        drawn = self.llama.generate(prompt, temp=how.temperature, top_p=how.top_p, top_k=0, min_p=0.0)
        for token in drawn:
            if self._api.llama_vocab_is_eog(self._vocab, token):
                return text, "stop", tokens
            tokens += 1
            data += self.llama.detokenize([token])
            text = data.decode("utf-8", "replace")
            end = _first_stop(text, stops)
            if end is not None:
                return text[:end], "stop", tokens
            if tokens >= limit:
                break
        return text, "length", tokens


def load_llama_cpp() -> Any:
    """The module ``llama_cpp``, silenced.

    Raises:
        UserError: where it isn't installed.
    """
    try:
        llama_cpp = importlib.import_module("llama_cpp")
    except ImportError:
        raise UserError("local models need llama-cpp-python: pip install -e '.[local]'") from None
    if not _quiet:
        _quiet.append(llama_cpp.llama_log_callback(lambda level, text, data: None))
        llama_cpp.llama_log_set(_quiet[0], ctypes.c_void_p(0))
    return llama_cpp


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first_stop(text: str, stops: Sequence[str]) -> int | None:
    start = len(text) - len(text.lstrip())
    ends = [at for at in (text.find(stop, start) for stop in stops) if at >= 0]
    return min(ends, default=None)
