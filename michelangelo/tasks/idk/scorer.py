"""Judge a reply: 1 for the letter of the right option or its text, 0 for anything else.

Plain words that say that the text doesn't tell count as ``I don't know``; such scores are flagged, and given once
more without that rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from michelangelo.lsq.score import Score
from michelangelo.tasks.idk.declarations import extract
from michelangelo.tasks.idk.reply import LONGEST_REPLY

PHRASE_FLAG = "phrase"
"""Flag of a score that plain words decided instead of an option."""


def score_reply(options: Mapping[str, str], idk: str | None, answer: str, response: str) -> Score:
    """Score a reply.

    Args:
        options: text by letter; an empty text is not known, so that it can't be recognised.
        idk: letter of ``I don't know``, ``None`` where no option says so.
        answer: the right letter.
        response: the reply as it came.

    Returns:
        Score whose variants are ``strict`` (the reply as it is), ``postprocessed`` and ``without_phrases``.
    """
    bare = response.strip()
    text = options.get(answer, "")
    raw = float(bare in {answer, f"({answer})", *([text, f"({answer}) {text}"] if text else ())})
    found = extract(options, idk, response)
    value = float(found.letter == answer)
    shown = "—" if found.letter is None else f"({found.letter}) {options.get(found.letter, '')}".strip()
    verdict = "no option to compare" if found.letter is None else "the right one" if value else "not the right one"
    return Score(
        value=value,
        raw=raw,
        extracted=found.letter,
        postprocessed=found.letter is not None and found.letter != bare,
        reason=f"{found.rule}; {verdict}",
        variants={"postprocessed": value, "strict": raw, "without_phrases": 0.0 if found.phrase else value},
        flags=(PHRASE_FLAG,) if found.phrase else (),
        trace=(
            ("reply", response[-LONGEST_REPLY:]),
            ("recognised by", found.rule),
            ("extracted", shown),
            ("target", f"({answer}) {text}".strip()),
            ("rule", "the same option"),
            ("score", f"{value:.0f} (as it came: {raw:.0f})"),
        ),
    )
