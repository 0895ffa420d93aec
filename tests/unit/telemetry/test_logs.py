import asyncio
import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openclaw.telemetry import Log, bind, configure, current_fields, log_context

Lines = Callable[[], list[dict[str, Any]]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    configure(format="json", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_one_json_object_a_line(lines: Lines) -> None:
    logging.getLogger("openclaw.x").info("applied %s", "web", extra={"replicas": 3, "objects": ["a", "b"]})
    (entry,) = lines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.pop("time"))
    assert entry == {
        "level": "info",
        "logger": "openclaw.x",
        "message": "applied web",
        "replicas": 3,
        "objects": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000.9996, "2023-11-14T22:13:20.999Z"),
        (1_700_000_000.0625, "2023-11-14T22:13:20.062Z"),
    ],
)
def test_the_time_is_rfc_3339_in_utc_with_milliseconds(
    stream: io.StringIO, lines: Lines, seconds: float, expected: str
) -> None:
    record = logging.makeLogRecord({"msg": "x", "created": seconds, "levelno": logging.INFO})
    logging.getLogger().handle(record)
    assert lines()[0]["time"] == expected


def test_a_message_with_line_breaks_stays_on_one_line(stream: io.StringIO, lines: Lines) -> None:
    logging.getLogger("x").info("a\nb")
    assert stream.getvalue().count("\n") == 1
    assert lines()[0]["message"] == "a\nb"


def test_an_exception_has_its_fields(lines: Lines) -> None:
    try:
        int("no number")
    except ValueError:
        logging.getLogger("x").exception("reconcile failed")
    (entry,) = lines()
    assert entry["level"] == "error"
    assert entry["error"].startswith("ValueError: invalid literal")
    assert "test_logs.py" in entry["stacktrace"]


def test_an_exception_without_a_message_or_with_a_broken_one_is_named(lines: Lines) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    for error in (KeyboardInterrupt(), Broken()):
        logging.getLogger("x").error("failed", exc_info=error)
    assert [entry["error"] for entry in lines()] == [
        "KeyboardInterrupt",
        "Broken: (its message cannot be read)",
    ]


def test_the_context_reaches_every_record_of_the_work_and_no_other(lines: Lines) -> None:
    log = logging.getLogger("x")
    with log_context(controller="openclaw", namespace="shop", name="storefront"):
        log.info("inside")
        with log_context(reconcileID="1"):
            log.info("deeper")
        log.info("back")
    log.info("outside")
    inside, deeper, back, outside = lines()
    assert (inside["namespace"], inside["name"], "reconcileID" in inside) == ("shop", "storefront", False)
    assert (deeper["name"], deeper["reconcileID"]) == ("storefront", "1")
    assert "reconcileID" not in back
    assert "name" not in outside


def test_the_context_is_back_after_an_exception() -> None:
    with pytest.raises(ValueError, match="x"), log_context(name="a"):
        raise ValueError("x")
    assert dict(current_fields()) == {}


async def test_two_tasks_do_not_see_each_others_context(lines: Lines) -> None:
    both = asyncio.Barrier(2)

    async def reconcile(name: str) -> None:
        bind(name=name)
        await both.wait()
        logging.getLogger("x").info("hello", extra={"expected": name})

    await asyncio.gather(reconcile("a"), reconcile("b"))
    assert sorted((entry["name"], entry["expected"]) for entry in lines()) == [("a", "a"), ("b", "b")]
    assert "name" not in current_fields()


async def test_a_task_inherits_the_context_of_the_one_that_started_it(lines: Lines) -> None:
    async def child() -> None:
        logging.getLogger("x").info("child")

    with log_context(name="a"):
        task = asyncio.create_task(child())
    await task
    assert lines()[0]["name"] == "a"


def test_a_records_own_field_does_not_change_which_object_it_is_about(lines: Lines) -> None:
    with log_context(kind="OpenClaw", name="storefront"):
        logging.getLogger("x").info("applied", extra={"kind": "Deployment"})
        logging.getLogger("x").info("again", extra={"kind": "OpenClaw"})
    applied, again = lines()
    assert (applied["kind"], applied["field.kind"]) == ("OpenClaw", "Deployment")
    assert "field.kind" not in again


def test_a_field_does_not_hide_a_key_of_the_envelope(lines: Lines) -> None:
    with log_context(time="noon"):
        logging.getLogger("x").info("hello", extra={"level": 3})
    (entry,) = lines()
    assert (entry["level"], entry["field.level"], entry["field.time"]) == ("info", 3, "noon")


def test_log_takes_any_keyword_as_a_field(lines: Lines) -> None:
    log = Log("openclaw.x", controller="openclaw").bind(step="apply")
    log.info("applied", name="web", message="m", args=[1], fields=2)
    (entry,) = lines()
    assert entry["logger"] == "openclaw.x"
    assert entry["message"] == "applied"
    assert entry["field.message"] == "m"
    assert (entry["controller"], entry["step"], entry["name"]) == ("openclaw", "apply", "web")
    assert (entry["args"], entry["fields"]) == ([1], 2)


def test_log_does_not_read_percent_signs(lines: Lines) -> None:
    Log("x").warning("100 % done, %s")
    assert lines()[0]["message"] == "100 % done, %s"


def test_log_exception_has_the_exception_being_handled(lines: Lines) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        Log("x").exception("failed", name="web")
    assert lines()[0]["error"] == "KeyError: 'x'"


class Explosive:
    def __str__(self) -> str:
        raise AssertionError("rendered")

    __repr__ = __str__


