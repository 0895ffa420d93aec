"""A shard of the Widget operator, or all of it: `python -m bench.shards.shard PORT [NAME NAMESPACE]`."""

from __future__ import annotations

import sys

from bench.widget.widget import WidgetReconciler
from openclaw import Manager, Options
from openclaw.sharding import ShardOptions

GROUP = "bench"
CONCURRENCY = 10


def main(port: str, name: str | None = None, namespace: str = "default") -> None:
    """Run until SIGTERM; metrics are on loopback at `port`, Leases in `namespace`."""
    shard = None if name is None else ShardOptions(name=name, group=GROUP, namespace=namespace)
    options = Options(
        concurrency=CONCURRENCY, metrics_address=f"127.0.0.1:{port}", log_format="json", shard=shard
    )
    Manager(WidgetReconciler(), options=options).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
