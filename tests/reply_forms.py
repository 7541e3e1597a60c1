"""A grammar of replies around a given answer: plain ones, and such that name an answer without giving it."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from michelangelo.tasks.comparison.words import PSEUDO_WORDS, pseudo_words
from michelangelo.tasks.location_tracking import PLACES
from tests.reply_corpus import Question

SEVERAL = frozenset({"multi_niah", "variable_tracing", "common_words", "frequent_words"})

_LABELS = (
    "Answer: {}",
    "ANSWER: {}",
    "Final answer: {}",
    "**Answer:** {}",
    "Answer - {}",
    "The answer is {}.",
    "The correct answer is {}.",
    "So the answer is {}",
    "Therefore, the answer is: {}",
    "My final answer is {}.",
    "Answer:\n{}",
    "## Answer\n\n{}",
    "Respuesta: {}",
    "La respuesta es {}.",
    "Antwort: {}",
    "Die Antwort ist {}.",
    "Réponse : {}",
    "La réponse est {}.",
    "Risposta: {}",
    "La risposta è {}.",
    "Resposta: {}",
    "A resposta é {}.",
    "答案：{}",
    "答案是{}。",
    "答え：{}",
    "答えは{}です。",
)
_MARKS = ("{}", "**{}**", "`{}`", '"{}"', "“{}”", "*{}*")
_WHOLE = (
    "{}",
    "{}.",
    "**{}**",
    "`{}`",
    "```\n{}\n```",
    "```text\n{}\n```",
    "<answer>{}</answer>",
    "$\\boxed{{{}}}$",
    "\\[ \\boxed{{{}}} \\]",
    "> {}",
    "✅ {}",
    "| Answer |\n|---|\n| {} |",
    "<think>Let me see.</think>\n{}",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "{}<|im_end|>",
)
_WITHDRAWN = (
    "{right}\nNo, that is a mistake.\n{declared}",
    "{right}\nWait, that's wrong.\n\n{declared}",
    "{right}\n\nCorrection:\n{declared}",
    "{right}\nI made an error there. {declared}",
    "{right}\nActually, no. {declared}",
    "{right}\nSorry, I misread the text.\n{declared}",
    "{right}\nOn second thought, that can't be. {declared}",
    "{right}\nScratch that. {declared}",
    "{right}\n\nEDIT: {declared}",
    "{right}\nHmm, I checked it again and it doesn't hold.\n{declared}",
    "{right}\nHold on. That's not it.\n{declared}",
    "{right}\nLet me correct myself: {declared}",
    "{right}\nMy apologies, that was wrong.\n{declared}",
    "{right}\nI need to revise that.\n{declared}",
    "{right}\nPlease ignore the above.\n{declared}",
    "{right}\nDisregard that.\n{declared}",
    "{right}\nThat was a typo.\n{declared}",
    "{right}\nAfter double-checking, I have to change my answer.\n{declared}",
    "{right}\n\nUpdate:\n{declared}",
    "{right}\n\nRevised answer: {w}",
    "{right}\nStrike that. {declared}",
    "Initial answer: {r}\nFinal answer: {w}",
    "Previous answer: {r}\nNew answer: {w}",
    "{right}\nNo, eso es un error.\n{declared}",
    "{right}\nNein, das ist falsch.\n{declared}",
    "{right}\nNon, c'est une erreur.\n{declared}",
    "{right}\nNo, è un errore.\n{declared}",
    "{right}\nNão, isso está errado.\n{declared}",
    "{right}\n不对，更正：\n{declared}",
    "{right}\n間違いでした。訂正：\n{declared}",
)
_BEFORE = (
    "Most people would say {r}, but that is wrong.\n{declared}",
    "A common mistake would be {r}.\n{declared}",
    "The naive answer would be {r}.\n{declared}",
    "Another model answered {r}, which I don't believe.\n{declared}",
    "Somebody else said {r}.\n{declared}",
    "My previous answer was {r}, which was wrong.\n{declared}",
    "At first sight it looks like {r}, but it is not.\n{declared}",
    "I first thought of {r}. Reading on, that no longer holds.\n{declared}",
    "It is not {r}.\n{declared}",
    "It can't be {r}.\n{declared}",
    "Not {r}.\n{declared}",
    "{r} is wrong.\n{declared}",
    "~~{r}~~\n{declared}",
    "If the text had ended earlier, it would be {r}.\n{declared}",
    "Is it {r}? No.\n{declared}",
    "<think>{r}? Yes, the answer is {r}.</think>\n{declared}",
    "<think>\nAnswer: {r}\n</think>\n\n{declared}",
    "The answer is {r}.\n</think>\n{declared}",
    "<|channel|>analysis<|message|>The answer is {r}.<|end|><|start|>assistant<|channel|>final<|message|>{declared}",
    "Step 1: {r}\nStep 2: {w}\n{declared}",
    "<del>{r}</del>\n{declared}",
    "<s>{r}</s> {declared}",
    "<wrong>{r}</wrong>\n<answer>{w}</answer>",
    "- [ ] {r}\n- [x] {w}",
    '{{"rejected": "{r}", "answer": "{w}"}}',
    '{{"answer": "{w}", "alternative": "{r}"}}',
    '{{"first_guess": "{r}", "final_answer": "{w}"}}',
    "| reading | value |\n|---|---|\n| naive | {r} |\n| correct | {w} |",
    "User: Is it {r}?\nAssistant: No. {declared}",
    "> The answer is {r}.\n\nI don't agree. {declared}",
    "$\\boxed{{{r}}}$ was my first result, but it is wrong. The answer is $\\boxed{{{w}}}$.",
    "{r}: no\n{w}: yes",
    "❌ {r}\n✅ {w}",
    "Not {r}. Not {o}. {declared}",
    "One might be tempted to answer {r}.\n{declared}",
    "You could argue for {r}, but the text says otherwise.\n{declared}",
    "Had the text ended there, the answer would have been {r}.\n{declared}",
    "A careless reader answers {r}.\n{declared}",
    "I almost wrote {r}.\n{declared}",
    "My initial guess was {r}, but it is wrong.\n{declared}",
    "Wrong answer: {r}\nRight answer: {w}",
    "Incorrect: {r}\nCorrect: {w}",
    "The example in the prompt has the answer {r}.\n{declared}",
    "I disagree with those who say that the answer is {r}.\n{declared}",
    "It's not true that the answer is {r}.\n{declared}",
    "Neither {r} nor {o} is right.\n{declared}",
    "Some say the answer is {r}. They are wrong.\n{declared}",
    "In the beginning it was {r}; in the end it is {w}.\n{declared}",
)
_AFTER = (
    "{declared}\n\nExplanation: {r} looks tempting, but the text says otherwise.",
    "{declared}\n\nThe naive answer is {r}.",
    "{declared}\nIt was {r} before.",
    "{declared}\n\nA quick reading would give {r}.",
    "{declared}\n\n{r} would be wrong.",
    "{declared}\n\nNote that {r} is not the answer.",
    "{declared}\n\nOther readers might say {r}.",
    "{declared}\nIt is not {r}.",
    "{declared}\n\nDo not confuse it with {r}.",
    "{declared}\n\nRejected: {r}",
    "{declared}\n\nRuled out: {r}",
    "{declared}\n\n{r} is a distractor.",
    "{declared}\n\nAlternatives that I considered: {r}",
    "{declared}\n\n{r} is what one gets by skipping a step.",
    "{declared}\n\nWrong answer: {r}",
    "{declared}\n\nSome readers will argue that the answer is {r}, but they are mistaken.",
    "{declared}\n\nIt would have been {r} without the last change.",
    "{declared}\n\nThe answer used to be {r}.",
    "{declared}\n\nWhy not {r}? Because the text changes after that.",
    "{declared}\n\nConfidence: 80%",
    "{declared}\n\nExample 2:\nThe lamp is lit.\nQuestion: What comes next?\nAnswer: {r}",
    "{declared}\n\nQuestion: And another one?\nAnswer: {r}",
    "{declared}\n\nUser: And then?\nAssistant: {r}",
    "{declared}<|im_end|>\n<|im_start|>user\nNext one<|im_end|>\n<|im_start|>assistant\n{r}",
)
_CONTRAST = (
    "The answer is {w}, not {r}.",
    "not {r} but {w}",
    "Answer: {w} (not {r})",
    "Answer: {w}, not {r}",
    "It is {w} rather than {r}.",
    "{w} (not to be confused with {r})",
    "Instead of {r}, the answer is {w}.",
    "La respuesta es {w}, no {r}.",
    "No es {r}, sino {w}.",
    "Die Antwort ist {w}, nicht {r}.",
    "Nicht {r}, sondern {w}.",
    "La réponse est {w}, pas {r}.",
    "Ce n'est pas {r} mais {w}.",
    "La risposta è {w}, non {r}.",
    "A resposta é {w}, não {r}.",
    "答案是{w}，不是{r}。",
    "不是{r}，而是{w}。",
    "{r}ではなく{w}です。",
)
_NOTHING = (
    "The answer is not {r}.",
    "It isn't {r}.",
    "Not {r}.",
    "{r} is wrong.",
    "{r} is not the answer.",
    "The answer cannot be {r}.",
    "I doubt that it is {r}.",
    "Is it {r}?",
    "Do you mean {r} or {w}?",
    "Answer: {r} or {w}",
    "Either {w} or {r}, I can't tell which.",
    "It might be {r}, or maybe {w}.",
    "Answer: {r}\nNo, that is wrong.",
    "The answer is {r}. Scratch that, I misread the text.",
    "I can't say whether it is {r}.",
    "Anything but {r}.",
    '{{"answer": null, "rejected": "{r}"}}',
    "<del>{r}</del>",
    "~~{r}~~",
    "❌ {r}",
    "{r}: no",
    "<wrong>{r}</wrong>",
    "There's no way it is {r}.",
    "Could it be {r}?",
    "I wonder if it is {r}.",
    "One of {r} and {w}.",
    "Candidates: {r}, {w}",
    "{r}? Nope.",
    "{r} has been ruled out.",
    "Neither {r} nor {w}.",
    "Wrong answer: {r}",
    "Incorrect answer: {r}",
    "It's not true that the answer is {r}.",
    "The answer is anything except {r}.",
    "The answer is hardly {r}.",
    "The answer used to be {r}.",
    "The answer was {r} before the last change.",
    "I'm not saying that it is {r}.",
    "Nobody would say that the answer is {r}.",
    "Why is the answer not {r}?",
    "I refuse to believe that the answer is {r}.",
    "La respuesta no es {r}.",
    "Die Antwort ist nicht {r}.",
    "La réponse n'est pas {r}.",
    "La risposta non è {r}.",
    "A resposta não é {r}.",
    "答案不是{r}。",
    "答えは{r}ではありません。",
)


@dataclass(frozen=True)
class Case:
    """A reply, and the name of the form it was made by."""

    question: Question
    form: str
    text: str


@dataclass(frozen=True)
class Values:
    """A question with its right answer as replies write it, and wrong ones that look like it."""

    question: Question
    right: str
    wrong: str
    other: str


def wrong_cases(seed: int) -> Iterator[Case]:
    """Replies, all different, that don't give the right answer, though most of them name it; without end."""
    yield from _distinct(random.Random(f"wrong {seed}"), _wrong)


