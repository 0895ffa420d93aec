"""Writing CEL expressions for the rules that the framework adds itself."""

from __future__ import annotations

import re

# Reserved by the CEL grammar; a property of such a name is reached as `__name__`.
_RESERVED = """
    true false null in as break const continue else for function if import let loop package namespace
    return var void while
"""
_SYMBOLS = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def escape(name: str) -> str:
    """The CEL identifier of a property name, by the API server's rules of escaping."""
    if name in _RESERVED.split():
        return f"__{name}__"
    for symbol, escaped in _SYMBOLS:
        name = name.replace(symbol, escaped)
    return name


def is_reachable(name: str) -> bool:
    """Whether CEL can name the property at all."""
    return _IDENTIFIER.fullmatch(escape(name)) is not None


def literal(text: str) -> str:
    """A CEL string literal with that content."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{quoted}'"
