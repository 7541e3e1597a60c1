"""Judge MRCR replies under every grader in use; the field mixes them up, so all are computed side by side.

Graders, with the argument order their sources have (it matters to ``SequenceMatcher``):

- ``careful``: the headline. What a reader takes for the answer: the text from a key on to the next key or the reply's
  end, both sides stripped, compared as (target, reply). Text before the key isn't judged, a key inside a sentence
  ("The key is …") is only mentioned, and of several answers the last one counts that is no mere remark.
- ``paper``: what follows the first key, compared as (target, reply); arXiv 2409.12640 section 2.2.
- ``strict``: the reply must begin with the key; compared as (reply, target), as openai/mrcr does.
- ``evalscope``: leading line breaks and spaces dropped, then strict.
- ``lenient``: after the last key anywhere, both sides stripped, compared as (target, reply), as mrcr_v2 does.

Each with ``autojunk`` on, Python's default and what everybody publishes, and off (``…_no_autojunk``).

``diagnose`` says which piece a reply really is, so that "right text, wrong ordinal" is told apart from mangled and
invented text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.score import Score
from michelangelo.scoring.edit_ratio import edit_ratio
from michelangelo.scoring.reading import own_part
from michelangelo.scoring.thinking import split_thinking
from michelangelo.tasks.mrcr.solver import ConversationSolver, parse_question, parse_unit

DISAGREEMENT = 0.05
"""Variants that differ by more are flagged."""

KEY_LENGTHS = {"mrcr_v2": 12}
"""Characters of the key an answer begins with, by other tools' task; of others ``USUAL_KEY``."""

USUAL_KEY = 10

_LONGEST_FACTOR = 8
_LONGEST_EXTRA = 4096

_WORD = re.compile(r"\w")
_WORD_BEFORE = re.compile(r"[^\W_][ \"'`*]{1,6}\Z")
_SPEAKS_ON = re.compile(r"[\"'`*]{0,4}(?:[.,!?;:]|\s*\Z|\s+[a-z])")

Pair = tuple[str, str]
"""First and second text for the edit ratio."""


def careful(key: str, target: str, reply: str) -> Pair | None:
    """What a reader takes for the answer; see the module."""
    reply = own_part(reply)
    found = [m.span() for m in re.finditer(re.escape(key), reply)]
    if not found:
        return None
    ends = [start for start, _ in found[1:]] + [len(reply)]
    parts = [
        (reply[stop:end].strip(), _is_mention(reply, start, stop))
        for (start, stop), end in zip(found, ends, strict=True)
    ]
    least = len(target) / 2
    answers = [part for part, mentioned in parts if not mentioned or len(part) >= least] or [""]
    longest = max(map(len, answers))
    answer = next(part for part in reversed(answers) if 2 * len(part) >= longest)
    if "```" in reply[: found[0][0]]:
        answer = answer.removesuffix("```").strip()
    return target.strip(), answer if _WORD.search(answer) else ""


def _is_mention(reply: str, start: int, stop: int) -> bool:
    """Whether a key stands inside a sentence that speaks of it."""
    return bool(_WORD_BEFORE.search(reply, max(0, start - 8), start)) and bool(_SPEAKS_ON.match(reply, stop))


def paper(key: str, target: str, reply: str) -> Pair | None:
    """What follows the first key."""
    _, found, rest = reply.partition(key)
    return (target, rest) if found else None


def strict(key: str, target: str, reply: str) -> Pair | None:
    """What follows the key a reply begins with."""
    return (reply.removeprefix(key), target) if reply.startswith(key) else None


def evalscope(key: str, target: str, reply: str) -> Pair | None:
    """As strict, leading line breaks and spaces dropped."""
    return strict(key, target, reply.lstrip("\r\n "))


def lenient(key: str, target: str, reply: str) -> Pair | None:
    """What follows the last key anywhere, both sides stripped."""
    _, found, rest = reply.rpartition(key)
    return (target.strip(), rest.strip()) if found else None


GRADERS: dict[str, Callable[[str, str, str], Pair | None]] = {
    "careful": careful,
    "paper": paper,
    "strict": strict,
    "evalscope": evalscope,
    "lenient": lenient,
}


def variants(key: str, target: str, reply: str) -> dict[str, float]:
    """Every grader's score by name, with and without autojunk, 0 to 1; equal comparisons are made once."""
    done: dict[tuple[str, str, bool], float] = {}
    scores = {}
    for name, grader in GRADERS.items():
        pair = grader(key, target, reply)
        for autojunk in (True, False):
            label = name if autojunk else f"{name}_no_autojunk"
            if pair is None:
                scores[label] = 0.0
                continue
            known = (*pair, autojunk)
            if known not in done:
                done[known] = edit_ratio(*pair, autojunk=autojunk)
            scores[label] = done[known]
    return scores


