"""A YAML file as plain values, with the line of each key for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from corpora.errors import InputError, Problem


LARGEST = 1 << 20
"""Bytes of a file, and values once its aliases are written out: what a person writes is a thousandth of it."""


_TEXT = "tag:yaml.org,2002:str"
_KEYS = (_TEXT, "tag:yaml.org,2002:merge")
_TAGS = {"int": "a whole number", "float": "a number", "bool": "true or false", "timestamp": "a date", "binary": "base64"}


class _Loader(yaml.SafeLoader):
    """YAML with `1e-4` as a number (PyYAML reads text) and without `on` and `off` as booleans."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """PyYAML lets the errors of Python's own conversions through: `2026-13-01`, `!!int five`."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, AttributeError, OverflowError):
            kind = _TAGS.get(node.tag.rpartition(":")[2], node.tag)
            raise ConstructorError(None, None, f"{str(node.value)[:80]!r} cannot be read as {kind}: quote it if it is text",
                                   node.start_mark) from None


_Loader.yaml_implicit_resolvers = {
    letter: [
        (tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float")
    ]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|nan))$"),
    list("-+0123456789."),
)


@dataclass(frozen=True)
class Lines:
    """The line on which each key of a YAML file stands."""

    root: yaml.Node

    def of(self, key: tuple[str, ...]) -> int:
        """Line of the key path; of its nearest parent that the file has where a part is absent."""
        node, line = self.root, self.root.start_mark.line
        for part in key:
            if isinstance(node, yaml.MappingNode):
                inner = next(((k, v) for k, v in node.value if k.value == part), None)
            elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
                inner = (node.value[int(part)],) * 2
            else:
                inner = None
            if inner is None:
                break
            line, node = inner[0].start_mark.line, inner[1]
        return line + 1


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """The mapping in the file. Raises InputError for what is no YAML, no mapping, names a key twice or cannot be stored."""
    text = _text(path)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            _check(path, node)
            return loader.construct_document(node), Lines(node)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(Problem(f"{path}:{line}", f"is not YAML: character #x{error.character:04x} is not allowed")) from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        if problem == "but found another document":
            problem = "a second document begins (---), and a file holds one"
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(Problem(where, f"is not YAML: {problem}")) from None
    except RecursionError:
        raise InputError(Problem(str(path), "is nested too deeply to be read")) from None


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(Problem(str(path), f"is larger than {LARGEST >> 20} MiB: it is no file of settings"))
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(Problem(f"{path}:{line}", f"is not UTF-8 (byte {error.start}): save the file as UTF-8")) from None


def _check(path: Path, node: yaml.Node | None) -> None:
    """Everything that YAML allows and a file of settings must not hold, at once; aliases are looked at once each."""
    if not isinstance(node, yaml.MappingNode):
        raise InputError(Problem(f"{path}:1", f"the whole is a mapping of keys, `key: value`; found {_kind(node)}"))
    if _written_out(path, node, set(), {}) > LARGEST:
        raise InputError(Problem(str(path), "its aliases (*name) stand for millions of values: write out what is needed"))
    problems = [problem for each in _nodes(node) for problem in (*_wrong_keys(path, each), *_unkept_texts(path, each))]
    if problems:
        raise InputError(problems)


def _kind(node: yaml.Node | None) -> str:
    if node is None:
        return "nothing"
    if isinstance(node, yaml.ScalarNode):
        return f"{node.value[:80]!r}" if node.tag == _TEXT else node.value[:80] or "nothing"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _written_out(path: Path, node: yaml.Node, around: set[int], known: dict[int, int]) -> int:
    """Values that the node stands for without aliases. `around`: what it lies in, which it must not hold again."""
    if id(node) in around:
        raise InputError(Problem(f"{path}:{node.start_mark.line + 1}", "an alias (*name) stands inside what it names"))
    if id(node) not in known:
        around.add(id(node))
        known[id(node)] = 1 + sum(_written_out(path, part, around, known) for part in _inner(node))
        around.remove(id(node))
    return known[id(node)]


def _nodes(root: yaml.Node) -> list[yaml.Node]:
    """Each node once, in the order of the file."""
    found: dict[int, yaml.Node] = {}
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if id(node) not in found:
            found[id(node)] = node
            ahead += reversed(_inner(node))
    return list(found.values())


def _unkept_texts(path: Path, node: yaml.Node) -> Iterator[Problem]:
    """Texts with the character NUL or half of a surrogate pair, which escapes can write and no database keeps."""
    if isinstance(node, yaml.ScalarNode) and any(each == "\0" or "\ud800" <= each <= "\udfff" for each in node.value):
        yield Problem(f"{path}:{node.start_mark.line + 1}", f"{node.value[:80]!r} holds a character that is no text "
                      "(\\0 or \\ud800 to \\udfff): leave it out")


def _wrong_keys(path: Path, node: yaml.Node) -> Iterator[Problem]:
    """Keys that are no text or number, or stand twice."""
    seen: dict[str, int] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag not in _KEYS:
            yield Problem(f"{path}:{line}", f"a key is a word, found {_kind(key)}")
            continue
        if key.value in seen:
            yield Problem(f"{path}:{line}: {key.value}", f"this key stands on line {seen[key.value]} already")
        seen[key.value] = line
