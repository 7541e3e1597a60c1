"""Judge a reply: 1 for the letter of the right option or its text, 0 for anything else.

Plain words that say that the text doesn't tell count as ``I don't know``; such scores are flagged, and given once
more without that rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from michelangelo.lsq.score import Score
from michelangelo.scoring.judging import judged
from michelangelo.scoring.phrases import finder
from michelangelo.scoring.plain import plain
from michelangelo.scoring.reading import Reading, read
from michelangelo.scoring.thinking import split_thinking
from michelangelo.tasks.idk.options import option_form

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
        Score whose variants are ``strict`` (the reply as it is), ``postprocessed``, ``without_phrases`` and
        ``lenient`` (the last option the reply names in whatever way).
    """
    text = options.get(answer, "")
    whole = {answer, f"({answer})", *([text, f"({answer}) {text}"] if text else ())}
    raw = float(split_thinking(response).answer in whole)
    reading = read(response, option_form(options, idk))
    letter = reading.values[0] if reading.values else None
    value = raw if reading.ambiguous else float(letter == answer)
    phrase = reading.by_phrase and letter == idk and letter is not None and not _in_its_words(reading)
    shown = "—" if letter is None else f"({letter}) {options.get(letter, '')}".strip()
    verdict = "no option to compare" if letter is None else "the right one" if letter == answer else "not the right one"
    return judged(
        reading,
        response,
        value=value,
        raw=raw,
        extracted=letter,
        verdict=verdict,
        variants={"postprocessed": value, "strict": raw, "without_phrases": 0.0 if phrase else value},
        lenient=float(reading.lenient == (answer,)),
        flags=(PHRASE_FLAG,) if phrase else (),
        shown=shown,
        target=f"({answer}) {text}".strip(),
        rule="the same option",
    )


def _in_its_words(reading: Reading) -> bool:
    """Whether the option is declared in the words that the prompt gives it, more or less."""
    said = [s for s in reading.statements if s.stance == "asserted" and s.manner in ("declared", "alone")]
    return any(finder("unknown").search(plain(reading.text)[s.start : s.end].lower()) for s in said)
