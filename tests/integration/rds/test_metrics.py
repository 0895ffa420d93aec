"""What is counted: instances by phase, calls by operation and result."""

from __future__ import annotations

from openclaw.runtime import Manager
from openclaw.testing.rds import THROTTLE, Fault
from tests.integration.monitored import EXTERNAL, metrics_named, names_in
from tests.integration.rds.world import PASSWORD, World
from tests.integration.reliability.waiting import eventually


def by_phase(manager: Manager) -> dict[str, float]:
    """The samples of `resource_phase`, those that are not 0.

    Raises:
        LookupError: there are none: the manager has just begun.
    """
    families = manager.metrics.registry.collect()
    samples = [sample for family in families if family.name == "resource_phase" for sample in family.samples]
    if {sample.labels["kind"] for sample in samples} != {"RDSInstance"}:
        raise LookupError("resource_phase is not there")
    return {sample.labels["phase"]: sample.value for sample in samples if sample.value}


async def test_instances_are_counted_by_phase(world: World) -> None:
    async with world.operator() as manager:
        await eventually(lambda: by_phase(manager) == {}, "there are none")
        await world.create("one")
        await world.create("two", dbInstanceClass="db.t3.giant")
        await world.available("one")
        await world.until(lambda it: it["status"]["phase"] == "Failed", "two")
        await eventually(lambda: by_phase(manager) == {"Available": 1.0, "Failed": 1.0}, "both are counted")
        await world.delete("one")
        await world.gone("one")
        await eventually(lambda: by_phase(manager) == {"Failed": 1.0}, "one is not counted any more")
        text = manager.metrics.render()[0].decode()
    assert 'external_api_call_total{account="' in text
    assert f'account="{world.account.id}"' in text
    assert PASSWORD not in text


async def test_alerts_and_dashboards_name_metrics_that_there_are(world: World) -> None:
    named = {name for name in metrics_named() if name.startswith(EXTERNAL)}
    assert {"external_api_call_duration_seconds_bucket", "resource_phase"} <= named
    # Waits are there once there was one.
    world.rds.faults.add(Fault(THROTTLE, account=world.account.id))
    async with world.operator() as manager:
        await world.create()
        await world.available()
        text = manager.metrics.render()[0].decode()
    assert named - names_in(text) == set()
