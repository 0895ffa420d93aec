"""An operator to look at: shards under load on a real control plane, with Prometheus and Jaeger."""

from openclaw.testing.observe.backends import Prometheus, QueryError
from openclaw.testing.observe.jaeger import Jaeger, TraceStore
from openclaw.testing.observe.stack import Observed
from openclaw.testing.observe.traces import Trace, TraceSpan

__all__ = ["Jaeger", "Observed", "Prometheus", "QueryError", "Trace", "TraceSpan", "TraceStore"]
