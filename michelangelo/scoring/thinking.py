"""Reasoning that a model writes into its reply, told apart from the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = "think|thinking|thought|thoughts|reasoning|seed:think"
_TAG = re.compile(
    rf"<(?P<close>/?)(?:{_NAMES})>|\[(?P<close_bracket>/?)think\]|◁(?P<close_triangle>/?)think▷",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply taken apart.

    Attributes:
        answer: what is left without reasoning, outer white space taken off.
        thinking: the reasoning, blocks joined by line breaks.
        truncated: whether an opening tag never closes, so that ``answer`` may not be final.
    """

    answer: str
    thinking: str
    truncated: bool


def split_thinking(text: str) -> Reply:
    """Take reasoning out of a reply.

    Closed blocks are removed. Text before a lone closing tag is reasoning whose opening tag was part of the prompt's
    template, and is dropped. From an opening tag that never closes on, everything is reasoning. An opening tag inside
    a block is text.
    """
    answer: list[str] = []
    thinking: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        piece = text[at : tag.start()]
        closes = any(tag.groups())
        if inside and not closes:
            continue
        if inside:
            thinking.append(piece)
        elif closes:
            thinking += [*answer, piece]
            answer = []
        else:
            answer.append(piece)
        at, inside = tag.end(), not closes
    (thinking if inside else answer).append(text[at:])
    return Reply("".join(answer).strip(), "\n".join(t.strip() for t in thinking), inside)
