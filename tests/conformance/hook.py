"""A webhook server on loopback, for both servers to call: what it says depends on the path."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import tempfile
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from openclaw.testing.certificates import CertificateAuthority, write_private

Object = dict[str, Any]


@cache
def hook() -> Hook:
    """The server; started when it is first needed, ends with the process."""
    return Hook()


class Hook:
    """Where it listens, and what certificates are trusted by."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="conformance-hook-"))
        authority = CertificateAuthority.create()
        pair = authority.server(["127.0.0.1"])
        (folder / "tls.crt").write_bytes(pair.certificate)
        write_private(folder / "tls.key", pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        shutil.rmtree(folder)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.socket = context.wrap_socket(
            server.socket,
            server_side=True,
            do_handshake_on_connect=False,  # In the thread of the connection, not in that of all.
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"https://127.0.0.1:{server.server_address[1]}"
        self.bundle = base64.b64encode(authority.certificate).decode()

    def config(self, path: str) -> Object:
        """A WebhookClientConfig."""
        return {"url": f"{self.url}{path}", "caBundle": self.bundle}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code, answer = _answer(self.path.partition("?")[0], review)
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _answer(path: str, review: Object) -> tuple[int, Object]:
    request = review["request"]
    match path:
        case "/convert":
            return 200, {**review, "response": _converted(request)}
        case "/error":
            return 500, {"message": "broken"}
        case "/nothing":
            return 200, {}
    response: Object = {"uid": request["uid"], "allowed": True, **_said(path, request)}
    return 200, {"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response}


def _said(path: str, request: Object) -> Object:
    """What a response says besides that the request is allowed."""
    labels = (request["object"] or request["oldObject"])["metadata"].get("labels") or {}
    counted = {**labels, "count": str(int(labels.get("count", "0")) + 1)}
    said: dict[str, Object] = {
        "/deny": {"allowed": False, "status": {"message": "not this one", "code": 403}},
        "/deny-silently": {"allowed": False},
        "/deny-invalid": {"allowed": False, "status": {"message": "wrong", "code": 422, "reason": "Invalid"}},
        "/warn": {"warnings": ["be careful"]},
        "/other-uid": {"uid": "other"},
        "/echo": {"allowed": False, "status": {"message": _told(request)}},
        "/label": _patch("/metadata/labels", {"hooked": "yes"}),
        "/count": _patch("/metadata/labels", counted),
        "/default": _patch("/spec/text", "abc"),
        "/break": _patch("/spec/whole", 4),
    }
    return said.get(path, {})


def _told(request: Object) -> str:
    """What the webhook was asked, as far as it does not change from run to run."""
    keys = ("kind", "resource", "requestKind", "operation", "subResource", "dryRun", "name")
    told = {key: request[key] for key in keys if key in request}
    told["object"] = sorted(request["object"] or {})
    told["old"] = sorted(request["oldObject"] or {})
    return json.dumps(told, sort_keys=True)


def _patch(path: str, value: Any) -> Object:
    operations = json.dumps([{"op": "add", "path": path, "value": value}])
    return {"patchType": "JSONPatch", "patch": base64.b64encode(operations.encode()).decode()}


def _converted(request: Object) -> Object:
    wanted = request["desiredAPIVersion"]
    objects = []
    for obj in request["objects"]:
        spec = dict(obj.get("spec") or {})
        if spec.get("size") == "refuse":
            failed = {"status": "Failure", "message": "cannot be converted"}
            return {"uid": request["uid"], "result": failed, "convertedObjects": []}
        # v1 has `size`, v2 has `length`.
        old, new = ("size", "length") if wanted.endswith("/v2") else ("length", "size")
        if old in spec:
            spec[new] = spec.pop(old)
        objects.append({**obj, "apiVersion": wanted, "spec": spec})
    return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
