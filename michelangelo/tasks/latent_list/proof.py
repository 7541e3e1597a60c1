"""Re-prove an instance from its text with the independent solver; nothing here executes the generator's operations."""

from __future__ import annotations

from michelangelo.lsq.instance import Instance
from michelangelo.tasks.latent_list.solver import ListSolver, follow, starting_list, view_output


def prove(instance: Instance) -> list[str]:
    """What does not hold, one sentence each.

    Proved are: the answer from the whole text, the answer from the relevant operations alone, each filler unit in the
    state it stands in, each operation's relevance by leaving it out, the complexity, and every worked example.
    """
    solver = ListSolver()
    text = instance.messages[0]["content"]
    relevant = [instance.text(s) for s in instance.segments.of_kind("relevant")]
    queries, setups = instance.segments.of_kind("query"), instance.segments.of_kind("setup")
    if len(queries) != 1 or len(setups) != 1:
        return [f"there are {len(setups)} setup and {len(queries)} query segments instead of one each"]
    query, setup = instance.text(queries[0]), instance.text(setups[0])
    problems = []
    answer = solver.solve(solver.read(instance.messages))
    if answer != instance.answer:
        problems.append(f"the whole session outputs {answer}, the recorded answer is {instance.answer}")
    state = starting_list(setup)
    failed = follow(state, relevant)
    chiselled = view_output(query, state)
    if failed or chiselled != instance.answer:
        problems.append(f"the relevant operations alone output {chiselled}, the recorded answer is {instance.answer}")
    if (instance.certificate.full, instance.certificate.chiselled) != (answer, chiselled):
        problems.append("the certificate's answers are not those found by solving")
    if len(relevant) != instance.complexity:
        problems.append(
            f"there are {len(relevant)} relevant operations, the recorded complexity is {instance.complexity}"
        )
    problems += _filler_problems(instance, text, setup)
    problems += _relevance_problems(instance, relevant, setup, query)
    problems += _example_problems(instance, solver)
    return problems


def _filler_problems(instance: Instance, text: str, setup: str) -> list[str]:
    """Each filler unit left out by itself: from some line after its last one on, the list must be as it is with it.

    Beside the list runs another for each unit that misses its lines and nothing else, relevant operations included,
    until both are the same. Segments of a unit that is split over several places share a name with a number.
    """
    state = starting_list(setup)
    segments = [s for s in instance.segments if s.kind in ("relevant", "filler")]
    last = {segment.unit: place for place, segment in enumerate(segments) if ":" in segment.unit}
    without: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        lines = text[segment.start : segment.end].splitlines()
        own = segment.unit if segment.unit in last else f"at character {segment.start}"
        if segment.kind == "filler" and own not in without:
            without[own] = list(state)
        failed = follow(state, lines)
        if failed:
            return [f"line {failed[0].strip()!r} at character {segment.start} can't be executed"]
        for unit, other in list(without.items()):
            if unit != own and follow(other, lines):
                return [f"without the filler unit {unit} line {lines[0]!r} can't be executed"]
            if other == state and place >= last.get(unit, 0):
                del without[unit]
    return [f"the filler unit {unit} changes the list" for unit in without]


def _relevance_problems(instance: Instance, relevant: list[str], setup: str, query: str) -> list[str]:
    whole = starting_list(setup)
    follow(whole, relevant)
    answer = view_output(query, whole)
    of_state, of_answer = [], []
    for k in range(len(relevant)):
        state = starting_list(setup)
        possible = not follow(state, relevant[:k] + relevant[k + 1 :])
        of_state.append(not possible or state != whole)
        of_answer.append(not possible or view_output(query, state) != answer)
    problems = []
    for name, found, recorded in (
        ("state", of_state, instance.certificate.state_relevant),
        ("answer", of_answer, instance.certificate.answer_relevant),
    ):
        wrong = [k for k, (a, b) in enumerate(zip(found, recorded, strict=False)) if a != b]
        if wrong or len(found) != len(recorded):
            at = f" of operation {wrong[0]}" if wrong else ""
            problems.append(f"the certificate's {name} relevance{at} is not what leaving it out shows")
    promised = {"state": all(of_state), "answer": all(of_answer)}.get(str(instance.params["relevance"]), True)
    if not (promised and instance.certificate.promise):
        problems.append(f"relevance={instance.params['relevance']} is not kept by every operation")
    return problems


def _example_problems(instance: Instance, solver: ListSolver) -> list[str]:
    for number, segment in enumerate(instance.segments.of_kind("demonstration"), start=1):
        session, _, shown = instance.text(segment).rstrip().rpartition("\n")
        found = solver.solve(solver.read([{"role": "user", "content": session}]))
        if found != shown:
            return [f"worked example {number} shows {shown}, its session outputs {found}"]
    return []