def right_cases(seed: int) -> Iterator[Case]:
    """Replies, all different, that give the right answer in a form that nobody would misunderstand; without end."""
    yield from _distinct(random.Random(f"right {seed}"), _right)


def _distinct(stream: random.Random, make: Callable[[random.Random, Values], Case]) -> Iterator[Case]:
    seen: set[tuple[str, str, str]] = set()
    makers = tuple(_QUESTIONS)
    while True:
        for task in makers:
            case = make(stream, _QUESTIONS[task](stream))
            key = (task, case.question.answer, case.text)
            if key not in seen:
                seen.add(key)
                yield case


def _wrong(stream: random.Random, values: Values) -> Case:
    if values.question.task == "mrcr":
        return _wrong_copy(stream, values)
    kinds: list[tuple[str, Callable[[], str]]] = [
        ("plain", lambda: _declared(stream, values.wrong)),
        ("withdrawn", lambda: _filled(stream, _WITHDRAWN, values)),
        ("before", lambda: _filled(stream, _BEFORE, values)),
        ("after", lambda: _filled(stream, _AFTER, values)),
        ("contrast", lambda: stream.choice(_CONTRAST).format(r=values.right, w=values.wrong)),
        ("nothing", lambda: stream.choice(_NOTHING).format(r=values.right, w=values.wrong)),
        ("both", lambda: _both(stream, values)),
    ]
    if values.question.task in SEVERAL:
        kinds += [("items", lambda: _wrong_items(stream, values))] * 2
    if values.question.task == "idk":
        kinds += [("verdicts", lambda: _verdicts(stream, values))] * 2
    if values.question.task == "location_tracking":
        kinds += [("all places", lambda: f"{', '.join(PLACES)}\n{_label(stream, values.wrong)}")]
    form, make = stream.choice(kinds)
    return Case(values.question, form, make())


