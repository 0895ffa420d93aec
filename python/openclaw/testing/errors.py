"""Errors raised by the test tools."""

from __future__ import annotations


class ControlPlaneError(RuntimeError):
    """A control plane, or one of its components, did not do what it was asked to."""


class BinaryNotFoundError(ControlPlaneError):
    """A control plane binary is neither in `KUBEBUILDER_ASSETS`, on PATH, nor in the user's cache."""


class BuildError(ControlPlaneError):
    """A control plane binary could not be built with Go."""


class ConditionTimeoutError(ControlPlaneError):
    """A condition was not met in time; the message tells what was seen last."""
