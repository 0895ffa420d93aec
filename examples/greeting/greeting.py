"""The smallest useful operator: a Greeting becomes a ConfigMap with a page that greets.

openclaw manifests examples/greeting/greeting.py --output build   # CRD, role, deployment
openclaw run examples/greeting/greeting.py                        # run it here
"""

from openclaw import (
    Available,
    Conditions,
    ConfigMap,
    Context,
    CustomResource,
    Field,
    Manager,
    Model,
    Reconciler,
    Result,
)


class Greeting(CustomResource, group="demo.example.com", version="v1"):
    """A page that greets."""

    class Spec(Model):
        """What the page says, and to whom."""

        text: str = Field(min_length=1, max_length=200, description="What the page says.")
        names: list[str] = Field(default_factory=list, max_items=100, description="Who is greeted.")

    class Status(Model):
        """How far the page is."""

        observed_generation: int | None = None
        conditions: Conditions = Conditions()


class GreetingReconciler(Reconciler[Greeting]):
    """Keeps the page in step with its Greeting."""

    owns = (ConfigMap,)

    async def reconcile(self, ctx: Context, obj: Greeting) -> Result:
        """State the page; whatever differs is put right."""
        lines = [f"{obj.spec.text}, {name}!" for name in obj.spec.names or ["world"]]
        await ctx.apply(ConfigMap(name=f"{obj.name}-page", data={"index.txt": "\n".join(lines)}))
        obj.status.conditions.set(Available(when=True, message=f"{len(lines)} greetings"))
        return Result.done()


if __name__ == "__main__":
    Manager(GreetingReconciler()).run()