def score_reply(key: str, answer: str, response: str) -> Score:
    """Score a reply; headline ``careful``, ``raw`` is ``strict``.

    Args:
        key: the string asked for.
        answer: key and piece.
        response: the reply as it came, reasoning included. Of a reply far longer than the answer only the beginning
            is looked at.

    Returns:
        Score flagged ``variants_disagree`` where the graders differ by more than ``DISAGREEMENT``, ``overlong`` where
        the reply was cut. A reply without the key is scored 0 by every grader, not unparsed.
    """
    target = answer.removeprefix(key)
    longest = _LONGEST_FACTOR * len(answer) + _LONGEST_EXTRA
    apart = split_thinking(response)
    if apart.thinking or apart.truncated:  # else as it came: to ``strict`` a line break in front is another text
        response = apart.answer
    reply = response[:longest]
    scores = variants(key, target, reply)
    flags = ("overlong",) if len(response) > longest else ()
    if max(scores.values()) - min(scores.values()) > DISAGREEMENT:
        flags = (*flags, "variants_disagree")
    pair = careful(key, target, reply)
    rest = pair[1] if pair else ""
    return Score(
        value=scores["careful"],
        raw=scores["strict"],
        extracted=rest,
        postprocessed=not reply.startswith(key) and key in reply,
        reason=_reason(key, target, reply, scores["careful"]),
        variants=scores,
        flags=flags,
        trace=(
            ("reply", reply),
            ("key", f"{key} ({'found' if key in reply else 'missing'})"),
            ("extracted", rest),
            ("target", target),
            ("rule", "edit ratio of target and the text that the key begins"),
            ("score", ", ".join(f"{name} {value:.4f}" for name, value in scores.items())),
        ),
    )


def _reason(key: str, target: str, reply: str, value: float) -> str:
    if key not in reply:
        return "the string asked for is missing, which every grader scores 0"
    if value == 1:
        return "the piece asked for, word for word"
    where = "at the start" if reply.startswith(key) else "after other text"
    return f"the string is there {where}; what follows it matches the piece to {value:.1%}"


def grader_scores(key: str, answer: str, response: str) -> tuple[dict[str, float], tuple[str, ...]]:
    """Every grader's score of a reply by name, 0 to 1, as at the top of this file, and the scorer's flags.

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


SAME = 0.9
"""From this edit ratio on a reply counts as a piece's text."""
LIKE = 0.5
"""From this edit ratio on a reply counts as a mangled copy; below it as invented."""

_CANDIDATES = 12


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The piece of the conversation that is closest to a reply.

    Attributes:
        kind: ``right piece``, ``wrong ordinal``, ``another piece``, ``mangled`` or ``invented``.
        what: what the closest piece was asked for as, e.g. ``poem about penguins``.
        ordinal: the how-manieth of its kind it is, from 1.
        depth: where its turn stands, as a share of the turns before it, 0 to 1.
        ratio: edit ratio of piece and reply, 0 to 1.
    """

    kind: str
    what: str
    ordinal: int
    depth: float
    ratio: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        place = f"number {self.ordinal} of its kind ({self.what}), {self.depth:.0%} deep, edit ratio {self.ratio:.2f}"
        return f"{self.kind}: closest is {place}"


def diagnose(instance: Instance, response: str) -> Diagnosis | None:
    """The closest piece of the conversation, or ``None`` for an empty reply.

    Pieces are ranked by shared words first; the best ones are compared by edit ratio without autojunk.
    """
    reading = ConversationSolver().read(instance.messages)
    question = parse_question(reading.query)
    text = response.partition(question.key)[2] if question.key in response else response
    words = set(text.split())
    if not words:
        return None
    pieces = [parse_unit(unit) for unit in reading.units]
    shared = [len(words & (own := set(reply.split()))) / len(words | own) for _, reply in pieces]
    best = sorted(range(len(pieces)), key=lambda i: -shared[i])[:_CANDIDATES]
    ratios = {i: edit_ratio(pieces[i][1], text.strip()[: 4 * len(pieces[i][1]) + 400], autojunk=False) for i in best}
    closest = max(best, key=lambda i: ratios[i])
    what, ratio = pieces[closest][0] or "", ratios[closest]
    ordinal = sum(w == what for w, _ in pieces[: closest + 1])
    if ratio < SAME:
        kind = "mangled" if ratio >= LIKE else "invented"
    elif what == question.what:
        kind = "right piece" if ordinal == question.ordinal else "wrong ordinal"
    else:
        kind = "another piece"
    return Diagnosis(kind, what, ordinal, closest / len(pieces), ratio)
