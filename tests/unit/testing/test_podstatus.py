from __future__ import annotations

from typing import Any

import pytest

from openclaw.testing.podstatus import BEHAVIOUR_ANNOTATION, Outcome, PodBehaviour, behaviour_of, pod_status


def pod(*images: str, restart: str = "Always", annotation: str | None = None) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images or ("web:1",))]
    annotations = {} if annotation is None else {BEHAVIOUR_ANNOTATION: annotation}
    spec = {"containers": containers, "restartPolicy": restart}
    return {"metadata": {"name": "pod", "annotations": annotations}, "spec": spec}


def status(outcome: Outcome, **options: Any) -> dict[str, Any]:
    return pod_status(pod(**options), outcome, pod_ip="10.128.0.1", host_ip="10.0.0.1")


def conditions(told: dict[str, Any]) -> dict[str, str]:
    return {it["type"]: it["status"] for it in told["conditions"]}


def test_a_pod_is_ready_when_nothing_else_is_said() -> None:
    assert behaviour_of(pod("registry:5000/web")) == PodBehaviour(Outcome.READY)


@pytest.mark.parametrize("restart", ["Never", "OnFailure"])
def test_a_pod_that_is_not_to_restart_completes(restart: str) -> None:
    assert behaviour_of(pod(restart=restart)).outcome is Outcome.COMPLETED


def test_the_function_wins_over_the_annotation_and_that_over_the_image() -> None:
    steered = pod("web:1", "web:crash-loop", annotation="never-ready@2.5")
    assert behaviour_of(steered, lambda _: PodBehaviour(Outcome.READY)).outcome is Outcome.READY
    assert behaviour_of(steered, lambda _: None) == PodBehaviour(Outcome.NEVER_READY, 2.5)
    steered["metadata"]["annotations"] = None
    assert behaviour_of(steered).outcome is Outcome.CRASH_LOOP


@pytest.mark.parametrize("text", ["nonsense", "ready@soon", "READY"])
def test_a_behaviour_that_is_none_says_what_is_possible(text: str) -> None:
    with pytest.raises(ValueError, match=f"{text}.*never-ready.*crash-loop"):
        PodBehaviour.parse(text)


@pytest.mark.parametrize(
    ("outcome", "phase", "ready"),
    [
        (Outcome.READY, "Running", "True"),
        (Outcome.NEVER_READY, "Running", "False"),
        (Outcome.CRASH_LOOP, "Running", "False"),
        (Outcome.IMAGE_PULL_FAILURE, "Pending", "False"),
        (Outcome.CREATING, "Pending", "False"),
        (Outcome.COMPLETED, "Succeeded", "False"),
    ],
)
def test_phase_and_readiness_of_each_outcome(outcome: Outcome, phase: str, ready: str) -> None:
    told = status(outcome)
    assert told["phase"] == phase
    assert conditions(told)["Ready"] == conditions(told)["ContainersReady"] == ready
    assert conditions(told)["PodScheduled"] == "True"


def test_what_is_not_ready_says_why() -> None:
    told = pod_status(pod("a:1", "b:1"), Outcome.NEVER_READY, pod_ip="10.128.0.1", host_ip="10.0.0.1")
    (ready,) = (it for it in told["conditions"] if it["type"] == "Ready")
    assert ready["reason"] == "ContainersNotReady"
    assert "c0 c1" in ready["message"]


def test_a_pod_without_a_container_that_started_has_no_address() -> None:
    assert "podIP" not in status(Outcome.IMAGE_PULL_FAILURE)
    assert status(Outcome.READY)["podIPs"] == [{"ip": "10.128.0.1"}]


def test_a_crash_is_final_where_nothing_restarts() -> None:
    told = status(Outcome.CRASH_LOOP, restart="Never")
    assert told["phase"] == "Failed"
    assert told["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


def test_a_pod_keeps_the_time_of_its_start() -> None:
    running = pod()
    running["status"] = {"startTime": "2020-01-01T00:00:00Z"}
    told = pod_status(running, Outcome.CRASH_LOOP, pod_ip="10.128.0.1", host_ip="10.0.0.1")
    assert told["startTime"] == "2020-01-01T00:00:00Z"
