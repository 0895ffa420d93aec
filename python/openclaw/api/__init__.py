"""Resource types, the single source of truth of CRDs, defaults, validation and RBAC needs."""
