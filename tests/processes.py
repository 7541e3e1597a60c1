"""What a program prints in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def printed_elsewhere(code: str) -> set[str]:
    """What code prints in two other processes whose hashes differ; one text where neither matters."""
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