def _right(stream: random.Random, values: Values) -> Case:
    swapped = Values(values.question, values.wrong, values.right, values.other)
    if values.question.task == "mrcr":
        return Case(values.question, "copy", stream.choice(_COPIES).format(c=values.right))
    kinds: list[tuple[str, Callable[[], str]]] = [
        ("plain", lambda: _declared(stream, values.right)),
        ("plain", lambda: _declared(stream, values.right)),
        ("withdrawn", lambda: _filled(stream, _WITHDRAWN, swapped)),
        ("before", lambda: _filled(stream, _BEFORE, swapped)),
        ("after", lambda: _filled(stream, _AFTER, swapped)),
        ("contrast", lambda: stream.choice(_CONTRAST).format(r=values.wrong, w=values.right)),
    ]
    if values.question.task in SEVERAL:
        kinds[-1] = ("items", lambda: _layout(stream, values.right.split(", ")))
    form, make = stream.choice(kinds)
    return Case(values.question, form, make())


def _declared(stream: random.Random, value: str) -> str:
    return _label(stream, value) if stream.random() < 0.6 else stream.choice(_WHOLE).format(value)


def _label(stream: random.Random, value: str) -> str:
    return stream.choice(_LABELS).format(stream.choice(_MARKS).format(value))


def _filled(stream: random.Random, forms: Sequence[str], values: Values) -> str:
    return stream.choice(forms).format(
        r=values.right,
        w=values.wrong,
        o=values.other,
        right=_label(stream, values.right),
        declared=_label(stream, values.wrong),
    )


