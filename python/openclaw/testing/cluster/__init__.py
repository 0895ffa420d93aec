"""A Kubernetes API in memory: what clients see of a cluster, without one."""
