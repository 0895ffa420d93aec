import pytest

from openclaw.telemetry import HealthChecks


def not_synced() -> str:
    return "not synced"


def passes() -> None:
    return None


def raises() -> None:
    raise ConnectionError("refused by redis://u:hunter2@queue")


def raises_nothing_to_read() -> None:
    raise TimeoutError


def test_a_process_that_answers_is_live_and_ready() -> None:
    checks = HealthChecks()
    assert checks.run("live").text() == "ok"
    assert checks.run("ready").text(verbose=True) == "[+]ping ok\nreadyz check passed\n"


def test_a_failing_check_fails_the_report_and_is_named_with_its_reason() -> None:
    checks = HealthChecks()
    checks.add("cache openclaws", not_synced)
    checks.add("shard", passes)
    report = checks.run("ready")
    assert not report.healthy
    assert (
        report.text()
        == "[+]ping ok\n[-]cache openclaws failed: not synced\n[+]shard ok\nreadyz check failed\n"
    )


def test_a_check_answers_only_what_it_was_added_for() -> None:
    checks = HealthChecks()
    checks.add("ready only", not_synced)
    checks.add("loop", not_synced, live=True, ready=False)
    assert [result.name for result in checks.run("ready").results] == ["ping", "ready only"]
    assert checks.run("live").text() == "[+]ping ok\n[-]loop failed: not synced\nhealthz check failed\n"


def test_an_exception_is_a_reason_and_secrets_are_hidden() -> None:
    checks = HealthChecks()
    checks.add("queue", raises)
    checks.add("other", raises_nothing_to_read)
    text = checks.run("ready").text()
    assert "[-]queue failed: refused by redis://u:[redacted]@queue" in text
    assert "[-]other failed: TimeoutError" in text


def test_an_excluded_check_is_not_asked() -> None:
    checks = HealthChecks()
    checks.add("cache", not_synced)
    report = checks.run("ready", exclude=["cache"])
    assert report.healthy
    assert report.text(verbose=True) == "[+]ping ok\n[+]cache excluded: ok\nreadyz check passed\n"


def test_one_check_by_name() -> None:
    checks = HealthChecks()
    checks.add("cache", not_synced)
    assert checks.run_one("ready", "ping").healthy
    assert not checks.run_one("ready", "cache").healthy
    with pytest.raises(KeyError):
        checks.run_one("live", "cache")


def test_names_are_unique_and_a_refused_check_is_not_half_added() -> None:
    checks = HealthChecks()
    checks.add("cache", passes)
    with pytest.raises(ValueError, match=r"'cache' .*exists already"):
        checks.add("cache", not_synced, live=True)
    assert [result.name for result in checks.run("live").results] == ["ping"]


def test_a_check_answers_something() -> None:
    with pytest.raises(ValueError, match="must be live, ready or both"):
        HealthChecks().add("cache", passes, ready=False)


def test_a_removed_check_is_gone() -> None:
    checks = HealthChecks()
    checks.add("cache", not_synced, live=True)
    checks.remove("cache")
    checks.remove("cache")
    assert checks.run("live").healthy
    assert checks.run("ready").healthy


def test_checks_are_asked_anew_each_time() -> None:
    checks = HealthChecks()
    reason: str | None = "starting"
    checks.add("cache", lambda: reason)
    assert not checks.run("ready").healthy
    reason = None
    assert checks.run("ready").healthy
