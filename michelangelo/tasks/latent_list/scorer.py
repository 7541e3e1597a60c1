"""Judge replies to Latent List: strictly, and after pulling the answer out of a talkative reply.

A reply is never evaluated. An answer is recognised where a reply declares one: the reply is nothing else, or it stands
alone on a line (with or without a fence, a ``>>`` echo, ``Output:``, bold or back-quotes), or a sentence says that it
is the answer. The last declaration wins. Negated or hedged sentences declare nothing, two different answers in one
sentence declare nothing, and there is no last-resort scan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from michelangelo.lsq.score import Score
from michelangelo.scoring.thinking import split_thinking

LONGEST_REPLY = 200_000
"""Only so many characters of a reply are looked at, from its end."""

_INT = r"[+-]?\d{1,3}(?:,\d{3})+(?![\d,])|[+-]?\d{1,40}"
_NUMBER = re.compile(rf"(?<![\w.,+-])(?:{_INT})(?![\w,]|\.\d|\s*%)", re.ASCII)
_LIST = re.compile(r"(?<![\w\[.)\]])\[\s*(?:[+-]?\d{1,40}(?:\s*,\s*[+-]?\d{1,40})*)?\s*\](?!\s*[\[:])", re.ASCII)
_STRICT_INT = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_ECHO = re.compile(r"^\s*(?:>>>?|\.\.\.|In\s*\[\d*\]:)\s?")
_VIEW = re.compile(r"\b(?:print|sum|min|max|len)\(a\[-?\d*:-?\d*\]\)|\ba\[-?\d*:-?\d*\]")
_LABEL = re.compile(
    r"^\W*(?:(?:so|thus|therefore|hence|finally)\b[\s,]*)?(?:(?:the|my|final|correct|last)\s+)*"
    r"(?:output|answer|result|value|out(?:\[\d*\])?)\s*(?:is|=|:|->|→)\s*",
    re.IGNORECASE,
)
_DECLARES = re.compile(
    r"\b(?:answer|output|outputs|result|prints?|returns?|evaluates?|gives?|yields?|equals?|displays?|shows?|is)\b|[=:→]|->",
    re.IGNORECASE,
)
_CALLS = re.compile(r"\b(?:answer|outputs?|result|prints?|returns?)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:not|no|never|neither|cannot|can't|isn't|wasn't|wouldn't|won't|don't|doesn't|either|or|maybe|perhaps|possibly|"
    r"probably|might|may|could|unless|unsure|guess|if|initial(?:ly)?|start(?:s|ed|ing)?|originally|wrong|incorrect)\b|\?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[*`])")
_NEXT_EXAMPLE = re.compile(r"^(?:Example \d+|Your session):", re.MULTILINE)
"""A base model goes on with examples of its own; what follows such a heading answers another question."""
_WRAPPED = re.compile(r"^(?:\*\*|__|`+|\$+|\\\(|\\boxed\{|\"|'|#+ |[*•] )+|(?:\*\*|__|`+|\$+|\\\)|\}|\"|')+$")
_BULLET = re.compile(r"^- (?=\[)")


@dataclass(frozen=True, slots=True)
class Extraction:
    """An answer found in a reply.

    Attributes:
        answer: in canonical form (``[1, 2]`` or ``12``), or ``None``.
        rule: which rule found it, or why none did.
    """

    answer: str | None
    rule: str


def score_reply(view: str, answer: str, response: str) -> Score:
    """Score a reply; see SPEC: exact list text for print, ``1 - min(1, |t - m| / max(|t|, 1e-10))`` for numbers.

    Args:
        view: ``print``, ``sum``, ``min``, ``max`` or ``len``.
        answer: ground truth.
        response: the reply as it came.

    Returns:
        Score whose variants are ``strict`` (the reply as it is) and ``postprocessed``.
    """
    bare = response.strip()
    comparable = view == "print" or _STRICT_INT.fullmatch(bare)
    raw = compare(view, answer, bare) if comparable else 0.0
    found = extract(view, response)
    value = 0.0 if found.answer is None else compare(view, answer, found.answer)
    differs = found.answer is not None and found.answer != bare
    shown = "—" if found.answer is None else found.answer
    return Score(
        value=value,
        raw=raw,
        extracted=found.answer,
        postprocessed=differs,
        reason=f"{found.rule}; {_verdict(view, answer, found.answer, value)}",
        variants={"postprocessed": value, "strict": raw},
        trace=(
            ("reply", response[-LONGEST_REPLY:]),
            ("recognised by", found.rule),
            ("extracted", shown),
            ("target", answer),
            ("rule", "equal as text" if view == "print" else "1 − min(1, |target − reply| / max(|target|, 1e-10))"),
            ("score", f"{value:.4f} (as it came: {raw:.4f})"),
        ),
    )


def compare(view: str, answer: str, reply: str) -> float:
    """Score of a bare answer, 0 to 1."""
    if view == "print":
        return float(reply == answer)
    target, given = int(answer), int(reply)
    return 1 - min(1.0, abs(target - given) / max(abs(target), 1e-10))


def _verdict(view: str, answer: str, reply: str | None, value: float) -> str:
    if reply is None:
        return "no answer to compare"
    if value == 1:
        return "equal to the target"
    if view == "print":
        return "not the target's text"
    return f"off by {abs(int(answer) - int(reply)):,} from {answer}"


def extract(view: str, response: str) -> Extraction:
    """Find the declared answer in a reply.

    Args:
        view: decides whether a list or a number is looked for.
        response: the reply.
    """
    text = split_thinking(response[-LONGEST_REPLY:]).answer.replace("\u2212", "-").replace("\u00a0", " ").strip()
    literal = _LIST if view == "print" else _NUMBER
    if not text:
        return Extraction(None, "the reply is empty")
    if literal.fullmatch(text):
        return Extraction(canonical(text), "the reply is the answer")
    text = _NEXT_EXAMPLE.split(text)[0].strip() or text
    lines = _lines(text)
    declared: list[Extraction] = []
    mentioned: list[Extraction] = []
    for line in lines:
        alone = _alone(line, literal)
        if alone:
            declared.append(Extraction(alone, _LABELLED if _LABEL.match(line) else _STANDS_ALONE))
        else:
            strong, weak = _said(line, view)
            declared += [Extraction(strong, _SAID)] if strong else []
            mentioned += [Extraction(weak, _SAID)] if weak else []
    if not declared:
        return mentioned[-1] if mentioned else Extraction(None, "no declared answer was recognised")
    found = declared[-1]
    if found.rule == _STANDS_ALONE and _alone(lines[-1], literal) is None:
        standing = {d.answer for d in declared if d.rule == _STANDS_ALONE}
        if len(standing) > 1:
            return Extraction(None, "several different answers stand on lines of their own, none of them last")
    return found


_LABELLED = "declared with a label"
_STANDS_ALONE = "stands on a line of its own"
_SAID = "declared in a sentence"


def canonical(literal: str) -> str:
    """A list as Python prints it, a number without sign plus, separators and leading zeros."""
    if literal.startswith("["):
        inner = literal[1:-1].strip()
        return str([int(part) for part in inner.split(",")] if inner else [])
    return str(int(literal.replace(",", "")))


def _lines(text: str) -> list[str]:
    """The lines that may declare something: no fences, no echoed code."""
    kept = []
    for line in text.splitlines():
        bare = _ECHO.sub("", line)
        is_code = bare != line and not _NUMBER.fullmatch(bare.strip()) and not _LIST.fullmatch(bare.strip())
        if line.strip().startswith("```") or is_code or not bare.strip():
            continue
        kept.append(bare.strip())
    return kept


def _unwrap(text: str) -> str:
    before = ""
    while before != text:
        before = text
        text = _WRAPPED.sub("", text.strip()).strip()
    return text


def _alone(line: str, literal: re.Pattern[str]) -> str | None:
    """The answer a line consists of, label and decoration aside."""
    text = _unwrap(_unwrap(_BULLET.sub("", line)).removesuffix("."))
    text = _unwrap(_LABEL.sub("", _unwrap(text.replace("**", ""))).removesuffix("."))
    return canonical(text) if literal.fullmatch(text) else None


def _said(line: str, view: str) -> tuple[str | None, str | None]:
    """The answers that a line's last declaring sentences name: one that calls it the answer, and any other.

    A sentence that names several different answers declares none.
    """
    literal = _LIST if view == "print" else _NUMBER
    strong = weak = None
    for sentence in _SENTENCE.split(line):
        plain = _VIEW.sub("it", sentence.replace("**", "").replace("`", ""))
        if view != "print":
            plain = _LIST.sub("it", plain)
        if _UNSURE.search(plain) or not _DECLARES.search(plain):
            continue
        names = {canonical(m[0]) for m in literal.finditer(plain.rpartition("=")[2])}
        if len(names) == 1:
            name = names.pop()
            strong, weak = (name, weak) if _CALLS.search(plain) else (strong, name)
    return strong, weak
