"""Metrics, logs, health endpoints."""
