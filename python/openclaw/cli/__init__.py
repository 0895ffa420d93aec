"""The openclaw command."""
