"""The running app and a browser to look at it with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = Path("/usr/bin/chromium")
PATIENCE = 60  # seconds


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, served for this test session."""
    port = _free_port()
    log = tmp_path_factory.mktemp("app") / "server.log"
    command = [sys.executable, "-m", "michelangelo.cli", "app", "--port", str(port)]
    folder = tmp_path_factory.mktemp("elsewhere")
    patch = pytest.MonkeyPatch()
    patch.setenv("MICHELANGELO_RUNS", str(folder / "runs"))
    patch.setenv("PYTHONPATH", str(ROOT))
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait_for(f"http://127.0.0.1:{port}/_stcore/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)
        patch.undo()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the app did not start:\n{log.read_text()[-4000:]}")


@pytest.fixture(scope="module")  # Playwright keeps an event loop running, which other modules' tests must not meet
def browser() -> Iterator[object]:
    """Debian's Chromium; where it is missing these tests are skipped, except on CI."""
    if not CHROMIUM.exists():
        reason = f"{CHROMIUM} is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield running
        running.close()


@dataclass
class Traffic:
    """What a page received and asked for.

    Attributes:
        received: bytes that came over its web sockets.
        outside: addresses it asked for that are not this machine's.
        errors: what its console reported as errors.
    """

    received: int = 0
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@pytest.fixture
def watched(browser, app_url):  # type: ignore[no-untyped-def]
    """A page whose traffic is counted: ``(page, traffic)``."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page, traffic = context.new_page(), Traffic()

    def count(payload: str | bytes) -> None:
        traffic.received += len(payload if isinstance(payload, bytes) else payload.encode())

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    here = (app_url, "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(here) else traffic.outside.append(request.url))
    page.on("console", lambda m: traffic.errors.append(m.text) if m.type == "error" else None)
    page.set_default_timeout(PATIENCE * 1000)
    yield page, traffic
    context.close()