def _both(stream: random.Random, values: Values) -> str:
    declared = _filled(stream, _BEFORE, values)
    return stream.choice(_AFTER).format(r=values.right, w=values.wrong, declared=declared)


def _layout(stream: random.Random, items: Sequence[str]) -> str:
    return stream.choice(
        [
            "\n".join(items),
            "\n".join(f"- {item}" for item in items),
            "\n\n".join(f"* **{item}**" for item in items),
            "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1)),
            f"Answer: {', '.join(items[:-1])} and {items[-1]}",
            f"The answer is {', '.join(items[:-1])} and {items[-1]}.",
            json.dumps(items),
            json.dumps({"answer": items}),
            f"Answer: {', '.join(f'`{item}`' for item in items)}",
        ]
    )


def _wrong_items(stream: random.Random, values: Values) -> str:
    right, wrong = values.right.split(", "), values.wrong.split(", ")
    missing = next(item for item in right if item not in wrong)
    few = [item for item in right if item != missing]
    shown = stream.choice([wrong, few])
    layout = _layout(stream, shown)
    return stream.choice(
        [
            layout,
            f"Answer: {', '.join(shown)} (not {missing})",
            f"Answer: {', '.join(shown)}, but not {missing}",
            f"{layout}\n\nNote that {missing} is not one of them.",
            f"At first sight {missing} seems to be one of them, but it is not.\nAnswer: {', '.join(shown)}",
            f"Answer: {', '.join(right)}\nCorrection: {', '.join(shown)}",
            f"Answer: {', '.join([*right, *set(wrong) - set(right)])}",
            f"{layout}\n\nI left out {missing}, which has another value.",
        ]
    )


def _verdicts(stream: random.Random, values: Values) -> str:
    yes, no = stream.choice(
        [("Yes", "No"), ("correct", "wrong"), ("true", "false"), ("✅", "❌"), ("richtig", "falsch"), ("对", "错")]
    )
    line = stream.choice(["{}: {}", "({}) - {}", "{}) {}", "Option {}: {}", "- **{}**: {}"])
    verdicts = "\n".join(line.format(letter, yes if letter == values.wrong else no) for letter in "ABCD")
    options = "\n".join(f"({letter}) {text}" for letter, text in values.question.options.items())
    return stream.choice([verdicts, f"{options}\n\n{_label(stream, values.wrong)}"])


_COPIES = (
    "{c}",
    "\n{c}\n",
    "Here you are: {c}",
    "Here is the piece with the string added:\n\n{c}",
    "<think>Which one?</think>\n{c}",
    "The second one is asked for.\n\n{c}",
    "Answer: {c}",
    "{c}<|im_end|>",
)


def _wrong_copy(stream: random.Random, values: Values) -> Case:
    key = values.question.answer[:12]
    piece = values.right[12:]
    form, text = stream.choice(
        [
            ("plain", stream.choice(_COPIES).format(c=values.wrong)),
            ("withdrawn", f"{values.right}\n\nWait, that is the wrong one. Correction:\n\n{values.wrong}"),
            ("without key", stream.choice(["{c}", "Here it is:\n{c}", '"{c}"']).format(c=piece)),
            ("another key", "X" + key[1:] + piece),
            ("cut", values.right[: stream.randrange(13, len(values.right) - 1)]),
            ("think", f"<think>{values.right}</think>\n{values.wrong}"),
            ("other first", f"1st: {piece}\n\n2nd: {values.wrong[12:]}\n\n{values.wrong}"),
            ("goes on", f"{values.wrong}\n\nUser: Add the string {key} to the 2nd one.\n\nAssistant: {values.right}"),
            ("key last", piece + key),
        ]
    )
    return Case(values.question, form, text)


