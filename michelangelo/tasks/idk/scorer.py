"""Judge a reply: 1 for the letter of the right option or its text, 0 for anything else.

Plain words that say that the text doesn't tell count as ``I don't know``; such scores are flagged, and given once
more without that rule.

A reply names an option by a letter that stands alone, its text, or words for "the text doesn't say". Words are not
letters: "Don't know" is no D, "A ledger" no A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from michelangelo.lsq.score import Score
from michelangelo.scoring.grammar import compiled, finder, phrases
from michelangelo.scoring.reading import Reading, judged, read
from michelangelo.scoring.thinking import split_thinking
from michelangelo.scoring.values import Form, Mention, plain

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


_ENCLOSED = re.compile(r"[(\[]\s*([A-Za-z])\s*[)\]]\.?")
_W = "0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_LETTER = re.compile(rf"(?<![{_W}]')(?<![{_W}./-])([A-Z])(?![{_W}+/-]|\.[{_W}]|'[{_W}])\)?")
_WORD_AFTER = re.compile(r"\s+(?=[a-z\u00df-\u00f6\u00f8-\u00ff])")
_MAY_FOLLOW = (
    "as|based|for|from|given|not|over|with|must|would|does|doesn't|isn't|wasn't|can't|cannot|can|could|seems|appears|has|"
    "instead|here|rather|ought|should"
)
_FOLLOWS = ("links", "joins", "either", "explains", "negates", "denies", "breaks", "concludes", "yes", "no", "corrects")
_LABELLED = rf"{phrases('nouns')}\W*(?:{phrases('links')}\W*)?(?:option\W*)?"
_SMALL = rf"(?:^[^\w\n]{{0,8}}|{_LABELLED})(?<![0-9a-z_'])([a-z])[). \t]{{0,8}}$"


def option_form(options: Mapping[str, str], idk: str | None) -> Form:
    """How a reply names one of these options.

    Args:
        options: text by letter; an empty text is not known and never matches.
        idk: letter of ``I don't know``, ``None`` where no option says so.
    """
    return _form(tuple(options.items()), idk)


@lru_cache(maxsize=256)
def _form(options: tuple[tuple[str, str], ...], idk: str | None) -> Form:
    return Form(lambda text: _mentions(text, dict(options), idk), amount="one", said=False, closed=True)


def _mentions(text: str, options: Mapping[str, str], idk: str | None) -> list[Mention]:
    """Places that name an option, each once; letter and text together before texts, texts before letters."""
    found: list[Mention] = []
    for pattern, letter, phrase in _texts(tuple(options.items()), idk):
        text = _taken(text, pattern, letter, phrase, found)
    if idk is not None:
        lowered = text.lower()
        if len(lowered) == len(text):
            for kind in ("abstains", "bare"):
                pattern = _ABSTAINS if kind == "abstains" else _BARE
                for m in pattern.finditer(lowered):
                    place = m.span(1) if m.re.groups else m.span()
                    if not text[place[0] : place[1]].count(_USED):
                        found.append(Mention(*place, idk, phrase=True))
                        text = f"{text[: place[0]]}{_USED * (place[1] - place[0])}{text[place[1] :]}"
    for m in _ENCLOSED.finditer(text):
        if m[1].upper() in options:
            found.append(Mention(m.start(), m.end(), m[1].upper()))
    text = _ENCLOSED.sub(lambda m: _USED * len(m[0]) if m[1].upper() in options else m[0], text)
    follows = _follows()
    for m in _LETTER.finditer(text):
        word = _WORD_AFTER.match(text, m.end())
        if m[1] in options and not (word and not follows.match(text, word.end())):
            found.append(Mention(m.start(), m.end(), m[1]))
    if not any(not m.phrase for m in found):
        lowered = text.lower() if len(text.lower()) == len(text) else text
        for m in _small().finditer(lowered):
            if m[1].upper() in options and text[m.start(1)].islower():
                found.append(Mention(m.start(1), m.end(1), m[1].upper()))
    return sorted(found)


_USED = "\ue001"
"""Stands for what is a mention already."""


def _taken(text: str, pattern: re.Pattern[str], letter: str, phrase: bool, found: list[Mention]) -> str:
    def take(m: re.Match[str]) -> str:
        found.append(Mention(m.start(), m.end(), letter, phrase))
        return _USED * len(m[0])

    return pattern.sub(take, text)


@lru_cache(maxsize=1)
def _follows() -> re.Pattern[str]:
    kinds = "|".join(phrases(kind) for kind in _FOLLOWS)
    return compiled(rf"(?:{kinds}|(?:{_MAY_FOLLOW})\b)")


@lru_cache(maxsize=1)
def _small() -> re.Pattern[str]:
    return re.compile(_SMALL, re.MULTILINE)


_ABSTAINS = re.compile(phrases("abstains"))
_LEADS = rf"(?:^[^\w\n]{{0,8}}|(?:{phrases('nouns')}|{phrases('links')}|[:,])[^\w\n]{{0,8}})"
_ENDS = r"(?=(?:\s+(?:in|by|from) (?:the|this) \w+)?\W*(?:$|[.;,!(]))"
_BARE = re.compile(rf"{_LEADS}({phrases('bare_abstains')}){_ENDS}", re.MULTILINE)


@lru_cache(maxsize=256)
def _texts(options: tuple[tuple[str, str], ...], idk: str | None) -> list[tuple[re.Pattern[str], str, bool]]:
    """Patterns of option texts: letter and text together first, then texts, longer ones first."""
    texts = {letter: _worded(text) for letter, text in options if text and letter != idk}
    if idk is not None:
        texts[idk] = phrases("unknown")
    together, alone = [], []
    for letter in sorted(texts, key=lambda name: -len(texts[name])):
        quoted = rf"[\"']?(?<![\w-])(?:{texts[letter]})(?![\w-])[\"']?"
        label = rf"(?<![\w'])[(\[]?{letter}[)\].:,]*\s*(?:[-–—=]\s*)?"
        together.append((re.compile(label + quoted, re.IGNORECASE), letter, False))
        alone.append((re.compile(quoted, re.IGNORECASE), letter, letter == idk))
    return together + alone


def _worded(text: str) -> str:
    words = text.split()
    if words[0].lower() in ("a", "an", "the") and len(words) > 1:
        return r"(?:(?:an?|the)\s+)?" + r"\s+".join(map(re.escape, words[1:]))
    return r"\s+".join(map(re.escape, words))
