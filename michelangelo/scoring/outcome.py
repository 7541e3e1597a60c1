"""What became of one question: its status, decided before any parsing, and a score where there is an answer.

A prompt is cut where fewer tokens are reported than were sent, as the model's own tokenizer counts them, or than any
tokenizer makes of such a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from michelangelo.errors import UserError
from michelangelo.lsq.registry import get_task
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Messages, Scorable, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer
from michelangelo.scoring.thinking import split_thinking

SEEN_SHARE = 0.9
"""A prompt counts as cut where the provider reports under this share of the tokens sent."""

UNVERIFIED = "unverified"
"""Flag of a row whose prompt length could not be checked."""

HIT_LIMIT = "hit_output_limit"
"""Flag of a row whose reply stopped at the output limit but is a whole answer."""

SCORER_ERROR = "scorer_error"
"""Flag of a row whose response the scorer could not judge for a fault of its own."""


class Returned(Protocol):
    """What a provider returned; the attributes of a completion that decide a status."""

    @property
    def text(self) -> str | None: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def flags(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        status: one of a result row's statuses.
        score: the judgement, ``None`` for every status that carries no score.
        error: sentence for a person where there is no score.
        flags: remarks, the provider's own first.
    """

    status: str
    score: Score | None
    error: str | None
    flags: tuple[str, ...]


def judge(
    task: Task[Any],
    question: Scorable,
    returned: Returned,
    *,
    sent_tokens: float | None = None,
    least_tokens: float | None = None,
) -> Outcome:
    """Decide a question's status, and score the answer if there is one.

    Args:
        task: whose scorer judges.
        question: the instance, or a row with ``answer``, ``view`` and ``params``.
        returned: what the provider returned.
        sent_tokens: prompt tokens sent as the model's own tokenizer counts them, or ``None`` where that isn't known.
        least_tokens: fewest tokens that any tokenizer makes of the prompt; a smaller report means that it was cut.

    Returns:
        ``ok`` or ``unparsed`` (score 0) with a score, any other status without; the scorer is not called for those.
        A reply that stopped at the output limit is ``ok``, flagged ``HIT_LIMIT``, where its task can tell that it is
        a whole answer, else ``output_truncated``.
        Where the scorer itself fails: ``unparsed`` without a score, flagged ``SCORER_ERROR``.
    """
    flags = tuple(returned.flags)
    failed = status_without_score(returned, sent_tokens, least_tokens)
    reply = split_thinking(returned.text or "")
    if failed == "output_truncated" and not reply.truncated and _complete(task, question, returned.text or ""):
        failed, flags = None, (*flags, HIT_LIMIT)
    if failed:
        return Outcome(failed, None, returned.error or _REASONS.get(failed), flags)
    if prompt_share(returned.prompt_tokens, sent_tokens) is None and UNVERIFIED not in flags:
        flags = (*flags, UNVERIFIED)
    try:
        score = task.score(question, reply.answer)
    except Exception as error:
        # A scorer's bug must not cost an answer that was paid for: it is kept, unmeasured, to be scored again.
        why = f"the scorer failed ({type(error).__name__}: {error}); score the stored response again"
        return Outcome("unparsed", None, why, (*flags, SCORER_ERROR))
    return Outcome("ok" if score.parsed else "unparsed", score, None, (*flags, *score.flags))


def _complete(task: Task[Any], question: Scorable, response: str) -> bool:
    try:
        return task.complete(question, response)
    except Exception:  # as with a scorer: a task's bug must not cost an answer
        return False


def score(question: Scorable | Mapping[str, Any], response: str, *, task: str | None = None) -> Score:
    """Judge a reply to an instance, or to any row that has ``answer``, ``view`` and ``params``.

    Args:
        question: an instance, or a row as an object or a dictionary.
        response: the reply as it came; reasoning in it is taken out first, as in a run.
        task: whose question it is, where the question doesn't say so.

    Raises:
        UserError: where the task is unknown, the question lacks an answer, or the reply is no text.
    """
    if not isinstance(response, str):
        raise UserError(f"the reply is {response!r}; a reply is a text")
    row = dict(question) if isinstance(question, Mapping) else None
    name = task or (row.get("task") if row is not None else getattr(question, "task", None))
    if not isinstance(name, str):
        raise UserError("the question doesn't say which task it is of; name it, as in score(row, reply, task='idk')")
    known = asked(row) if row is not None else question
    if not isinstance(getattr(known, "answer", None), str):
        raise UserError("the question has no answer to compare with; give an instance or a row with 'answer'")
    return get_task(name).score(known, split_thinking(response).answer)  # type: ignore[arg-type]


class Asked(NamedTuple):
    """A question as a result row has it."""

    answer: str
    view: str
    params: Mapping[str, Any]
    options: Mapping[str, str]


