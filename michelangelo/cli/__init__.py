"""The command line: thin; every command parses its options, calls the library and prints."""

from michelangelo.cli.application import app, main

__all__ = ["app", "main"]
