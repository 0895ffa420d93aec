"""The `openclaw` command."""
