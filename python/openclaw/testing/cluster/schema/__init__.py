"""Schemas: what objects look like, and what is wrong with them."""
