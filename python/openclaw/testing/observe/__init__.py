"""An operator to look at: shards under load on a real control plane, with Prometheus and Jaeger."""

from openclaw.testing.observe.backends import Jaeger, Prometheus, QueryError
from openclaw.testing.observe.stack import Observed

__all__ = ["Jaeger", "Observed", "Prometheus", "QueryError"]
