"""Webhooks: admission and conversion, called out over HTTPS."""
