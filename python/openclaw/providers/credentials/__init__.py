"""Where credentials come from: Secrets, the pod, roles, Vault."""
