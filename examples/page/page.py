"""The operator of docs/writing-an-operator.md: a Page is served by pods, themed, and listed in a directory.

openclaw manifests examples/page/page.py --output build   # CRD, role
openclaw run examples/page/page.py                        # run it here
"""

import asyncio
import hashlib
import os
from pathlib import Path

from openclaw import (
    AnnotationChanged,
    Available,
    Column,
    Conditions,
    ConditionType,
    ConfigMap,
    Context,
    CustomResource,
    DeletionChanged,
    Deployment,
    Field,
    GenerationChanged,
    Manager,
    Model,
    Reconciler,
    Result,
    Rule,
    Service,
    TerminalError,
    Watch,
    index,
)

Listed = ConditionType("Listed", true_reason="Listed", false_reason="NotAsked")
CHECK_SECONDS = 600.0
"""How often the directory is looked at: nothing tells us when it changes."""


class Page(
    CustomResource,
    group="demo.example.com",
    version="v1",
    short_names=("pg",),
    columns=(
        Column("Ready", ".status.readyReplicas", "integer"),
        Column("Available", '.status.conditions[?(@.type=="Available")].status'),
    ),
):
    """A page, the pods that serve it, and its entry in a directory."""

    class Spec(
        Model,
        rules=(
            Rule(rule="!self.listed || self.replicas > 0", message="a listed page needs replicas above 0"),
        ),
    ):
        """What the page says, and how it is served."""

        text: str = Field(min_length=1, max_length=200, description="What the page says.")
        names: list[str] = Field(
            default_factory=list, max_items=100, list_type="set", description="Who is greeted."
        )
        replicas: int = Field(1, ge=0, le=10, description="How many pods serve it.")
        theme: str | None = Field(None, max_length=253, description="A ConfigMap with a style.css.")
        listed: bool = Field(False, description="Whether the directory has the page.")

    class Status(Model):
        """How far the page is."""

        observed_generation: int | None = None
        ready_replicas: int = 0
        conditions: Conditions = Conditions()


class PageReconciler(Reconciler[Page]):
    """Keeps the children and the directory in step with each Page."""

    owns = (ConfigMap, Deployment, Service)
    indexes = (index("spec.theme"),)
    watches = (Watch(ConfigMap, index="spec.theme"),)
    triggers = GenerationChanged() | DeletionChanged() | AnnotationChanged("demo.example.com/refresh")
    finalizer = "demo.example.com/directory"
    concurrency = 8
    deadline = 20.0

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(os.environ.get("PAGE_DIRECTORY", "directory"))

    async def reconcile(self, ctx: Context, obj: Page) -> Result:
        """State the children, say how they are, keep the entry."""
        files = {"index.html": page(obj)}
        if obj.spec.theme:
            files["style.css"] = self.style(ctx, obj.spec.theme)
        await ctx.apply(ConfigMap(name=f"{obj.name}-page", data=files), exact=["data"])
        deployment = await ctx.apply(server(obj, files))
        await ctx.apply(service(obj))

        ready = int(deployment.status.get("readyReplicas", 0))
        obj.status.ready_replicas = ready
        message = f"{ready} of {obj.spec.replicas} pods are ready"
        obj.status.conditions.set(Available(when=ready >= obj.spec.replicas, message=message))
        return await self.keep_entry(ctx, obj)

    def style(self, ctx: Context, name: str) -> str:
        """The style sheet of a theme."""
        theme = ctx.get(ConfigMap, name)
        if theme is None or "style.css" not in theme.data:
            message = f"ConfigMap {name} has no style.css: create it, or take spec.theme out"
            raise TerminalError(message, reason="ThemeMissing")
        return str(theme.data["style.css"])

    async def keep_entry(self, ctx: Context, obj: Page) -> Result:
        """Put the page into the directory, or take it out."""
        entry = self.entry(obj)
        if not obj.spec.listed:
            await asyncio.to_thread(entry.unlink, missing_ok=True)
            obj.status.conditions.set(Listed(when=False))
            return Result.done()
        await asyncio.to_thread(write, entry, obj.spec.text)
        if not obj.status.conditions.is_true(Listed):
            ctx.event("Listed", f"the directory has {entry.name}")
        obj.status.conditions.set(Listed(when=True, message=entry.name))
        return Result.after(CHECK_SECONDS)

    async def finalize(self, ctx: Context, obj: Page) -> Result:
        """Take the page out of the directory; the children go by themselves."""
        await asyncio.to_thread(self.entry(obj).unlink, missing_ok=True)
        ctx.log.info("taken out of the directory")
        return Result.done()

    def entry(self, obj: Page) -> Path:
        """The page's entry: found again from the object alone, so writing it twice is no harm."""
        return self.directory / f"{obj.namespace}.{obj.name}.txt"


def write(entry: Path, text: str) -> None:
    """Write an entry, if it is not as it should be."""
    if not entry.is_file() or entry.read_text() != text:
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(text)


def page(obj: Page) -> str:
    """The page's text."""
    lines = [f"<p>{obj.spec.text}, {name}!</p>" for name in obj.spec.names or ["world"]]
    return "\n".join(lines)


def server(obj: Page, files: dict[str, str]) -> Deployment:
    """The pods. They are replaced when the files change, for the template names their digest."""
    labels = {"app.kubernetes.io/name": "page", "app.kubernetes.io/instance": obj.name}
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    container = {
        "name": "web",
        "image": "docker.io/library/nginx:1.29",
        "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
        "volumeMounts": [{"name": "page", "mountPath": "/usr/share/nginx/html"}],
    }
    return Deployment(
        name=f"{obj.name}-page",
        labels=labels,
        spec={
            "replicas": obj.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"demo.example.com/files": digest}},
                "spec": {
                    "containers": [container],
                    "volumes": [{"name": "page", "configMap": {"name": f"{obj.name}-page"}}],
                },
            },
        },
    )


def service(obj: Page) -> Service:
    """The pods' address inside the cluster."""
    labels = {"app.kubernetes.io/name": "page", "app.kubernetes.io/instance": obj.name}
    return Service(
        name=f"{obj.name}-page",
        labels=labels,
        spec={
            "selector": labels,
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
        },
    )


if __name__ == "__main__":
    Manager(PageReconciler()).run()
