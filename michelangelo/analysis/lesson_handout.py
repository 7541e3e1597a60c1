"""The lesson on one page of Markdown, for printing."""

from __future__ import annotations

from michelangelo.analysis.chiselled import Step
from michelangelo.analysis.lesson import Lesson, Targets, single_removals, targets, unit_lines
from michelangelo.lsq.generation import instance_code

_TITLE = "# Finding a line is not combining lines\n"
_MOST = 60  # lines that fit a page


def fenced(text: str) -> str:
    """A text as a code block that it can't end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}\n"


def handout(lesson: Lesson, steps: list[Step], link: str) -> str:
    """The lesson as Markdown: the lines, both questions, an exercise, and the answers at the end.

    Args:
        lesson: the example.
        steps: its relevant updates with the state after each.
        link: address of the page at this example.
    """
    shown = lesson.lines[:_MOST]
    listing = "\n".join(f"{line.number:>4}  {line.text}" for line in shown)
    more = "\n{:,} more lines are on the page; use a shorter length for a sheet that holds them all.\n"
    rest = len(lesson.lines) - len(shown)
    instance = lesson.instance
    code = instance_code(
        instance.task, tokens=instance.target_tokens, seed=instance.seed, tokenizer=instance.tokenizer,
        params={name: instance.params[name] for name in ("complexity", "relevance", "view") if name in instance.params},
    )  # fmt: skip
    trail = "\n".join(f"{k}. `{s.text}`" + (f" gives `{s.after}`" if s.after else "") for k, s in enumerate(steps, 1))
    whole, removals = targets(lesson), single_removals(lesson).items()
    removed = "\n".join(f"- without line {unit_lines(lesson, u)[0].number}: {_both(now, whole)}" for u, now in removals)
    return "\n".join(
        [
            _TITLE,
            fenced(listing) + (more.format(rest) if rest else ""),
            f"**A. Find one.** {lesson.look_up.question}\n",
            "**B. Combine many.** What is the answer to the last line, after all of the above?\n",
            fenced(lesson.question),
            "**C. Remove one.** Cross out one line of your choice. Which of the two answers changes?\n",
            "**D. Discuss.** Which of the two questions gets harder when the text gets longer, and why?\n",
            "---\n",
            "## Answers\n",
            f"A. `{lesson.look_up.answer}` (line {lesson.look_up.line} alone)\n",
            f"B. `{instance.answer}`, from these lines alone:\n",
            f"{trail}\n",
            f"C. The line question is answered by line {lesson.look_up.line} and no other. The last line's answer:\n",
            f"{removed}\n",
            f"Same example: {link}\n" if link else "",
            fenced(code),
        ]
    )


def _both(now: Targets, whole: Targets) -> str:
    retrieval = "A is gone" if now.retrieval is None else "A stays"
    if now.synthesis is None:
        return f"{retrieval}, B has no answer"
    return f"{retrieval}, B is `{now.synthesis}`" + (" (the same)" if now.synthesis == whole.synthesis else "")
