#!/usr/bin/env python3
"""Writes src/sassay/types.py: every message that the agent prints, as a dataclass with the proto's names and words.

    agent/python/generate_types.py [--check]     --check only says whether the file is what it should be
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTOS = HERE.parent.parent / "proto" / "sassay" / "v1"
TARGET = HERE / "src" / "sassay" / "types.py"
ROOTS = ["Verdict", "BatchRecord", "BatchSummary", "BenchResult"]
SCALARS = {"string": "str", "bytes": "str", "bool": "bool", "double": "float", "float": "float"}
SCALARS.update({kind: "int" for kind in "int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64".split()})
TIMES = {"google.protobuf.Timestamp", "google.protobuf.Duration"}
DEFAULTS = {"str": '""', "int": "0", "float": "0.0", "bool": "False"}
# What a message can do besides holding its fields.
MIXINS = {"Verdict": "VerdictMixin"}
HEAD = '''"""What the agent prints, as dataclasses with the names and the words of proto/sassay/v1. Made by generate_types.py."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union

from ._display import VerdictMixin
from ._message import Message, OpenEnum
'''


class Node:
    """A message or an enum."""

    def __init__(self, kind, name, comment, outer):
        self.kind, self.name, self.comment, self.outer = kind, name, comment, outer
        self.fields = []  # of a message: (name, type, label, comment); of an enum: (name, comment)
        self.full = (outer.full if outer else "") + name


def parse(text):
    """Every message and enum of a file; ours are written in one style, and what is not understood is an error."""
    nodes, stack, comment = [], [], []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        words, comment = " ".join(comment), []
        opened = re.match(r"(message|enum) (\w+) \{(\})?$", line)
        if opened:
            node = Node(opened[1], opened[2], words, next((n for n in reversed(stack) if n and n.kind == "message"), None))
            nodes.append(node)
            if not opened[3]:
                stack.append(node)
        elif line.startswith("oneof ") or line.startswith("service ") or (line.startswith("rpc ") and line.endswith("{")):
            stack.append(stack[-1] if line.startswith("oneof ") else None)
        elif line == "}":
            stack.pop()
        elif stack and stack[-1] is not None:
            node = stack[-1]
            value = re.match(r"(\w+) = \d+;$", line)
            entry = re.match(r"(repeated |optional )?(map<\w+, [\w.]+>|[\w.]+) (\w+) = \d+;$", line)
            if node.kind == "enum" and value:
                node.fields.append((value[1], words))
            elif node.kind == "message" and entry:
                node.fields.append((entry[3], entry[2], (entry[1] or "").strip(), words))
            elif line and not line.startswith("reserved "):
                raise SystemExit(f"line {number} is not understood: {line}")
    return nodes


def resolve(name, node, known):
    """The node that a field's type names, seen from inside `node`."""
    name = name.replace(".", "")
    scope = node
    while scope:
        if scope.full + name in known:
            return known[scope.full + name]
        scope = scope.outer
    return known.get(name)


def prefix_of(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() + "_"


def value_names(node):
    names = []
    for name, comment in node.fields:
        short = name[len(prefix_of(node.name)):] if name.startswith(prefix_of(node.name)) else name
        names.append((short, comment))
    return names


def reachable(known):
    found, waiting = [], list(ROOTS)
    while waiting:
        node = known[waiting.pop(0)]
        if node in found:
            continue
        found.append(node)
        if node.kind == "message":
            for _, kind, _, _ in node.fields:
                target = resolve(re.sub(r"map<\w+, ([\w.]+)>", r"\1", kind), node, known)
                if target:
                    waiting.append(target.full)
    return found


def doc(text, indent):
    return '"""' + text.replace("\\", "\\\\").replace('"""', "'''") + ('"""' if not text.endswith('"') else ' """') if text else ""


def write_enum(node, out):
    out.append(f"\n\nclass {node.full}(OpenEnum):")
    out.append(f"    {doc(node.comment or node.full, 4)}\n")
    for name, comment in value_names(node):
        if comment:
            out.append(f"    # {comment}")
        out.append(f"    {name if not name[0].isdigit() else '_' + name} = {name!r}")


def write_message(node, known, out):
    bases = (MIXINS[node.full] + ", " if node.full in MIXINS else "") + "Message"
    out.append(f"\n\n@dataclass(repr=False)\nclass {node.full}({bases}):\n    {doc(node.comment or node.full, 4)}\n")
    spec = []
    for name, kind, label, comment in node.fields:
        mapped = re.match(r"map<(\w+), ([\w.]+)>", kind)
        target = resolve(mapped[2] if mapped else kind, node, known)
        inner = "str" if kind in TIMES else SCALARS.get(mapped[2] if mapped else kind) or (target and target.full)
        if not inner:
            raise SystemExit(f"{node.full}.{name} has an unknown type: {kind}")
        if comment:
            out.append(f"    # {comment}")
        shape = "one"
        if mapped:
            shape, text = "map", f"Dict[str, {inner}] = field(default_factory=dict)"
        elif label == "repeated":
            shape, text = "many", f"List[{inner}] = field(default_factory=list)"
        elif target and target.kind == "enum" and label != "optional":
            text = f"{inner} = {inner}.{value_names(target)[0][0]}"
        elif target or label == "optional":
            text = f"Optional[{inner}] = None"
        else:
            text = f"{inner} = {DEFAULTS[inner]}"
        out.append(f"    {name}: {text}")
        if target or shape != "one":
            spec.append(f'"{name}": ("{shape}", {repr(target.full) if target else None})')
    if not node.fields:
        out.append("    pass")
    out.append(f"\n\n{node.full}._SPEC = {{{', '.join(spec)}}}")


def main():
    known = {}
    for path in sorted(PROTOS.glob("*.proto")):
        for node in parse(path.read_text()):
            known[node.full] = node
    nodes = sorted(reachable(known), key=lambda node: (node.kind != "enum", node.full))
    out = [HEAD.rstrip("\n")]
    for node in nodes:
        write_enum(node, out) if node.kind == "enum" else write_message(node, known, out)
    out.append("\n\n# As the protos nest them.")
    for node in nodes:
        if node.outer and node.outer in nodes:
            out.append(f"setattr({node.outer.full}, {node.name!r}, {node.full})")
    out.append("\nTYPES: Dict[str, Any] = {kind.__name__: kind for kind in (")
    out.extend(f"    {node.full}," for node in nodes)
    out.append(")}")
    text = "\n".join(out) + "\n"
    text = text.replace("from typing import Any, Dict, List, Optional, Union\n", "from typing import Any, Dict, List, Optional\n")
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            raise SystemExit(f"{TARGET} is not what the protos say: run agent/python/generate_types.py")
        return
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
