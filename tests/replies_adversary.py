"""Replies that try to be misread, as a command: ``python -m tests.replies_adversary --count 20000``.

Prints how many wrong replies were scored right (goal: none), the share of plainly right ones that were read right, how
many random texts raised, and how the time of scoring grows from 0.5 to 5 MB. Exit code 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator

import michelangelo as mi
from michelangelo.lsq.registry import get_task
from michelangelo.scoring.outcome import judge
from tests.reply_corpus import Question, Reply, rows
from tests.reply_forms import Case, right_cases, wrong_cases

SIZES = (500_000, 5_000_000)
SLOWEST_RATIO = 30.0
"""Time at ten times the length, as a multiple; linear is 10, and timers are noisy."""

SHAPES = {
    "line breaks": "\n",
    "labels": "Answer: ",
    "labelled lines": "Answer: A\n",
    "corrections": "Wait, no. Correction: ",
    "opening brackets": "[",
    "brackets": "[]()",
    "digits": "7",
    "numbers": "1, ",
    "letters": "a",
    "capitals": "A B C D ",
    "spaces": " ",
    "dashes": "-",
    "stars": "**",
    "back quotes": "`",
    "fences": "```\n",
    "tags": "<think>",
    "closing tags": "</think>",
    "half a tag": "<answer>",
    "table": "| a | b |\n",
    "boxes": "\\boxed{",
    "quotes": "\"'",
    "full stops": ".",
    "sentences": "The answer is not 7 but garden. ",
    "dollars": "$",
    "arrows": "A -> ",
    "bullets": "- A: No\n",
    "full width": "Ａ：",
}

_PIECES = (
    *("Answer:", "answer is", "not", "but", "Correction:", "Wait", "no", "A", "B)", "(C)", "D.", "I don't know"),
    *("[", "]", "{", "}", "(", ")", "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "$", "$$", "```", "`"),
    *(
        "**",
        "~~",
        "|",
        "|---|",
        "- ",
        "1. ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        "1234567",
        "-3",
        "–3",
        "9" * 400,
        "1e999",
    ),
    *("٣", "½", "garden", "kitchen", "AVARZ", "JceRVzm", "clustik", "=", "->", "→", ",", "，", "、", "。", "答案是"),
    *("答えは", "Antwort:", "\ud800", "\udfff", "\x00", "\x1b[0m", "\u202e", "\u200b", "\ufeff", "🎉", "é", "e\u0301"),
    *("Ｃ", "\x85", "\u2028", "<|channel|>", "final", "<|message|>", "<|im_end|>", "</s>", "Question:", "Example 2:"),
    *("User:", "[" * 300, "{" * 300, '{"answer":', '"C"', "'", '"', "“", "Qx7Lm2Tz9RbK", "rather than", "or", "and"),
    *("?", "!", "No", "Yes", "✅"),
)


def one_question_per_view() -> list[Question]:
    """The corpus' questions, each once."""
    return list({(row.question.task, row.question.name): row.question for row in rows()}.values())


def random_texts(seed: int) -> Iterator[str]:
    """Texts of pieces that scorers look for, and of any characters, lone surrogates included; without end."""
    stream = random.Random(f"soup {seed}")
    while True:
        if stream.random() < 0.7:
            yield stream.choice(["", " ", "\n"]).join(stream.choices(_PIECES, k=stream.randrange(0, 40)))
        else:
            top = stream.choice([0x7F, 0x2FF, 0xFFFF, 0x10FFFF])
            yield "".join(chr(stream.randrange(top + 1)) for _ in range(stream.randrange(0, 120)))


def scored_right(case: Case) -> bool:
    """Whether the scorer gives a reply the full score."""
    return mi.score(case.question, case.text, task=case.question.task).value >= 1


def wrong_scored_right(count: int, seed: int) -> list[Case]:
    """Those of ``count`` wrong replies that score 1."""
    return [case for case in itertools.islice(wrong_cases(seed), count) if scored_right(case)]


def right_scored_wrong(count: int, seed: int) -> list[Case]:
    """Those of ``count`` plainly right replies that score less than 1."""
    return [case for case in itertools.islice(right_cases(seed), count) if not scored_right(case)]


def raising(count: int, seed: int) -> list[tuple[str, str, str]]:
    """Those of ``count`` random texts for which a scorer raises, as (task, text, exception)."""
    questions = itertools.cycle(one_question_per_view())
    found = []
    for text, question in zip(itertools.islice(random_texts(seed), count), questions, strict=False):
        try:
            mi.score(question, text, task=question.task)
            judge(get_task(question.task), question, Reply(text, "stop"))
        except Exception as error:
            found.append((question.task, text, f"{type(error).__name__}: {error}"))
    return found


def seconds(question: Question, shape: str, size: int) -> float:
    """Time of scoring a reply of ``size`` characters made of one piece over and over."""
    text = (SHAPES[shape] * (size // len(SHAPES[shape]) + 1))[:size]
    start = time.perf_counter()
    mi.score(question, text, task=question.task)
    return time.perf_counter() - start


def main() -> int:
    """Run what is asked for; 0 where every goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=20_000, help="replies of each sort")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="examples to print of what went wrong")
    parser.add_argument("--only", default="wrong,right,random,long", help="parts, separated by commas")
    given = parser.parse_args()
    parts = {"wrong": _wrong, "right": _right, "random": _random, "long": _long}
    return max(parts[name](given.count, given.seed, given.show) for name in given.only.split(","))


def _wrong(count: int, seed: int, show: int) -> int:
    found = wrong_scored_right(count, seed)
    print(f"wrong replies scored right: {len(found)} of {count:,} {_by_form(found)}")
    _print(found, show)
    return int(bool(found))


def _right(count: int, seed: int, show: int) -> int:
    found = right_scored_wrong(count, seed)
    print(f"right replies read right: {1 - len(found) / count:.2%} of {count:,}; missed {_by_form(found)}")
    _print(found, show)
    return 0


def _random(count: int, seed: int, show: int) -> int:
    found = raising(count, seed)
    print(f"random texts that raise: {len(found)} of {count:,}")
    for task, text, error in found[:show]:
        print(f"  {task}: {error}: {text[:200]!r}")
    return int(bool(found))


def _long(count: int, seed: int, show: int) -> int:
    del count, seed
    slow = []
    times = []
    for question in {question.task: question for question in one_question_per_view()}.values():
        mi.score(question, "The answer is A.", task=question.task)  # compiles the grammar
        for shape in SHAPES:
            short, long = (seconds(question, shape, size) for size in SIZES)
            times.append((long, question.task, shape))
            if long > 0.2 and long / max(short, 1e-4) > SLOWEST_RATIO:
                slow.append((long / short, question.task, shape))
    print(f"5 MB replies slower than linear: {len(slow)} of {len(times)}; the slowest:")
    for long, task, shape in sorted(times, reverse=True)[:show]:
        print(f"  {long:.2f} s  {task}: {shape}")
    for ratio, task, shape in sorted(slow, reverse=True):
        print(f"  {ratio:.0f} times the time at ten times the length  {task}: {shape}")
    return int(bool(slow))


def _by_form(cases: list[Case]) -> str:
    return str(dict(Counter(f"{case.question.task}/{case.form}" for case in cases).most_common())) if cases else ""


def _print(cases: list[Case], show: int) -> None:
    for case in cases[:show]:
        print(f"  {case.question.task} ({case.form}), answer {case.question.answer!r}: {case.text!r}")


if __name__ == "__main__":
    sys.exit(main())
