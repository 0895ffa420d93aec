"""All files that follow from a set of controllers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw.api import CustomResource
from openclaw.manifests.crd import by_kind, custom_resource_definition
from openclaw.manifests.deployment import METRICS_PORT, metrics_service, namespace_of, stateful_set
from openclaw.manifests.rbac import ReconcilerClass, binding, operator_role, service_account, user_roles
from openclaw.manifests.yaml import dump

Json = dict[str, Any]

CRD_FOLDER = "crds"
BASE_FOLDER = "deploy/base"


def generate(
    reconcilers: Sequence[ReconcilerClass],
    *,
    image: str,
    namespace: str = "openclaw-system",
    name: str = "openclaw",
    watch_namespace: str | None = None,
    kinds: Sequence[type[CustomResource]] = (),
    arguments: Sequence[str] = ("run",),
) -> dict[str, str]:
    """The manifests of an operator: relative path -> text. The same declarations give the same texts.

    Args:
        reconcilers: the operator's controllers, as classes.
        image: the operator's container image.
        namespace: where the operator itself runs.
        name: the name of the operator's own objects.
        watch_namespace: the only namespace in which objects are watched; with it the operator gets a Role
            there, and no ClusterRole.
        kinds: further kinds, and further versions of the root kinds, to write CRDs of.
        arguments: how the image's command is called; the metrics address is added.

    Raises:
        ManifestError: what is declared can't be granted by a Role.
        SchemaError: the classes of a kind contradict each other.
    """
    declared = list(dict.fromkeys([*(reconciler.root for reconciler in reconcilers), *kinds]))
    files: dict[str, str] = {}
    for versions in by_kind(declared):
        crd = custom_resource_definition(*versions)
        resource = versions[0].resource
        files[f"{CRD_FOLDER}/{resource.group}_{resource.plural}.yaml"] = dump([crd])

    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/component": "operator",
        "app.kubernetes.io/part-of": name,
    }
    selector = {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/component")}
    account = service_account(name=name, namespace=namespace, labels=labels)
    role = operator_role(reconcilers, name=f"{name}-operator", labels=labels, watch_namespace=watch_namespace)
    users = user_roles([versions[0] for versions in by_kind(declared)], name=name, labels=labels)
    files[f"{BASE_FOLDER}/rbac.yaml"] = dump([account, role, binding(role, account), *users])

    command = [*arguments, "--metrics-address", f"0.0.0.0:{METRICS_PORT}"]
    if watch_namespace is not None:
        command += ["--namespace", watch_namespace]
    files[f"{BASE_FOLDER}/operator.yaml"] = dump(
        [
            namespace_of(namespace, labels=labels),
            metrics_service(name=name, namespace=namespace, labels=labels, selector=selector),
            stateful_set(
                name=name,
                namespace=namespace,
                image=image,
                arguments=command,
                labels=labels,
                selector=selector,
            ),
        ]
    )
    files[f"{BASE_FOLDER}/kustomization.yaml"] = dump([_kustomization()])
    return dict(sorted(files.items()))


def _kustomization() -> Json:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["operator.yaml", "rbac.yaml"],
    }
