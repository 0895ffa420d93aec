import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclaw.controllers.openclaw.names import child_name, instance_name

RFC1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

# DNS-1123 subdomains: what the API server admits as the name of a custom resource.
LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=1, max_size=8).map(".".join).filter(lambda name: len(name) <= 253)


@given(NAMES)
@example("a")
@example("0")
@example("1.2.3")
@example("a" * 54)
@example("a" * 55)
@example("a" * 253)
@example("0" * 253)
@example("a" * 44 + "." + "b" * 60)
@example("a" + "-" * 60 + "b")
def test_children_have_valid_names_whatever_the_root_is_called(root: str) -> None:
    assert RFC1035_LABEL.fullmatch(instance_name(root))
    for component in ("frontend", "worker"):
        name = child_name(root, component)
        assert RFC1035_LABEL.fullmatch(name)
        assert len(name) <= 63


@given(st.sets(NAMES, min_size=2, max_size=20))
def test_two_roots_share_no_child(roots: set[str]) -> None:
    children = [child_name(root, component) for root in roots for component in ("frontend", "worker")]
    assert len(set(children)) == len(children)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.b", "a-b"),
        ("1a", "claw-1a"),
        ("x" * 55, "x" * 56),
        ("x" * 54, "x" * 55),
        ("x" * 200 + "a", "x" * 200 + "b"),
        ("a.b.c", "a-b.c"),
    ],
)
def test_names_that_look_alike_once_changed_stay_apart(one: str, other: str) -> None:
    assert instance_name(one) != instance_name(other)


@pytest.mark.parametrize("root", ["storefront", "a", "a-1", "x" * 54])
def test_a_name_that_can_stay_stays(root: str) -> None:
    assert instance_name(root) == root
    assert child_name(root, "worker") == f"{root}-worker"


def test_names_are_the_same_in_every_version() -> None:
    # They are in clusters: another name would mean other Deployments beside the old ones.
    assert child_name("shop.example.com", "frontend") == "shop-example-com-c58d8966-frontend"
    assert child_name("2048", "worker") == "claw-2048-35807d6b-worker"
