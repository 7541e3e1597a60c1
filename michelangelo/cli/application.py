"""The ``michelangelo`` command: its sub-commands, and every error as one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from michelangelo.cli import analysing, bank, converting, evaluation, instances, machine, measuring
from michelangelo.cli.evaluation import StoppedError
from michelangelo.cli.output import one_line
from michelangelo.errors import MichelangeloError
from michelangelo.version import __version__

INTERRUPTED = 130
UNUSABLE = 2

app = typer.Typer(
    name="michelangelo",
    help="Find out what long-context language models can really do.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _command(function: Callable[..., Any], example: str, name: str | None = None) -> None:
    app.command(name or function.__name__, epilog=f"Example: michelangelo {example}")(function)


_command(machine.dashboard, "app --port 8600", "app")
_command(instances.tasks, "tasks --json")
_command(instances.generate, "generate latent_list --tokens 2k,8k,32k --count 10 --seed 1 --out set.jsonl")
_command(instances.verify, "verify set.jsonl")
_command(
    evaluation.run,
    "run --models reader/oracle,reader/chance --tasks latent_list --tokens 2k,8k --count 20 --out runs/first",
)
_command(evaluation.score, "score runs/first/results.jsonl --explain")
_command(evaluation.replies, "replies runs/first/results.jsonl")
_command(converting.audit, "audit 8needle_0.parquet --out 8needle_sound.parquet")
_command(measuring.xray, "xray latent_list --tokens 1k,8k --set complexity=5")
_command(measuring.cheats, "cheats latent_list --tokens 1k,8k --set complexity=5")
_command(instances.chance, "chance latent_list --set complexity=20 --draws 20000")
_command(
    measuring.perplexity,
    "perplexity --models local/gemma-3-270m --task latent_list --tokens 1k,4k --count 5 --out perplexity.jsonl",
)
_command(analysing.analyze, "analyze runs/first/results.jsonl --out report.html")
_command(analysing.sensitivity, "sensitivity runs/first/results.jsonl")
_command(converting.convert, "convert logs/*.eval results.zip other.csv --out rows.parquet --scale 100")
app.add_typer(bank.app, name="bank")
_command(machine.models, "models anthropic")
_command(machine.tokenizers, "tokenizers --check")
_command(machine.bench, "bench --out ratios.json")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        typer.echo(f"michelangelo {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: what follows the command's name; ``None`` takes the process's own.

    Returns:
        The exit code: 0 done, 1 the check it was asked for failed, 2 unusable input, 130 interrupted.
    """
    given = None if arguments is None else list(arguments)
    try:
        code = app(args=given, prog_name="michelangelo", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(f"{error.format_message().rstrip('.')}{_where_help_is(error)}")
    except MichelangeloError as error:
        return _fail(str(error))
    except StoppedError as stopped:
        sys.stderr.write(f"{one_line(str(stopped))}\n")
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):
            return _fail(f"a file ends too early: {error.__cause__}")
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:  # typer ends the process on a broken pipe
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        return _reader_left()
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")
    except Exception as error:
        if os.environ.get("MICHELANGELO_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(f"{kind}: {error} (not expected; MICHELANGELO_DEBUG=1 shows where it comes from)")
    if code == INTERRUPTED:
        sys.stderr.write("interrupted\n")
    return code if isinstance(code, int) else 0


def _reader_left() -> int:
    """Whoever read the output (head, less) has what it wanted: no error, and nothing to flush at the end."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
    return 0


def _where_help_is(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"; see {context.command_path} --help" if context else ""


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {one_line(message)}\n")
    return UNUSABLE