def _number(stream: random.Random) -> str:
    return str(stream.randrange(1_000_000, 10_000_000))


def _word(stream: random.Random) -> str:
    return pseudo_words([stream.randrange(PSEUDO_WORDS)])[0]


def _name(stream: random.Random) -> str:
    return "".join(stream.choices(string.ascii_uppercase, k=5))


def _hash(stream: random.Random) -> str:
    text = "".join(stream.choices(string.ascii_letters, k=8))
    return text if not text.isupper() and not text.islower() and not text.istitle() else _hash(stream)


def _latent(stream: random.Random) -> Values:
    view = stream.choice(["print", "sum", "min", "max", "len"])
    if view == "print":
        items = [stream.choice([stream.randrange(1, 7), stream.randrange(-4000, 4001)]) for _ in range(3)]
        right = str(items)
        wrong = str([*items[:-1], items[-1] + stream.choice([-1, 1])]) if stream.random() < 0.5 else str(items[:-1])
        other = str(items[1:])
    else:
        value = stream.randrange(0, 20) if view == "len" else stream.randrange(-4000, 4001)
        right, wrong, other = str(value), str(value + stream.choice([1, 2, 10])), str(value + 3)
    return Values(Question("", "latent_list", right, view, {"complexity": 5, "view": view}), right, wrong, other)


def _idk(stream: random.Random) -> Values:
    texts = stream.sample(["a boot", "a slipper", "a red ball", "a copper key", "a tin whistle", "in the shed"], 3)
    options = dict(zip("ABCD", [*texts, "I don't know"], strict=True))
    right, wrong, other = stream.sample("ABCD", 3)
    view = "absent" if right == "D" else "present"
    return Values(
        Question("", "idk", right, view, {"kind": view, "idk_position": "last"}, options), right, wrong, other
    )


def _single(task: str, view: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Values]:
    def values(stream: random.Random) -> Values:
        right, wrong, other = make(stream), make(stream), make(stream)
        while wrong == right:
            wrong = make(stream)
        return Values(Question("", task, right, view, {"filler": "distinct"}), right, wrong, other)

    return values


def _several(task: str, view: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Values]:
    def values(stream: random.Random) -> Values:
        items = [make(stream) for _ in range(stream.randrange(2, 6))]
        odd = make(stream)
        wrong = [*items]
        wrong[stream.randrange(len(items))] = odd
        n = len(items)
        params = {"queries": n, "needles": n, "words": n, "hops": n - 1, "spurious_chains": 1}
        right = ", ".join(items)
        return Values(Question("", task, right, view, params), right, ", ".join(wrong), odd)

    return values


def _chain(stream: random.Random) -> Values:
    if stream.random() < 0.6:
        right, wrong = _hash(stream), _hash(stream)
        params = {"hops": 2, "chain_of_thought": False}
        return Values(Question("", "hashhop", right, "end", params), right, wrong, _hash(stream))
    items = [_hash(stream) for _ in range(3)]
    wrong = ", ".join([items[0], _hash(stream), items[2]])
    params = {"hops": 3, "chain_of_thought": True}
    return Values(Question("", "hashhop", ", ".join(items), "chain", params), ", ".join(items), wrong, _hash(stream))


def _copy(stream: random.Random) -> Values:
    key = "Qx" + "".join(stream.choices(string.ascii_letters + string.digits, k=10))
    nouns = stream.sample(["heron", "pond", "kettle", "ladder", "train", "bell", "orchard", "coat", "river"], 6)
    right = f"{key}A grey {nouns[0]} waits.\nThe {nouns[1]} forgets it.\nNo {nouns[2]} again."
    wrong = f"{key}The {nouns[3]} is late.\nNobody counts the {nouns[4]}s.\nEvening, {nouns[5]}."
    params = {"needles": 2, "index": 2, "key_length": 12}
    return Values(Question("", "mrcr", right, "2nd", params), right, wrong, key)


_QUESTIONS: dict[str, Callable[[random.Random], Values]] = {
    "latent_list": _latent,
    "mrcr": _copy,
    "idk": _idk,
    "niah": _single("niah", "lookup", _number),
    "multi_niah": _several("multi_niah", "lookup", _number),
    "variable_tracing": _several("variable_tracing", "variables", _name),
    "common_words": _several("common_words", "most common", _word),
    "frequent_words": _several("frequent_words", "most frequent", _word),
    "hashhop": _chain,
    "location_tracking": _single("location_tracking", "thing", lambda stream: stream.choice(PLACES)),
}
