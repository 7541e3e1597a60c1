"""A worker that knows the toy task and a slow, counted model: ``python -m tests.runs_child FOLDER DELAY``."""

from __future__ import annotations

import sys
from pathlib import Path

from michelangelo.errors import UserError
from michelangelo.models import Completion, Request
from michelangelo.runs.worker import work
from tests.fake_models import Fake, fake_model, solved
from tests.toy_task import toy_task


def main(folder: str, delay_s: float) -> int:
    asked = Path(folder) / "asked"

    def reply(request: Request, call: int) -> Completion:
        with asked.open("a") as file:
            file.write("x")
        return solved(request, call)

    with toy_task(), fake_model(Fake(reply, delay_s)):
        try:
            work(folder)
        except UserError as error:
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
