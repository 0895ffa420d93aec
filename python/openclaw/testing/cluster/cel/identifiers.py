"""Field names as CEL expressions write them.

Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_RESERVED: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"}
    | {"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_PARTS: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[./-]")
_IDENTIFIER: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The field's name in an expression; None when no expression can name it."""
    if name in _RESERVED:
        return f"__{name}__"
    text = _ESCAPED.sub(lambda match: _PARTS[match[0]], name)
    return text if _IDENTIFIER.fullmatch(text) else None
