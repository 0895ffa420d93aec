"""CRD, RBAC and deployment YAML, from the types."""
