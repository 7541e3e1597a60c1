"""Re-prove a conversation from its text with the independent solver."""

from __future__ import annotations

from michelangelo.lsq.instance import Instance
from michelangelo.lsq.task import Reading
from michelangelo.tasks.mrcr.solver import ConversationSolver, parse_question, parse_unit
from michelangelo.tasks.mrcr.wording import folded


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: alternating turns, the answer from the whole conversation and from the matching turns alone, how many
    pieces match, that no two replies are alike, that no other turn could be taken for a match, and the relevance of
    each needle by leaving it out.
    """
    solver = ConversationSolver()
    roles = [m["role"] for m in instance.messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        return ["turns do not alternate between user and assistant"]
    reading = solver.read(instance.messages)
    question = parse_question(reading.query)
    turns = [parse_unit(unit) for unit in reading.units]
    matching = [unit for unit, (what, _) in zip(reading.units, turns, strict=True) if what == question.what]
    answer = solver.solve(reading)
    chiselled = solver.solve(Reading("", tuple(matching), reading.query))
    replies = [reply for _, reply in turns]
    problems = []
    if answer != instance.answer:
        problems.append("the conversation's answer is not the recorded one")
    if (instance.certificate.full, instance.certificate.chiselled) != (answer, chiselled) or answer != chiselled:
        problems.append("the certificate's answers are not those found by solving")
    if not len(matching) == instance.complexity == instance.certificate.facts["matching"]:
        problems.append(f"{len(matching)} pieces match the question, {instance.complexity} are recorded")
    if not 1 <= question.ordinal <= len(matching):
        problems.append(f"number {question.ordinal} is asked for, {len(matching)} pieces match")
    if len(set(replies)) != len(replies):
        problems.append("two replies are alike")
    if any(what is None for what, _ in turns):
        problems.append("a user turn is no request for a piece")
    near = sum(what is not None and folded(what) == folded(question.what) for what, _ in turns)
    if near != len(matching):
        problems.append(f"{near - len(matching)} further turns could be taken for what is asked for")
    if any(question.key in reply for reply in replies):
        problems.append("the string asked for occurs in a reply")
    return problems + _relevance_problems(instance, matching, reading.query, answer) + _segment_problems(instance)


def _relevance_problems(instance: Instance, matching: list[str], query: str, answer: str) -> list[str]:
    ordinal = parse_question(query).ordinal
    changes = []
    for k in range(len(matching)):
        left = (*matching[:k], *matching[k + 1 :])
        changes.append(len(left) < ordinal or ConversationSolver().solve(Reading("", left, query)) != answer)
    if tuple(changes) != tuple(instance.certificate.answer_relevant):
        return ["the certificate's answer relevance is not what leaving needles out shows"]
    if not all(instance.certificate.state_relevant) or len(instance.certificate.state_relevant) != len(matching):
        return ["the certificate's state relevance is not what leaving needles out shows"]
    return []


def _segment_problems(instance: Instance) -> list[str]:
    units = {s.unit for s in instance.segments.of_kind("relevant")}
    if len(units) != instance.complexity:
        return [f"{len(units)} turns are marked as relevant, the complexity is {instance.complexity}"]
    what = parse_question(instance.messages[-1]["content"]).what
    asked = [s for s in instance.segments.of_kind("relevant") if instance.messages[s.message]["role"] == "user"]
    if any(parse_unit(instance.text(s))[0] != what for s in asked):
        return ["a turn marked as relevant does not match the question"]
    return []
