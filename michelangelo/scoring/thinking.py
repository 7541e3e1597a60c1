"""Reasoning that a model writes into its reply, told apart from the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = "think|thinking|thought|thoughts|reasoning|seed:think"
_TAG = re.compile(
    rf"<(?P<close>/?)(?:{_NAMES})>|\[(?P<close_bracket>/?)think\]|◁(?P<close_triangle>/?)think▷",
    re.IGNORECASE,
)
_MARK = re.compile("think|thought|reasoning", re.IGNORECASE)
"""What every tag holds: texts without it, however many brackets they have, are passed over fast."""
_CHANNEL = re.compile(
    r"(?:<\|start\|>[a-z_ ]{0,20})?<\|channel\|>(?P<name>[^<]{0,200})(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"|(?P<end><\|(?:end|return|call)\|>)"
)
_PLAIN_CHANNELS = re.compile(r"\s*analysis(?P<analysis>.*?)assistantfinal(?P<answer>.*)", re.DOTALL)
"""Channels whose marks a decoder has left out."""
_ANSWERS = "final"
"""The channel that holds the answer, in replies whose parts are channels."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply taken apart.

    Attributes:
        answer: what is left without reasoning, outer white space taken off.
        thinking: the reasoning, blocks joined by line breaks.
        truncated: whether reasoning never ends, so that ``answer`` may not be final.
    """

    answer: str
    thinking: str
    truncated: bool


def split_thinking(text: str) -> Reply:
    """Take reasoning out of a reply.

    Closed blocks are removed. Text before a lone closing tag is reasoning whose opening tag was part of the prompt's
    template, and is dropped. From an opening tag that never closes on, everything is reasoning. An opening tag inside
    a block is text. Where a reply is made of channels, its final channel is the answer and every other one reasoning.
    """
    plain = _PLAIN_CHANNELS.match(text)
    if plain:
        return Reply(plain["answer"].strip(), plain["analysis"].strip(), False)
    answer: list[str] = []
    thinking: list[str] = []
    at, inside = 0, False
    channels = "<|message|>" in text
    spots = _CHANNEL.finditer(text) if channels else _TAG.finditer(text if _MARK.search(text) else "")
    for spot in spots:
        if channels:
            (thinking if inside else answer).append(text[at : spot.start()])
            if spot["name"] is not None:
                inside = not spot["name"].strip().startswith(_ANSWERS)
            at = spot.end()
            continue
        closes = any(spot.groups())
        if inside and not closes:
            continue
        piece = text[at : spot.start()]
        if inside:
            thinking.append(piece)
        elif closes:
            thinking += [*answer, piece]
            answer = []
        else:
            answer.append(piece)
        at, inside = spot.end(), not closes
    (thinking if inside else answer).append(text[at:])
    return Reply("".join(answer).strip(), "\n".join(t.strip() for t in thinking), inside)
