"""What dashboards and alerts ask a real Prometheus that scrapes three shards under load."""

from __future__ import annotations

import re

import pytest

from openclaw.testing.observe import Observed, QueryError
from tests.integration.monitored import alerts, panels, variables
from tests.integration.reliability.waiting import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]
WAIT = 120.0


def as_grafana(expression: str) -> str:
    """With all of each variable, and a short interval."""
    return re.sub(r"\$(namespace|controller|pod|provider)\b", ".*", expression).replace(
        "$__rate_interval", "1m"
    )


def without_threshold(expression: str) -> str:
    """What an alert compares: the series that it looks at, whether all is well or not."""
    if inside := re.fullmatch(r"absent\((.*)\)", expression.strip()):
        return inside[1]
    # What fails has no series where nothing does.
    expression = re.sub(r"\b(code|result|reason)=~?\"[^\"]*\"(, )?", "", expression)
    return re.sub(r"\s(>|<|==)\s-?[0-9.]+\s*$", "", expression.strip())


async def test_every_panel_has_data(observed: Observed) -> None:
    left = {where: as_grafana(expr) for where, expr in panels().items()}
    assert left

    async def all_have_data() -> bool:
        for where, expression in list(left.items()):
            if any(sample["value"][1] != "NaN" for sample in await observed.prometheus.query(expression)):
                del left[where]
        assert not left, left
        return True

    await eventually(all_have_data, "data for each", timeout=WAIT, interval=1.0)


async def test_every_variable_has_values(observed: Observed) -> None:
    left = [as_grafana(selector) for selector in variables()]

    async def all_have_values() -> bool:
        left[:] = [it for it in left if not await observed.prometheus.query(it)]
        assert not left, left
        return True

    await eventually(all_have_values, "values for each", timeout=WAIT, interval=1.0)


async def test_every_alert_looks_at_series_that_there_are(observed: Observed) -> None:
    assert await observed.prometheus.rule_names() == set(alerts())
    left = {name: without_threshold(alert["expr"]) for name, alert in alerts().items()}

    async def all_have_series() -> bool:
        for name, expression in list(left.items()):
            if await observed.prometheus.query(expression):
                del left[name]
        assert not left, left
        return True

    await eventually(all_have_series, "series for each", timeout=WAIT, interval=1.0)


async def test_what_fails_is_noticed_and_nothing_else(observed: Observed) -> None:
    """The load has an OpenClaw that cannot be made, and a database of a class that does not exist."""
    expected = {"OpenClawReconcileErrors", "OpenClawResourcesFailed"}

    async def noticed() -> bool:
        return expected <= set(await observed.prometheus.alerts())

    await eventually(noticed, "the alerts to be pending", timeout=WAIT, interval=1.0)
    critical = {name for name, alert in alerts().items() if alert["labels"]["severity"] == "critical"}
    states = await observed.prometheus.alerts()
    assert {name for name, state in states.items() if state == "firing"} & critical == set()


async def test_what_is_no_promql_is_refused(observed: Observed) -> None:
    with pytest.raises(QueryError, match="parse error"):
        await observed.prometheus.query("sum by (pod) (rate(x[1m])")
