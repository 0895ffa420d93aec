"""All files of an operator, and the objects in them."""

import subprocess
import sys
from typing import Any

import pytest
import yaml

from openclaw.api import CustomResource, Deployment, OpenClaw
from openclaw.manifests import ManifestError, generate, header
from openclaw.runtime import Reconciler


class Claws(Reconciler[OpenClaw]):
    owns = (Deployment,)


class Gadget(CustomResource, group="demo.example.com", version="v1"):
    pass


def objects(files: dict[str, str], path: str) -> dict[str, dict[str, Any]]:
    return {body["kind"]: body for body in yaml.safe_load_all(files[path])}


@pytest.fixture
def files() -> dict[str, str]:
    return generate([Claws], image="registry.example.com/openclaw:1", namespace="ops")


def test_which_files(files: dict[str, str]) -> None:
    assert list(files) == [
        "crds/apps.openclaw.dev_openclaws.yaml",
        "deploy/base/kustomization.yaml",
        "deploy/base/operator.yaml",
        "deploy/base/rbac.yaml",
    ]
    for path, text in files.items():
        assert text.startswith(header("openclaw")), path
        assert text.endswith("\n")


def test_kustomization_names_the_other_files(files: dict[str, str]) -> None:
    kustomization = yaml.safe_load(files["deploy/base/kustomization.yaml"])
    assert {f"deploy/base/{name}" for name in kustomization["resources"]} == {
        path for path in files if path.startswith("deploy/base/") and "kustomization" not in path
    }


def test_names_refer_to_each_other(files: dict[str, str]) -> None:
    operator = objects(files, "deploy/base/operator.yaml")
    rbac = objects(files, "deploy/base/rbac.yaml")
    stateful, service = operator["StatefulSet"], operator["Service"]
    account, binding = rbac["ServiceAccount"], rbac["ClusterRoleBinding"]
    pod = stateful["spec"]["template"]
    assert operator["Namespace"]["metadata"]["name"] == "ops"
    for body in (stateful, service, account):
        assert body["metadata"]["namespace"] == "ops"
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    assert pod["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "ops"}
    ]
    assert binding["roleRef"]["name"] == binding["metadata"]["name"] == "openclaw-operator"
    for selector in (stateful["spec"]["selector"]["matchLabels"], service["spec"]["selector"]):
        assert selector.items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    (port,) = container["ports"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {
        port["name"]
    }
    assert f"0.0.0.0:{port['containerPort']}" in container["args"]
    assert container["image"] == "registry.example.com/openclaw:1"
    assert stateful["spec"]["replicas"] == 1


def test_the_pod_keeps_to_the_restricted_standard(files: dict[str, str]) -> None:
    operator = objects(files, "deploy/base/operator.yaml")
    assert operator["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    spec = operator["StatefulSet"]["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & set(spec)
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert {entry["name"] for entry in container["env"]} == {"POD_NAME", "POD_NAMESPACE"}


def test_one_namespace_only() -> None:
    files = generate([Claws], image="i", namespace="ops", watch_namespace="shop")
    rbac = list(yaml.safe_load_all(files["deploy/base/rbac.yaml"]))
    of_kind = {
        kind: {it["metadata"]["namespace"]: it for it in rbac if it["kind"] == kind}
        for kind in ("Role", "RoleBinding")
    }
    # In its own namespace it keeps the Leases of its shards, and no more.
    assert set(of_kind["Role"]) == set(of_kind["RoleBinding"]) == {"shop", "ops"}
    assert [rule["resources"] for rule in of_kind["Role"]["ops"]["rules"]] == [["leases"], ["statefulsets"]]
    for it in of_kind["RoleBinding"].values():
        assert it["roleRef"]["kind"] == "Role"
        assert it["subjects"][0]["namespace"] == "ops"
    assert "ClusterRoleBinding" not in {it["kind"] for it in rbac}
    spec = objects(files, "deploy/base/operator.yaml")["StatefulSet"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["args"][-2:] == ["--namespace", "shop"]


def test_further_kinds_and_names() -> None:
    files = generate([Claws], image="i", name="gadgets", kinds=[Gadget], arguments=["run", "gadgets.py"])
    assert "crds/demo.example.com_gadgets.yaml" in files
    rbac = list(yaml.safe_load_all(files["deploy/base/rbac.yaml"]))
    names = {body["metadata"]["name"] for body in rbac}
    assert names == {"gadgets", "gadgets-operator", "gadgets-shard", "gadgets-viewer", "gadgets-editor"}
    spec = objects(files, "deploy/base/operator.yaml")["StatefulSet"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["args"][:2] == ["run", "gadgets.py"]


PROGRAM = """
from openclaw.api import OpenClaw, Deployment, Service, Secret
from openclaw.manifests import generate
from openclaw.runtime import Reconciler
class Claws(Reconciler[OpenClaw]):
    owns = (Deployment, Service)
    reads = (Secret,)
for path, text in generate([Claws], image="i").items():
    print(path, text)
"""


def test_two_processes_write_the_same_bytes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_two_operators_share_no_name() -> None:
    """But for the kinds, nothing of one operator is called as anything of another, wherever both run."""

    def identities(files: dict[str, str]) -> set[tuple[str, str, str]]:
        return {
            (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
            for path, text in files.items()
            if path.startswith("deploy/") and "kustomization" not in path
            for body in yaml.safe_load_all(text)
        }

    first = identities(generate([Claws], image="a"))
    second = identities(generate([Claws], image="a", name="page"))
    together = identities(generate([Claws], image="a", name="page", namespace="openclaw-system"))
    assert not first & second
    assert first & together == {("Namespace", "", "openclaw-system")}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"name": "Page"}, "the operator's name 'Page'"),
        ({"name": ""}, "the operator's name ''"),
        ({"name": "1page"}, "the operator's name '1page'"),
        ({"name": "p" * 53}, "52 lower-case letters"),
        ({"name": "page\n"}, "the operator's name"),
        ({"namespace": "a_b"}, "the namespace 'a_b'"),
        ({"watch_namespace": ""}, "the namespace ''"),
    ],
)
def test_a_name_that_kubernetes_would_refuse(names: dict[str, Any], said: str) -> None:
    with pytest.raises(ManifestError, match=said):
        generate([Claws], image="a", **names)


def test_shards_are_disturbed_one_at_a_time_and_by_nobody_else() -> None:
    files = generate([Claws], image="i", name="gadgets")
    operator = objects(files, "deploy/base/operator.yaml")
    selector = operator["StatefulSet"]["spec"]["selector"]
    assert operator["PodDisruptionBudget"]["spec"] == {"maxUnavailable": 1, "selector": selector}
    policy = operator["NetworkPolicy"]["spec"]
    assert policy["podSelector"] == selector
    assert policy["ingress"] == [{"ports": [{"port": "metrics"}]}]
    template = operator["StatefulSet"]["spec"]["template"]["spec"]
    assert template["topologySpreadConstraints"][0]["labelSelector"] == selector
    args = template["containers"][0]["args"]
    assert args[args.index("--shard") :] == ["--shard", "$(POD_NAME)", "--shard-group", "gadgets"]


def test_what_no_shard_could_do_runs_alone() -> None:
    class Follower(Reconciler[Gadget]):
        owns = (Gadget,)

    files = generate([Follower], image="i", name="gadgets")
    assert "--shard" not in files["deploy/base/operator.yaml"]
    assert "leases" not in files["deploy/base/rbac.yaml"]
