"""Commands about writing banks: list, check, build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from michelangelo.cli.options import AsJson, at_least
from michelangelo.cli.output import echo, print_json, table
from michelangelo.errors import ProviderError, UserError

if TYPE_CHECKING:
    from michelangelo.models.model import Model

app = typer.Typer(
    help="The writing banks that MRCR conversations are made from.",
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        echo(context.get_help())


BankName = Annotated[str, typer.Argument(metavar="BANK", help="A bank's name, or the path of its .parquet file.")]
_OWN = "michelangelo"


@app.command("list", epilog="Example: michelangelo bank list")
def list_kinds(bank: BankName = _OWN, as_json: AsJson = False) -> None:
    """List a bank's pieces: how many of each format and topic, and who wrote them."""
    from michelangelo.tasks.mrcr.bank import find_bank

    found = find_bank(bank)
    if as_json:
        print_json([{"format": f, "topic": t, "pieces": len(i)} for (f, t), i in found.groups.items()])
        return
    formats = list(dict.fromkeys(f for f, _ in found.groups))
    topics = sorted({t for _, t in found.groups})
    table(("topic", *formats), [(t, *(str(len(found.groups.get((f, t), ()))) for f in formats)) for t in topics])
    authors = ", ".join(sorted({piece.author for piece in found.pieces}))
    echo(f"{found.reference}: {len(found.pieces):,} pieces, written by {authors}")


@app.command("check", epilog="Example: michelangelo bank check")
def check(bank: BankName = _OWN, as_json: AsJson = False) -> None:
    """Check and measure a bank; exit 1 if a piece is unfit."""
    from michelangelo.tasks.mrcr.bank import find_bank
    from michelangelo.tasks.mrcr.measure import measures_of, problems_of

    found = find_bank(bank)
    problems, measures = problems_of(found), measures_of(found)
    if as_json:
        print_json({"problems": problems, **measures})
    else:
        table(("what", "figure"), [(name, str(value)) for name, value in measures.items()])
        for problem in problems:
            echo(problem)
        echo(f"{len(problems)} problems" if problems else "every piece is fit")
    if problems:
        raise typer.Exit(1)


@app.command("build", epilog="Example: michelangelo bank build --model MODEL --topics rain,bees --out b.parquet")
def build(
    model: Annotated[str, typer.Option(help="The model that writes.")],
    out: Annotated[Path, typer.Option(help="The bank's file, .parquet; appears when every piece is there.")],
    formats: Annotated[str, typer.Option(help="Comma-separated formats; left out, those of the package's bank.")] = "",
    topics: Annotated[str, typer.Option(help="Comma-separated topics; left out, those of the package's bank.")] = "",
    each: Annotated[int, typer.Option(help="Pieces per format and topic.")] = 2,
) -> None:
    """Write a bank with a connected model; the same command again goes on where it was."""
    from michelangelo.lsq.files import check_target
    from michelangelo.models import open_model
    from michelangelo.tasks.mrcr.bank import find_bank
    from michelangelo.tasks.mrcr.writing import build as write
    from michelangelo.tasks.mrcr.writing import order

    at_least("--each", each, 2)
    if out.suffix != ".parquet":
        raise UserError(f"--out {out} is not a .parquet file")
    check_target(out)
    opened = open_model(model)
    own = find_bank(_OWN)
    wanted = order(
        _named(formats) or list(dict.fromkeys(p.format for p in own.pieces)),
        _named(topics) or list(dict.fromkeys(p.topic for p in own.pieces)),
        each,
    )
    made = write(_asking(opened), opened.name, wanted, out)
    echo(f"{made.reference}: {len(made.pieces):,} pieces in {out}")


def _named(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _asking(model: Model) -> Callable[[str], str]:
    """A model as a function from request to reply."""
    import asyncio

    from michelangelo.models.model import Request

    def ask(request: str) -> str:
        completion = asyncio.run(model.complete(Request([{"role": "user", "content": request}])))
        if completion.text is None:
            raise ProviderError(completion.error or f"{model.name} returned nothing")
        return completion.text

    return ask
