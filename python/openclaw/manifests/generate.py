"""All files that follow from a set of controllers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from openclaw.api import CustomResource
from openclaw.manifests.crd import by_kind, custom_resource_definition
from openclaw.manifests.deployment import (
    METRICS_PORT,
    disruption_budget,
    metrics_service,
    namespace_of,
    network_policy,
    stateful_set,
)
from openclaw.manifests.errors import ManifestError
from openclaw.manifests.rbac import (
    ReconcilerClass,
    binding,
    operator_role,
    service_account,
    shard_role,
    user_roles,
)
from openclaw.manifests.yaml import dump
from openclaw.runtime.informers import can_be_shards

Json = dict[str, Any]

CRD_FOLDER = "crds"
BASE_FOLDER = "deploy/base"

# A Service's name, with room for the ten characters that a StatefulSet adds in a label of its pods.
_NAME: Final = re.compile(r"(?=.{1,52}\Z)[a-z]([-a-z0-9]*[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"(?=.{1,63}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def generate(
    reconcilers: Sequence[ReconcilerClass],
    *,
    image: str,
    namespace: str | None = None,
    name: str = "openclaw",
    watch_namespace: str | None = None,
    kinds: Sequence[type[CustomResource]] = (),
    arguments: Sequence[str] = ("run",),
) -> dict[str, str]:
    """The manifests of an operator: relative path -> text. The same declarations give the same texts.

    Args:
        reconcilers: the operator's controllers, as classes.
        image: the operator's container image.
        namespace: where the operator itself runs; `NAME-system` by default.
        name: the operator's: of its own objects, in the names of its roles, and in the files' first line.
            Two operators of one cluster need two names.
        watch_namespace: the only namespace in which objects are watched; with it the operator gets a Role
            there, and no ClusterRole.
        kinds: further kinds, and further versions of the root kinds, to write CRDs of.
        arguments: how the image's command is called; the metrics address is added.

    Raises:
        ManifestError: what is declared can't be granted by a Role, or a name is none.
        SchemaError: the classes of a kind contradict each other.
    """
    namespace = f"{name}-system" if namespace is None else namespace
    _check_names(name, namespace, watch_namespace)
    text_of = partial(dump, operator=name)
    declared = list(dict.fromkeys([*(reconciler.root for reconciler in reconcilers), *kinds]))
    files: dict[str, str] = {}
    for versions in by_kind(declared):
        crd = custom_resource_definition(*versions)
        resource = versions[0].resource
        files[f"{CRD_FOLDER}/{resource.group}_{resource.plural}.yaml"] = text_of([crd])

    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/component": "operator",
        "app.kubernetes.io/part-of": name,
    }
    selector = {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/component")}
    account = service_account(name=name, namespace=namespace, labels=labels)
    role = operator_role(reconcilers, name=f"{name}-operator", labels=labels, watch_namespace=watch_namespace)
    users = user_roles([versions[0] for versions in by_kind(declared)], name=name, labels=labels)
    roles = [role, binding(role, account)]
    command = [*arguments, "--metrics-address", f"0.0.0.0:{METRICS_PORT}"]
    if can_be_shards(reconcilers):
        command += ["--shard", "$(POD_NAME)", "--shard-group", name]
        leases = shard_role(name=f"{name}-shard", namespace=namespace, statefulset=name, labels=labels)
        roles += [leases, binding(leases, account)]
    if watch_namespace is not None:
        command += ["--namespace", watch_namespace]
    files[f"{BASE_FOLDER}/rbac.yaml"] = text_of([account, *roles, *users])
    files[f"{BASE_FOLDER}/operator.yaml"] = text_of(
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
            disruption_budget(name=name, namespace=namespace, labels=labels, selector=selector),
            network_policy(name=name, namespace=namespace, labels=labels, selector=selector),
        ]
    )
    files[f"{BASE_FOLDER}/kustomization.yaml"] = text_of([_kustomization()])
    return dict(sorted(files.items()))


def _check_names(name: str, namespace: str, watch_namespace: str | None) -> None:
    if not _NAME.fullmatch(name):
        raise ManifestError(
            f"the operator's name {name!r} must be 1 to 52 lower-case letters, digits and '-', "
            "with a letter first and no '-' at the end"
        )
    for text in (namespace, watch_namespace):
        if text is not None and not _NAMESPACE.fullmatch(text):
            raise ManifestError(
                f"the namespace {text!r} must be 1 to 63 lower-case letters, digits and '-', "
                "with no '-' at either end"
            )


def _kustomization() -> Json:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["operator.yaml", "rbac.yaml"],
    }