def asked(row: Mapping[str, Any]) -> Asked:
    """The question that a result row answers."""
    return Asked(row.get("answer"), row.get("view") or "", row.get("params") or {}, row.get("options") or {})  # type: ignore[arg-type]


_REASONS = {
    "blocked": "the provider's filter held the reply back",
    "refused": "the model refused",
    "prompt_truncated": "the provider reports far fewer prompt tokens than were sent: it did not see the whole prompt",
    "output_truncated": "the reply ends before a final answer",
    "incomplete_stream": "the reply stopped without a finish reason",
    "empty": "nothing returned with a normal stop",
}


def status_without_score(
    returned: Returned, sent_tokens: float | None = None, least_tokens: float | None = None
) -> str | None:
    """The status of a reply that can't be scored, or ``None`` where there is an answer to judge.

    The provider's own status comes first, then its filter and the model's refusal, then a cut prompt, then a cut reply
    (which may be a whole answer all the same; see ``judge``).
    """
    if returned.status:
        return returned.status
    if returned.finish_reason in _FINISHED_WITHOUT_ANSWER:
        return _FINISHED_WITHOUT_ANSWER[returned.finish_reason]
    if _cut(returned.prompt_tokens, sent_tokens, least_tokens):
        return "prompt_truncated"
    if returned.finish_reason is None:
        return "incomplete_stream"
    reply = split_thinking(returned.text or "")
    if returned.finish_reason == "length" or reply.truncated:
        return "output_truncated"
    return None if reply.answer else "empty"


_FINISHED_WITHOUT_ANSWER = {"filter": "blocked", "refusal": "refused"}


def _cut(reported: int | None, sent: float | None, least: float | None) -> bool:
    share = prompt_share(reported, sent)
    return (share is not None and share < SEEN_SHARE) or bool(reported and least and reported < least)


def prompt_share(reported: int | None, sent: float | None) -> float | None:
    """Share of the prompt's tokens that the provider says it saw, or ``None`` where either count is missing.

    A report of 0 is no report: servers that serve a prompt from their cache leave the count out.
    """
    return reported / sent if reported and sent else None


SHORT_CALL = (512, 1536)
"""Prompts of these lengths, tokens, teach a ratio: they fit every provider's window, the smallest default (2,048)
included, and are long enough for a chat template's own tokens not to matter."""


LEAST_SHARE = 0.6
"""Tokens that any tokenizer makes of a prompt, at least, per token of o200k_base.

Measured on every task's texts, 2K to 32K tokens, all fillers: the fewest per token of o200k_base are 0.974 (Gemma 3,
made-up words); cl100k, Llama 3, Qwen 3 and SmolLM2 make 1.0 to 1.5. Vocabularies that join words across spaces are
published to need up to a third fewer: 0.974 · 2/3 = 0.65, rounded down. A provider that reports less has not seen the
whole prompt, whatever its tokenizer.
"""


def least_tokens(messages: Messages) -> float:
    """Fewest tokens that any tokenizer makes of a prompt."""
    count = get_tokenizer(DEFAULT_TOKENIZER).count
    return LEAST_SHARE * sum(count(m["content"]) for m in messages)


class SentCounter:
    """Counts sent prompt tokens for one model.

    With the model's own tokenizer it counts them. Without, it scales the instance's count by the ratio of reported to
    counted tokens in calls too short to be cut; until there was one, the count is unknown.
    """

    def __init__(self, tokenizer: str | None = None) -> None:
        self._own: Tokenizer | None = get_tokenizer(tokenizer) if tokenizer else None
        self._ratio: float | None = None

    def sent(self, messages: Messages, counted: int, tokenizer: str) -> float | None:
        """Tokens sent, or ``None`` where that can't be said.

        Args:
            messages: what was sent.
            counted: their length in the instance's tokens.
            tokenizer: name of the instance's tokenizer.
        """
        if self._own is None:
            return None if self._ratio is None else counted * self._ratio
        if self._own.name == tokenizer:
            return counted
        return sum(self._own.count(m["content"]) for m in messages)

    def least(self, messages: Messages, counted: int, tokenizer: str) -> float:
        """Fewest tokens that any tokenizer makes of what was sent; arguments as for ``sent``."""
        return LEAST_SHARE * counted if tokenizer == DEFAULT_TOKENIZER else least_tokens(messages)

    def learn(self, counted: int, reported: int | None) -> None:
        """Take note of a call's reported prompt tokens; only short calls count; the smallest ratio seen is kept."""
        if self._own is None and reported and SHORT_CALL[0] <= counted <= SHORT_CALL[1]:
            self._ratio = min(self._ratio or reported / counted, reported / counted)
