"""Options and arguments checked before any work: lists in words, files and folders that are to be written."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import InputError, Problem

LONGEST = 255
"""Bytes of a name, on every file system that matters."""


def words(option: str, given: Sequence[str] | None) -> list[str]:
    """`--suite q2c,q2d --suite spans` as three words. An option that is given and names nothing is a mistake."""
    found = [word.strip() for one in given or () for word in one.split(",") if word.strip()]
    if given and not found:
        raise InputError(Problem(option, f"takes words separated by commas, found {','.join(given)!r}: name one, or leave it out"))
    return found


def check_target(option: str, path: Path, folder: bool = False) -> None:
    """Refuses, before the work, a file (or `folder`) that could not be written after it."""
    if problem := _unwritable(Path(path), folder):
        raise InputError(Problem(option, f"{path} cannot be written: {problem}"))


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuses an empty argument, which as a folder would be the current one: a variable of the shell was not set."""
    for place, one in enumerate(arguments):
        option, equals, value = one.partition("=")
        if not one or (equals and not value and re.fullmatch(r"--[a-z-]+", option)):
            before = option if equals else arguments[place - 1] if place and arguments[place - 1].startswith("--") else "an argument"
            raise InputError(Problem(before, "is empty: is a variable of the shell not set?"))


def _unwritable(path: Path, folder: bool) -> str | None:
    if any(len(os.fsencode(part)) > LONGEST for part in path.parts):
        return f"a name is longer than {LONGEST} bytes"
    if folder and os.path.lexists(path):
        parent = path
    elif os.path.isdir(path):
        return "it is a folder: name a file in it"
    elif os.path.exists(path) and not os.path.isfile(path):
        return "it is a pipe, a socket or a device"  # a rename would replace it
    else:
        parent = next(place for place in path.absolute().parents if os.path.lexists(place))
    if not os.path.isdir(parent):
        return f"{parent} is no folder"
    if not os.access(parent, os.W_OK | os.X_OK):
        return f"no permission to write in {parent}"
    return None
