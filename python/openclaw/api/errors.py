"""What can be wrong with a declared type, and with an object that is read as one."""

from __future__ import annotations


class SchemaError(TypeError):
    """A declaration that no CRD can express. Raised while the class is created; names class and field."""


class InvalidObjectError(ValueError):
    """An object that does not fit its declared type. The message names the object and each wrong field."""
