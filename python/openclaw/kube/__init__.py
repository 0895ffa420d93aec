"""Speaking to the API server. Knows no controller."""
