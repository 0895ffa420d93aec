"""The patches that are no server-side apply."""
