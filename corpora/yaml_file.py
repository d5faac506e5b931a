"""A YAML file as plain values, with the line of each key for error messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from corpora.errors import InputError, Problem


class _Loader(yaml.SafeLoader):
    """YAML with `1e-4` as a number (PyYAML reads text) and without `on` and `off` as booleans."""


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
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise InputError(Problem(str(path), f"is not UTF-8 (byte {error.start})")) from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise InputError(Problem(f"{path}:1", "a sweep is a mapping of keys; found none"))
        problems = [*_repeated_keys(path, node), *_unkept_texts(path, node)]
        if problems:
            raise InputError(problems)
        return loader.construct_document(node), Lines(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(Problem(where, f"is not YAML: {getattr(error, 'problem', None) or error}")) from None
    finally:
        loader.dispose()


def _unkept_texts(path: Path, node: yaml.Node):
    """Texts with the character NUL or half of a surrogate pair, which escapes can write and no database keeps."""
    if isinstance(node, yaml.ScalarNode):
        if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in node.value):
            yield Problem(f"{path}:{node.start_mark.line + 1}", f"{node.value[:80]!r} holds a character that is no text "
                          "(\\0 or \\ud800 to \\udfff): leave it out")
    else:
        for part in node.value:
            for inner in part if isinstance(node, yaml.MappingNode) else (part,):
                yield from _unkept_texts(path, inner)


def _repeated_keys(path: Path, node: yaml.Node):
    pairs = (
        node.value
        if isinstance(node, yaml.MappingNode)
        else [(item, item) for item in node.value]
        if isinstance(node, yaml.SequenceNode)
        else []
    )
    seen: dict[str, int] = {}
    for key, value in pairs:
        if isinstance(node, yaml.MappingNode):
            if key.value in seen:
                yield Problem(
                    f"{path}:{key.start_mark.line + 1}: {key.value}",
                    f"this key stands on line {seen[key.value]} already",
                )
            seen[str(key.value)] = key.start_mark.line + 1
        yield from _repeated_keys(path, value)