def test_a_call_below_the_level_renders_nothing_and_writes_nothing(stream: io.StringIO) -> None:
    configure(level="info", format="json", stream=stream)
    Log("x").debug("hidden", value=Explosive())
    logging.getLogger("x").debug("hidden %s", Explosive())
    assert stream.getvalue() == ""


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_only_the_level_and_above_are_printed(stream: io.StringIO, level: Any) -> None:
    configure(level=level, format="json", stream=stream)
    log = Log("x")
    log.debug("debug")
    log.info("info")
    log.warning("warning")
    log.error("error")
    printed = [json.loads(line)["level"] for line in stream.getvalue().splitlines()]
    everything = ["debug", "info", "warning", "error"]
    assert printed == everything[everything.index(level) :]


def test_secrets_are_hidden_wherever_they_are(stream: io.StringIO, lines: Lines) -> None:
    with log_context(token="hunter2"):
        try:
            raise ValueError("refused: password=hunter2")
        except ValueError:
            logging.getLogger("x").exception(
                "sent %s",
                "Authorization: Bearer hunter2hunter2",
                extra={"headers": {"Authorization": "hunter2"}},
            )
        Log("x").info("made", secret={"data": "hunter2"}, object={"kind": "Secret", "data": {"a": "hunter2"}})
    assert lines()
    assert "hunter2" not in stream.getvalue()


def test_secrets_are_hidden_from_people_too(stream: io.StringIO) -> None:
    configure(format="text", stream=stream)
    Log("x").info("sent Bearer hunter2hunter2", password="hunter2")
    assert "sent" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


@pytest.mark.parametrize(
    "value", [2**70, "\ud800", float("nan"), {1: 2, (1, 2): 3}, {"a"}, object, Explosive()]
)
@pytest.mark.parametrize("style", ["json", "text"])
def test_any_value_can_be_logged(stream: io.StringIO, value: Any, style: Any) -> None:
    handler = configure(format=style, stream=stream)
    Log("x").info("here", value=value, after=1)
    assert "here" in stream.getvalue()
    assert "after" in stream.getvalue()
    assert handler.dropped == 0


@pytest.mark.parametrize("style", ["json", "text"])
def test_a_message_whose_arguments_do_not_fit_is_printed(stream: io.StringIO, style: Any) -> None:
    # pytest's own handlers are strict about this.
    logging.getLogger().handlers[:] = [configure(format=style, stream=stream)]
    logging.getLogger("x").info("%d objects", "many")
    assert "%d objects" in stream.getvalue()
    assert "many" in stream.getvalue()


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_write_error_never_reaches_the_caller(capsys: pytest.CaptureFixture[str]) -> None:
    handler = configure(format="json", stream=Broken())
    logging.getLogger("x").info("lost")
    assert handler.dropped == 1
    # Nothing elsewhere either: the place for it is as broken.
    assert capsys.readouterr() == ("", "")


def test_a_closed_stream_never_reaches_the_caller(stream: io.StringIO) -> None:
    handler = configure(format="auto", stream=stream)
    stream.close()
    logging.getLogger("x").info("lost")
    assert handler.dropped == 1
    configure(format="auto", stream=stream)


def test_auto_is_json_on_a_pipe_and_text_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        configure(stream=stream)
        logging.getLogger("x").info("hello")
    assert json.loads(pipe.getvalue())["message"] == "hello"
    assert "\033[" in terminal.getvalue()
    assert "hello" in terminal.getvalue()


def test_no_color_turns_colours_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    configure(stream=terminal)
    logging.getLogger("x").info("hello")
    assert "\033[" not in terminal.getvalue()
    assert "hello" in terminal.getvalue()


def test_configuring_again_replaces_the_handler(stream: io.StringIO) -> None:
    configure(format="json", stream=stream)
    configure(format="json", stream=stream)
    logging.getLogger("x").info("once")
    assert stream.getvalue().count("once") == 1


def test_a_line_for_people(stream: io.StringIO) -> None:
    configure(format="text", stream=stream)
    with log_context(kind="OpenClaw", namespace="shop", name="storefront", reconcileID="8f", step="apply"):
        Log("x").warning(
            "quota exceeded", objects=["a", "b"], kind="Deployment", text="two words", nothing=""
        )
    clock, rest = stream.getvalue().split(" ", 1)
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", clock)
    assert rest == (
        "WARN  OpenClaw shop/storefront quota exceeded step=apply "
        'objects=["a", "b"] field.kind=Deployment text="two words" nothing=""\n'
    )


def test_a_cluster_scoped_object_has_no_namespace(stream: io.StringIO) -> None:
    configure(format="text", stream=stream)
    with log_context(kind="Node", namespace="", name="n1"):
        Log("x").info("seen")
    assert "Node n1 seen\n" in stream.getvalue()


def test_an_exception_for_people_has_its_traceback_below(stream: io.StringIO) -> None:
    configure(format="text", stream=stream)
    try:
        raise KeyError("x")
    except KeyError:
        Log("x").exception("failed")
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("""failed error="KeyError: 'x'\"""")
    assert rest[0].startswith("Traceback")


def test_python_warnings_are_log_records(lines: Lines) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert lines()[0]["logger"] == "py.warnings"


def test_libraries_that_print_answers_at_debug_do_not(stream: io.StringIO) -> None:
    configure(level="debug", format="json", stream=stream)
    logging.getLogger("kubernetes_asyncio.client.rest").debug("response body: hunter2")
    logging.getLogger("openclaw").debug("ours")
    assert "hunter2" not in stream.getvalue()
    assert "ours" in stream.getvalue()
