"""The controllers inside the cluster: garbage collection, namespaces, definitions, workloads."""
