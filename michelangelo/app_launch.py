"""Finding the dashboard's files, in a checkout or inside the installed wheel, and serving them on this machine only."""

from __future__ import annotations

import errno
import os
import runpy
import socket
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from michelangelo.errors import UserError

FIRST_PORT = 8501
"""The port that is tried first, as Streamlit does."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""

EXPOSED = (
    "lets other machines open the dashboard, which has no login: "
    "whoever reaches it can read your results and start runs with your keys"
)
"""What listening beyond this machine means."""

_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound
_TRIED = 100


def app_folder() -> Path:
    """The folder with ``app.py``, ``pages/``, ``benchmarks/`` and the sample results.

    Raises:
        UserError: where the installation lacks them.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_app", package.parent):
        if (folder / "app.py").is_file() and (folder / "pages").is_dir():
            return folder
    raise UserError("this installation has no dashboard (app.py and pages/); install the michelangelo-lsq wheel again")


def find_port(host: str, port: int | None = None) -> int:
    """A port to listen on: the one asked for, else the first free one from ``FIRST_PORT``.

    Args:
        host: address to listen on.
        port: 1 to 65535, or ``None``.

    Raises:
        UserError: where the port asked for is taken or not allowed, or the address is none of this machine's.
    """
    if port is not None:
        if not 1 <= port <= 65_535:
            raise UserError(f"port {port} is outside 1 to 65535")
        reason = _why_not(host, port)
        if reason:
            raise UserError(f"port {port} {reason}; leave out --port to take the next free one")
        return port
    for candidate in range(FIRST_PORT, FIRST_PORT + _TRIED):
        if not _why_not(host, candidate):
            return candidate
    raise UserError(f"no free port from {FIRST_PORT} to {FIRST_PORT + _TRIED - 1}; name another with --port")


def _why_not(host: str, port: int) -> str | None:
    """Why one can't listen there, or ``None`` where one can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise UserError(f"host {host!r} is not known; give an address of this machine") from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise UserError(f"host {host!r} is no address of this machine") from None
        return "is in use" if error.errno == errno.EADDRINUSE else f"can't be used ({error.strerror})"
    return None


def server_flags(folder: Path, *, host: str, port: int) -> list[str]:
    """Streamlit's command-line options: those of ``.streamlit/config.toml`` beside the app, then address and port.

    The file alone would do for an app started in its own folder; flags also win over a user's own configuration.
    """
    options = dict(_flat(tomllib.loads((folder / ".streamlit" / "config.toml").read_text(encoding="utf-8"))))
    allowed = list(options["server.allowedHosts"])
    if host in _WILDCARDS:
        allowed = ["*"]
    elif host not in allowed:
        allowed.append(host)
    options |= {"server.address": host, "server.port": port, "server.allowedHosts": allowed}
    options["server.fileWatcherType"] = "none"
    flags = []
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            flags.append(f"--{name}={str(one).lower() if isinstance(one, bool) else one}")
    return flags


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def check_host(host: str, *, understood: bool) -> None:
    """Refuse to listen beyond this machine unless that is asked for in as many words.

    Raises:
        UserError: where ``host`` is empty, or no loopback address while ``understood`` is false.
    """
    if not host:
        raise UserError(f"host '' is no address; give one such as {LOOPBACK[0]}")
    if host not in LOOPBACK and not understood:
        raise UserError(f"host {host!r} {EXPOSED}; add --i-understand-no-login if you want that")


def serve(*, host: str = "127.0.0.1", port: int | None = None) -> None:
    """Serve the dashboard until it is interrupted.

    Args:
        host: address to listen on.
        port: port to listen on; ``None`` takes the first free one from ``FIRST_PORT``.

    Raises:
        UserError: as ``app_folder`` and ``find_port``.
    """
    folder = app_folder()
    flags = server_flags(folder, host=host, port=find_port(host, port))
    from streamlit.web import cli

    cli.main(["run", __file__, *flags], prog_name="streamlit", standalone_mode=False)


if __name__ == "__main__":
    # Streamlit runs this file, away from ``pages/``: beside a folder of that name it serves a first request for a page
    # of its own older navigation, before ``app.py`` has said what the pages are.
    runpy.run_path(str(app_folder() / "app.py"))
