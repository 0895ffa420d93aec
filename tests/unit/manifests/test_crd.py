"""CRDs of one and of several versions."""

import pytest

from openclaw.api import Age, Column, CustomResource, Model, Scale, SchemaError
from openclaw.manifests import custom_resource_definition
from openclaw.manifests.crd import by_kind


class Alpha(CustomResource, group="demo.example.com", version="v1alpha1", kind="Thing", storage=False):
    """A thing."""

    class Spec(Model):
        host: str = "h"
        replicas: int = 1

    class Status(Model):
        replicas: int = 0
        selector: str = ""


class Stable(
    Alpha,
    version="v1",
    short_names=["th"],
    columns=[Column("Host", ".spec.host", description="Where.", format="hostname", priority=1), Age],
    selectable_fields=[".spec.host"],
    scale=Scale(label_selector=".status.selector"),
):
    """A thing, settled."""


class Beta(Alpha, version="v1beta1", storage=False, served=False, deprecated="use v1"):
    pass


class Next(Alpha, version="v2beta1", storage=False, deprecated=True):
    pass


class Odd(Alpha, version="preview", storage=False):
    pass


def test_versions_come_in_the_api_machinerys_order() -> None:
    crd = custom_resource_definition(Alpha, Odd, Next, Stable, Beta)
    assert [version["name"] for version in crd["spec"]["versions"]] == [
        "v1",
        "v2beta1",
        "v1beta1",
        "v1alpha1",
        "preview",
    ]
    assert [version["name"] for version in crd["spec"]["versions"] if version["storage"]] == ["v1"]
    assert crd["metadata"]["name"] == "things.demo.example.com"
    assert crd["spec"]["names"]["shortNames"] == ["th"]


def test_what_a_version_says() -> None:
    stable, beta, alpha = custom_resource_definition(Stable, Alpha, Beta)["spec"]["versions"]
    assert stable["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert stable["selectableFields"] == [{"jsonPath": ".spec.host"}]
    assert stable["additionalPrinterColumns"] == [
        {
            "name": "Host",
            "type": "string",
            "jsonPath": ".spec.host",
            "description": "Where.",
            "format": "hostname",
            "priority": 1,
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    assert (beta["served"], beta["deprecated"], beta["deprecationWarning"]) == (False, True, "use v1")
    assert "deprecated" not in stable
    assert "deprecated" not in alpha
    assert "additionalPrinterColumns" not in alpha
    assert stable["schema"]["openAPIV3Schema"]["description"] == "A thing, settled."


def test_deprecated_without_a_word_of_its_own() -> None:
    entry = custom_resource_definition(Stable, Next)["spec"]["versions"][1]
    assert entry["deprecated"] is True
    assert "deprecationWarning" not in entry


def test_exactly_one_version_is_stored() -> None:
    with pytest.raises(SchemaError, match=r"exactly one version is stored, not 0 of Beta, Alpha"):
        custom_resource_definition(Alpha, Beta)

    class Second(Alpha, version="v2"):
        pass

    with pytest.raises(SchemaError, match=r"not 2 of .*storage=False"):
        custom_resource_definition(Stable, Second)
    with pytest.raises(SchemaError, match="at least one version"):
        custom_resource_definition()


def test_versions_must_be_of_one_kind() -> None:
    class Other(CustomResource, group="demo.example.com", version="v1beta1", storage=False):
        pass

    class Again(Alpha, version="v1", storage=False):
        pass

    class Cluster(Alpha, version="v3", storage=False, scope="Cluster"):
        pass

    for stranger in (Other, Cluster):
        with pytest.raises(SchemaError, match="no versions of one kind"):
            custom_resource_definition(Stable, stranger)
    with pytest.raises(SchemaError, match="one version twice"):
        custom_resource_definition(Stable, Again)


def test_selectable_fields_that_the_api_server_would_misread() -> None:
    class Other(Stable, version="v2", storage=False):
        class Spec(Model):
            host: str = "other"
            replicas: int = 1

    with pytest.raises(SchemaError, match="in another order"):
        custom_resource_definition(Stable, Other)

    class Reordered(Other, version="v3", storage=False, selectable_fields=[]):
        pass

    assert custom_resource_definition(Stable, Reordered)["spec"]["versions"]


def test_by_kind_groups_the_versions_and_sorts_the_kinds() -> None:
    class Zebra(CustomResource, group="a.example.com", version="v1"):
        pass

    class Ape(CustomResource, group="a.example.com", version="v1"):
        pass

    assert by_kind([Zebra, Stable, Ape, Alpha, Zebra]) == [(Ape,), (Stable, Alpha), (Zebra,)]


def test_the_same_classes_give_the_same_crd_in_any_order() -> None:
    assert custom_resource_definition(Stable, Alpha, Beta) == custom_resource_definition(Beta, Stable, Alpha)
