"""Re-prove an instance from its text with the independent solver; the stories' data are not consulted."""

from __future__ import annotations

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Reading
from michelangelo.tasks.idk.solver import Asked, StorySolver, lines_with, options_in, parse_query


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: four different options, exactly one of them right, the answer from the whole text and from the story
    alone, that each value the attribute could have stands where it may, be it of somebody else, and nowhere else in the
    text, filler and worked examples included, that the relevant sentence, left out, changes the answer, and every
    worked example.
    """
    solver = StorySolver()
    text = instance.messages[0]["content"]
    queries = instance.segments.of_kind("query")
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    if len(queries) != 1:
        return [f"there are {len(queries)} query segments instead of one"]
    query = instance.text(queries[0])
    asked = parse_query(query)
    whole = solver.read(instance.messages)
    problems = []
    folded = {" ".join(_words(option)) for option in asked.options.values()}
    if len(folded) != len(asked.options):
        problems.append("two options are alike")
    if dict(asked.options) != dict(instance.options):
        problems.append("the recorded options are not those of the question")
    found = solver.solve(whole)
    if found != instance.answer:
        problems.append(f"the whole text answers {found}, the recorded answer is {instance.answer}")
    chiselled = solver.solve(Reading("", tuple(relevant), query))
    story = tuple(instance.text(s) for s in instance.segments.of_kind("setup", "relevant"))
    if not chiselled == instance.answer == solver.solve(Reading("", story, query)):
        problems.append(f"without filler the text answers {chiselled}, the recorded answer is {instance.answer}")
    if (instance.certificate.full, instance.certificate.chiselled) != (found, chiselled):
        problems.append("the certificate's answers are not those found by solving")
    problems += _value_problems(instance, asked, text[: queries[0].start].lower(), relevant)
    problems += _relevance_problems(instance, whole, relevant, found)
    return problems + _example_problems(instance, solver)


def _words(text: str) -> list[str]:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return words[1:] if words[0] in ("a", "an", "the") and len(words) > 1 else words


def _value_problems(instance: Instance, asked: Asked, low: str, relevant: list[str]) -> list[str]:
    """Every value the attribute could have, options included, may stand in the relevant sentence only.

    In a confusable story each option stands in one sentence; that no more than one is of the person asked about is seen
    with the relevance.
    """
    options = [text for letter, text in asked.options.items() if letter != asked.idk]
    values = list(dict.fromkeys([*instance.certificate.facts["values"], *options]))
    right = asked.options.get(instance.answer)
    stated = options if instance.params.get("story") == "confusable" else [right]
    problems = []
    for value in values:
        expected = int(value in stated)
        counted = len(lines_with(low, value))
        if counted != expected:
            problems.append(f"{value!r} stands in the text {counted} times instead of {expected}")
        elif value == right and not any(lines_with(line.lower(), value) for line in relevant):
            problems.append(f"{value!r} does not stand in the relevant sentence")
    return problems


def _relevance_problems(instance: Instance, whole: Reading, relevant: list[str], answer: str) -> list[str]:
    expected = 1 if instance.view == "present" else 0
    if not len(relevant) == instance.complexity == expected:
        return [f"{len(relevant)} sentences are marked as relevant to a fact that is {instance.view}"]
    asked = parse_query(whole.query)
    stated = options_in("".join(whole.units), asked)
    if len(stated) != expected or (instance.answer == asked.idk) != (expected == 0):
        return [f"the text states {len(stated)} of the options of a fact that is {instance.view}"]
    changes = []
    for sentence in relevant:
        left = tuple(unit for unit in whole.units if unit != sentence)
        changes.append(StorySolver().solve(Reading("", left, whole.query)) != answer)
    certificate = instance.certificate
    if not all(changes) or not certificate.answer_relevant == certificate.state_relevant == tuple(changes):
        return ["the certificate's relevance is not what leaving the sentence out shows"]
    return []


def _example_problems(instance: Instance, solver: StorySolver) -> list[str]:
    for number, segment in enumerate(instance.segments.of_kind("demonstration"), start=1):
        shown, _, answer = instance.text(segment).rstrip().rpartition(" ")
        found = solver.solve(solver.read([{"role": "user", "content": shown.partition("\n")[2]}]))
        if found != answer:
            return [f"worked example {number} shows {answer}, its story answers {found}"]
    return []
