"""The agent's JSON as objects and back, without protobuf."""
from __future__ import annotations

import dataclasses
import sys
from enum import Enum
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, Type, TypeVar

M = TypeVar("M", bound="Message")


class OpenEnum(str, Enum):
    """A proto's enum. Compares with its name; a value that a newer service invented is kept as it came."""

    @classmethod
    def _missing_(cls, value: object) -> Optional["OpenEnum"]:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value
        member._value_ = value
        return member

    def __str__(self) -> str:
        return str(self._value_)


class Message:
    """A proto's message. What is not there has proto3's default, messages and optional fields None."""

    # Of each field that is no plain scalar: "one", "many" or "map", and the class of what it holds.
    _SPEC: ClassVar[Dict[str, Tuple[str, Optional[str]]]] = {}

    @classmethod
    def from_dict(cls: Type[M], data: Mapping[str, Any]) -> M:
        """From the agent's JSON. Fields that a newer agent invented are passed over."""
        values = {}
        for each in dataclasses.fields(cls):  # type: ignore[arg-type]
            if each.name not in data:
                continue
            shape, name = cls._SPEC.get(each.name, ("one", None))
            values[each.name] = _read(cls, shape, name, data[each.name])
        return cls(**values)

    def to_dict(self) -> Dict[str, Any]:
        """As the agent prints it: fields without a value are left out, enums are their names."""
        found: Dict[str, Any] = {}
        for each in dataclasses.fields(self):  # type: ignore[arg-type]
            value = _plain(getattr(self, each.name))
            default = each.default if each.default is not dataclasses.MISSING else each.default_factory()  # type: ignore[misc]
            if value != _plain(default):
                found[each.name] = value
        return found

    def __repr__(self) -> str:
        shown = []
        for each in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            default = each.default if each.default is not dataclasses.MISSING else each.default_factory()  # type: ignore[misc]
            if value != default:
                shown.append(f"{each.name}={str(value) if isinstance(value, OpenEnum) else repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _read(owner: Type[Message], shape: str, name: Optional[str], value: Any) -> Any:
    kind = getattr(sys.modules[owner.__module__], name) if name else None

    def make(each: Any) -> Any:
        if kind is None:
            return each
        return kind.from_dict(each) if issubclass(kind, Message) else kind(each)

    if shape == "many":
        return [make(each) for each in value]
    if shape == "map":
        return {key: make(each) for key, each in value.items()}
    return make(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, OpenEnum):
        return str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value
