"""The corpus of replies as a page: ``python -m tests.reply_table > docs/replies.md``."""

from __future__ import annotations

import json
from collections import Counter

from tests.reply_corpus import TASKS, Row, kinds, rows

HEAD = """# How replies are read

A score is what a person who reads the reply would say the model answered. Where that person would hesitate, the reply
is `ambiguous` or `unparsed`: counted, shown, and never right.

- The last correction wins over what it corrects; an answer that is taken back gives no credit.
- What is declared wins over what an argument or an explanation names.
- Negated values never count; equal statements agree.
- Two different answers, none of them taken back, are ambiguous.
- Nothing turns a wrong answer right: `python -m tests.replies_adversary` wraps wrong answers in every form below.

`tests/replies/*.toml` holds {replies:,} replies written for this purpose, each with what a careful reader says. This
page is made from them by `python -m tests.reply_table`.

## Kinds of replies by task

Numbers of replies; a letter says why there are none.

"""


def page() -> str:
    """The page as Markdown."""
    text = HEAD.format(replies=len(rows()))
    return f"{text}{_table()}\n\n{_notes()}\n\n## One reply of each kind\n\n{_examples()}\n"


def _table() -> str:
    counts = Counter((row.kind, row.question.task) for row in rows())
    head = f"| kind | {' | '.join(task.replace('_', ' ') for task in TASKS)} |"
    lines = [head, f"|---|{'--:|' * len(TASKS)}"]
    for name, kind in kinds().items():
        cells = [str(counts[name, task] or _letter(kind["why"])) for task in TASKS]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _reasons() -> list[str]:
    return list(dict.fromkeys(kind["why"] for kind in kinds().values() if "why" in kind))


def _letter(why: str) -> str:
    number = _reasons().index(why)
    return chr(ord("a") + number) if number < 26 else "a" + chr(ord("a") + number - 26)


def _notes() -> str:
    return "\n".join(f"- {_letter(why)}: {why}" for why in _reasons())


def _examples() -> str:
    lines = ["| kind | what it is | reply | right answer | read as |", "|---|---|---|---|---|"]
    for name, kind in kinds().items():
        row = min((row for row in rows() if row.kind == name), key=lambda row: (len(row.text) > 120, row.number))
        shown = (f"`{_escaped(text)}`" for text in (json.dumps(row.text, ensure_ascii=False), row.question.answer))
        lines.append(f"| {name.replace('_', ' ')} | {_escaped(kind['says'])} | {' | '.join(shown)} | {_read(row)} |")
    return "\n".join(lines)


def _read(row: Row) -> str:
    if row.reads is not None:
        return f"`{_escaped(row.reads if isinstance(row.reads, str) else ', '.join(row.reads))}`"
    if row.verdict == "unread":
        return "ambiguous or unparsed"
    return (row.verdict or "a share of the text").replace("_", " ")


def _escaped(text: str) -> str:
    """Text that stays within one cell of a table, shortened."""
    short = text if len(text) <= 160 else text[:157] + "…"
    return short.replace("|", "\\|").replace("\n", " ").replace("`", "ˋ")


if __name__ == "__main__":
    print(page(), end="")
