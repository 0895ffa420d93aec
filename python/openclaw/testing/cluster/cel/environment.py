"""Compiling and evaluating expressions with the CEL that Google publishes for Python.

An expression is compiled twice: against the types of the schema, for the errors of a definition, and without
types, for evaluation on plain dicts. Length and nesting are limited; the library limits iterations by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from openclaw.testing.cluster.cel.library import functions

MAXIMUM_LENGTH: Final = 10_000
"""Characters of an expression."""

_STRINGS: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_OLD_SELF: Final = re.compile(r"(?<![\w.])oldSelf\b")
_CODE: Final = re.compile(r"^(?!ERROR)[A-Z_]+: |\s*\[[A-Z_]+\]$")
_TRANSLATED: Final = (
    (re.compile(r'Key not found in map : "(.*)"'), r"no such key: \1"),
    (re.compile(r"No matching overloads found : .*"), "no such overload"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile("divide by zero"), "division by zero"),
    (re.compile("Applying SELECT to non-message type"), "no such overload"),
    (re.compile("Iteration budget exceeded"), "operation cancelled: actual cost limit exceeded"),
)
_COMPILE_TRANSLATED: Final = ((re.compile(r"(undefined field '[^']*') not found in struct '[^']*'"), r"\1"),)


class ExpressionError(Exception):
    """An expression cannot be compiled or evaluated; the text is in the words of kube-apiserver."""


def extensions() -> list[Any]:
    """What Kubernetes adds to the language."""
    return [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_math.ExtMath(),
        ext_bindings.ExtBindings(),
        cel.CelExtension("kubernetes", functions()),
    ]


@cache
def _untyped() -> Any:
    dyn = cel.Type.DYN
    variables = dict.fromkeys(("self", "oldSelf", "object", "oldObject", "request", "params"), dyn)
    return cel.NewEnv(variables={**variables, "namespaceObject": dyn}, extensions=extensions())


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression."""

    program: Any
    transition: bool
    """Whether it looks at `oldSelf`."""

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Its value. Raises ExpressionError."""
        try:
            value = self.program.eval(data=variables)
            if value.type() == cel.Type.ERROR:
                raise ExpressionError(_translated(str(value.value())))
            return value.plain_value()
        except (RuntimeError, TypeError) as error:
            raise ExpressionError(_translated(str(error))) from None


@lru_cache(maxsize=4096)
def expression(text: str, optional_old_self: bool | None = None) -> Expression:  # noqa: FBT001  Part of the cache's key.
    """Compile an expression, without types. Raises ExpressionError.

    Args:
        text: the expression.
        optional_old_self: `oldSelf` is an optional value; True: that has one, False: that has none.
    """
    if len(text) > MAXIMUM_LENGTH:
        message = f"the expression is longer than {MAXIMUM_LENGTH} characters"
        raise ExpressionError(message)
    transition = uses_old_self(text)
    if optional_old_self is not None:
        bound = "optional.of(oldSelf)" if optional_old_self else "optional.none()"
        text = f"cel.bind(oldSelf, {bound}, {text})"
    return Expression(compiled(_untyped(), text, check=False), transition)


def compiled(environment: Any, text: str, *, check: bool = True) -> Any:
    """A program. Raises ExpressionError, with the compiler's text.

    Without `check` types are only looked at during evaluation: the library's checker does not compare whole
    numbers with fractions, as Kubernetes does.
    """
    try:
        return environment.compile(text, disable_check=not check)
    except RuntimeError as error:
        message = _CODE.sub("", str(error))
        for pattern, replacement in _COMPILE_TRANSLATED:
            message = pattern.sub(replacement, message)
        raise ExpressionError(_CODE.sub("", message)) from None


def uses_old_self(text: str) -> bool:
    """Whether an expression looks at `oldSelf`."""
    return "oldSelf" in text and _OLD_SELF.search(_STRINGS.sub("''", text)) is not None


def _translated(message: str) -> str:
    message = _CODE.sub("", message)
    for pattern, replacement in _TRANSLATED:
        if pattern.search(message):
            return pattern.sub(replacement, message)
    return message
