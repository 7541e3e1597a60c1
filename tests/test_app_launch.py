"""Finding, configuring and starting the dashboard."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from michelangelo import app_launch
from michelangelo.app_launch import app_folder, check_host, find_port, serve, server_flags
from michelangelo.errors import UserError

CHECKOUT = Path(__file__).resolve().parent.parent


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_a_checkout_serves_its_own_files() -> None:
    assert app_folder() == CHECKOUT


def test_a_wheel_serves_what_it_carries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "michelangelo"
    (package / "_app" / "pages").mkdir(parents=True)
    (package / "_app" / "app.py").touch()
    monkeypatch.setattr(app_launch, "__file__", str(package / "app_launch.py"))
    assert app_folder() == package / "_app"
    (package / "_app" / "app.py").unlink()
    with pytest.raises(UserError, match="no dashboard"):
        app_folder()


def test_the_wheel_carries_what_the_dashboard_needs() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name in ("app.py", "pages", "sample_results", "benchmarks", ".streamlit/config.toml"):
        assert carried[name] == f"michelangelo/_app/{name}"


def test_a_busy_port_gives_the_next_free_one_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with taken_port() as port:
        monkeypatch.setattr(app_launch, "FIRST_PORT", port)
        assert port < find_port("127.0.0.1") < port + 100
        with pytest.raises(UserError, match=f"port {port} is in use"):
            find_port("127.0.0.1", port)
    assert find_port("127.0.0.1", port) == port
    assert find_port("127.0.0.1") == port


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_impossible_ports_are_named(port: int) -> None:
    with pytest.raises(UserError, match=f"port {port} is outside 1 to 65535"):
        find_port("127.0.0.1", port)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(UserError, match=r"'192\.0\.2\.1' is no address of this machine"):
        find_port("192.0.2.1")


def test_options_keep_the_dashboard_to_this_machine() -> None:
    flags = server_flags(CHECKOUT, host="127.0.0.1", port=8600)
    assert {
        "--server.address=127.0.0.1",
        "--server.port=8600",
        "--server.allowedHosts=localhost",
        "--server.allowedHosts=127.0.0.1",
        "--server.headless=true",
        "--server.showEmailPrompt=false",
        "--server.enableStaticServing=false",
        "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=type",
        "--client.toolbarMode=viewer",
    } <= set(flags)
    assert sum(flag.startswith("--server.allowedHosts") for flag in flags) == 2
    for mode in ("light", "dark"):
        assert any(re.fullmatch(rf"--theme\.{mode}\.primaryColor=#[0-9a-f]{{6}}", flag) for flag in flags)


def test_every_option_is_one_that_streamlit_knows() -> None:
    from streamlit import config

    known = set(config._config_options_template)
    for flag in server_flags(CHECKOUT, host="127.0.0.1", port=8600):
        assert flag[2:].split("=")[0] in known


def test_listening_wider_must_be_asked_for_in_as_many_words() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, understood=False)
    for host in ("0.0.0.0", "10.0.0.7", "example.org"):
        with pytest.raises(UserError, match="--i-understand-no-login"):
            check_host(host, understood=False)
        check_host(host, understood=True)
    with pytest.raises(UserError, match="no address"):
        check_host("", understood=True)
    assert "--server.allowedHosts=*" in server_flags(CHECKOUT, host="0.0.0.0", port=8600)
    assert "--server.allowedHosts=10.0.0.7" in server_flags(CHECKOUT, host="10.0.0.7", port=8600)


def test_serving_runs_streamlit_with_these_options(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.web import cli

    calls: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda arguments, **_: calls.append(arguments))
    with taken_port() as port:
        pass
    serve(port=port)
    script = CHECKOUT / "michelangelo" / "app_launch.py"
    assert calls == [["run", str(script), *server_flags(CHECKOUT, host="127.0.0.1", port=port)]]


def _get(url: str) -> int:
    with urllib.request.urlopen(url, timeout=5) as reply:
        return int(reply.status)


def _open_socket(port: int, host: str) -> int:
    """The status of a websocket's opening under a host name, as a page elsewhere would try after rebinding its name."""
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(client.recv(1024).split()[1])


def test_the_app_answers_from_another_folder_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
    with taken_port() as port:
        pass
    command = [sys.executable, "-m", "michelangelo.cli", "app", "--port", str(port)]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if _get(f"http://127.0.0.1:{port}/_stcore/health") == 200:
                    break
            except OSError:
                time.sleep(0.2)
        assert _get(f"http://127.0.0.1:{port}/") == 200, log.read_text()
        assert _open_socket(port, f"127.0.0.1:{port}") == 101
        assert _open_socket(port, f"localhost:{port}") == 101
        assert _open_socket(port, "evil.example") == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0, log.read_text()
    finally:
        process.kill()
    shown = log.read_text()
    assert f"http://127.0.0.1:{port}" in shown
    assert "Traceback" not in shown
    assert "Network URL" not in shown
