"""What may differ between two runs, by names: uids, times, resourceVersions, generated names, addresses.

The same value has the same name in all answers of a case, so that who refers to whom is compared, too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ACCESS = re.compile(r"kube-api-access-[a-z0-9]{5}")
_ADDRESS = re.compile(r"^(10\.96|192\.168|10\.0)\.\d+\.\d+$")
_NOW = (str(datetime.now(UTC).year), str(datetime.now(UTC).year - 1))
_LIST = re.compile(r"is invalid: .*", re.DOTALL)
_GO_VALUE = re.compile(r"Invalid value: (\{.*\}|\[.*\]|\"\{.*\}\")(: )", re.DOTALL)
_SUPPORTED = re.compile(r"supported values: (.*)")
_JSON_ERROR = re.compile(r"json parse error: .*", re.DOTALL)
_PATTERN = re.compile(r"error parsing regexp: .*", re.DOTALL)
_SCHEME = re.compile(r' in scheme "[^"]*"')
_YAML = re.compile(r"error converting YAML to JSON: .*", re.DOTALL)
_TOKEN = re.compile(r'"continue":"[^"]*"')


class Normaliser:
    """Gives names, in the order in which values appear."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._names: dict[tuple[str, str], str] = {}
        self._texts: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        """A normalised copy of an answer's body."""
        self._learn(value)
        return self._walk(value, ())

    def text(self, text: str) -> str:
        """A normalised text."""
        for known, name in sorted(self._texts.items(), key=lambda item: -len(item[0])):
            text = text.replace(known, name)
        text = text.replace(self._namespace, "(namespace)")
        text = _ACCESS.sub("kube-api-access-(random)", text)
        return _UID.sub(lambda match: self._name("uid", match[0]), text)

    def _name(self, kind: str, value: str) -> str:
        key = (kind, value)
        if key not in self._names:
            count = sum(1 for known, _ in self._names if known == kind)
            self._names[key] = f"({kind} {count + 1})"
        return self._names[key]

    def _learn(self, value: Any) -> None:
        """Names that the server made up."""
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        elif isinstance(value, dict):
            metadata = value.get("metadata")
            if isinstance(metadata, dict) and metadata.get("generateName") and metadata.get("name"):
                name = metadata["name"]
                if name not in self._texts:
                    self._texts[name] = f"{metadata['generateName']}(random)"
            labels = metadata.get("labels") if isinstance(metadata, dict) else None
            for key in ("pod-template-hash", "controller-revision-hash"):
                made = (labels or {}).get(key)
                if made:
                    self._texts.setdefault(made.rpartition("-")[2], f"({key})")
            for key in ("currentRevision", "updateRevision"):
                if value.get(key):
                    self._texts.setdefault(str(value[key]).rpartition("-")[2], "(revision)")
            for below in value.values():
                self._learn(below)

    def _walk(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            walked = {self.text(key): self._walk(below, (*path, key)) for key, below in value.items()}
            if walked.get("kind") == "Status" and walked.get("apiVersion") == "v1":
                return _status(walked)
            conditions = walked.get("conditions")
            if isinstance(conditions, list) and all(isinstance(one, dict) for one in conditions):
                # They are told apart by their type; in which order controllers set them does not matter.
                conditions.sort(key=lambda one: str(one.get("type")))
            if "managedFields" in walked:
                walked["managedFields"].sort(
                    key=lambda entry: (entry["operation"], entry["manager"], entry.get("subresource", ""))
                )
            return walked
        if isinstance(value, list):
            return [self._walk(item, path) for item in value]
        if isinstance(value, str):
            return self._text(value, path)
        if path and path[-1] in {"nodePort", "healthCheckNodePort", "remainingItemCount"} and value:
            return f"({path[-1]})"
        return value

    def _text(self, value: str, path: tuple[str, ...]) -> str:
        key = path[-1] if path else ""
        if key == "resourceVersion":
            # Of lists and bookmarks others' writes move it, too.
            return "(version)"
        if key == "uid" and _UID.fullmatch(value):
            return self._name("uid", value)
        if key == "continue" and value:
            return "(token)"
        if _TIME.fullmatch(value) and value.startswith(_NOW):
            return "(time)"
        if _ADDRESS.match(value):
            return "(address)"
        return self.text(value)


def _status(status: dict[str, Any]) -> dict[str, Any]:
    details = dict(status.get("details") or {})
    causes = details.get("causes")
    message = status.get("message", "")
    if causes:
        causes = [cause for at, cause in enumerate(causes) if cause not in causes[:at]]
        details["causes"] = sorted(
            ({**cause, "message": gist(cause.get("message", ""))} for cause in causes),
            key=lambda cause: (cause.get("field", ""), cause.get("reason", ""), cause["message"]),
        )
        # The message says the same again, in the order of the causes.
        message = _LIST.sub("is invalid: (causes)", message)
        message = re.sub(r"(Apply failed with \d+ conflicts?): .*", r"\1: (causes)", message, flags=re.DOTALL)
    return {**status, "message": gist(message), **({"details": details} if details else {})}


def gist(message: str) -> str:
    """A message without Go's own way to show values."""
    message = _GO_VALUE.sub(r"Invalid value: (value)\2", message)
    message = _JSON_ERROR.sub("json parse error: (words)", message)
    message = message.partition("\n@@ ")[0]
    message = re.sub(r"in record \(\d+\)", "in record (version)", message)
    message = re.sub(r"continue key is not valid.*", "continue key is not valid", message)
    message = _SCHEME.sub(" in scheme", message)
    message = _YAML.sub("error converting YAML to JSON: (words)", message)
    message = _PATTERN.sub("error parsing regexp: (words)", message)
    return _SUPPORTED.sub(
        lambda match: f"supported values: {', '.join(sorted(match[1].split(', ')))}", message
    )
