"""A Kubernetes operator framework with a Rust core."""
