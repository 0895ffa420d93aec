"""The example of docs/testing.md: an AWS client against the stand-in for RDS."""

from __future__ import annotations

from aiobotocore.session import get_session

from openclaw.testing.rds import ManualClock, RDSStandIn


async def test_a_database_comes_up_on_a_clock_of_our_own() -> None:
    clock = ManualClock()
    async with RDSStandIn(clock=clock) as rds:
        key = rds.new_key("123456789012")
        async with get_session().create_client(
            "rds",
            region_name="eu-central-1",
            endpoint_url=rds.url,
            aws_access_key_id=key.id,
            aws_secret_access_key=key.secret,
        ) as client:
            await client.create_db_instance(
                DBInstanceIdentifier="orders",
                Engine="postgres",
                DBInstanceClass="db.t4g.small",
                AllocatedStorage=20,
                MasterUsername="shop",
                MasterUserPassword="correct-horse",
            )
            region = rds.account("123456789012").region("eu-central-1")
            assert [it.status for it in region.databases] == ["creating"]
            clock.advance(600)
            (found,) = (await client.describe_db_instances())["DBInstances"]
            assert found["DBInstanceStatus"] == "available"
            region.change("orders", AllocatedStorage=40)  # somebody else does
        assert rds.ledger.counts() == {("CreateDBInstance", "ok"): 1, ("DescribeDBInstances", "ok"): 1}
