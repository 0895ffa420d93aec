import asyncio
import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.kube import config as config_module
from openclaw.kube.config import Access, ConfigError, ConfigSource
from tests.unit.kube.api_stand_in import kubeconfig

SECRET = "s3cr3t-Value"
SERVER = "http://127.0.0.1:6443"
EXEC_VERSION = "client.authentication.k8s.io/v1"


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration but the test's own."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")


async def load(path: Path, context: str | None = None) -> Access:
    return await ConfigSource(path, context).load()


def plugin(tmp_path: Path, script: str) -> dict[str, Any]:
    """A user whose credentials come from a program."""
    path = tmp_path / "plugin.py"
    path.write_text(script)
    return {"exec": {"apiVersion": EXEC_VERSION, "command": sys.executable, "args": [str(path)]}}


def credential(**status: str) -> str:
    answer = {"apiVersion": EXEC_VERSION, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(answer)!r})"


# Kubeconfig: what it may say


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        ({}, None),
        ({"token": SECRET}, f"Bearer {SECRET}"),
        ({"tokenFile": "token"}, f"Bearer {SECRET}"),
        (
            {"username": "alice", "password": SECRET},
            "Basic " + base64.b64encode(f"alice:{SECRET}".encode()).decode(),
        ),
    ],
)
async def test_who_we_are(tmp_path: Path, user: dict[str, Any], authorization: str | None) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    access = await load(kubeconfig(tmp_path / "config", SERVER, user=user))
    assert access.authorization == authorization
    assert (access.server, access.namespace, access.proxy) == (SERVER, "default", None)
    assert SECRET not in repr(access)


async def test_certificates_in_the_file_itself(tmp_path: Path) -> None:
    def data(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    path = kubeconfig(
        tmp_path / "config",
        "https://127.0.0.1:6443/",
        cluster={"certificate-authority-data": data("ca")},
        user={"client-certificate-data": data("cert"), "client-key-data": data("key")},
    )
    access = await load(path)
    files = access.tls[:3]
    assert [Path(str(file)).read_text() for file in files] == ["ca", "cert", "key"]
    assert access.tls[3] is True
    assert access.server == "https://127.0.0.1:6443"
    again = await load(path)
    assert (again.tls, again.tls_digest) == (access.tls, access.tls_digest)


async def test_the_context_says_which_cluster_user_and_namespace(tmp_path: Path) -> None:
    path = kubeconfig(
        tmp_path / "config",
        SERVER,
        contexts=[
            {"name": "test", "context": {"cluster": "test", "user": "test"}},
            {"name": "other", "context": {"cluster": "there", "user": "bob", "namespace": "shop"}},
        ],
        clusters=[
            {"name": "test", "cluster": {"server": SERVER}},
            {"name": "there", "cluster": {"server": "http://there:1", "proxy-url": "http://proxy:3128"}},
        ],
        users=[{"name": "test", "user": {}}, {"name": "bob", "user": {"token": "bobs"}}],
    )
    assert (await load(path)).server == SERVER
    other = await load(path, "other")
    assert (other.server, other.authorization, other.namespace) == ("http://there:1", "Bearer bobs", "shop")
    assert other.proxy == "http://proxy:3128"


async def test_several_files_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first one to say something wins; each may have paths relative to itself; some may be missing.
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "token").write_text("from-b")
    first = kubeconfig(tmp_path / "a" / "config", SERVER, users=[])
    second = kubeconfig(tmp_path / "b" / "config", "http://second:1", user={"tokenFile": "token"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{first}::{second}")
    access = await ConfigSource().load()
    assert (access.server, access.authorization) == (SERVER, "Bearer from-b")


async def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / ".kube"
    home.mkdir(parents=True)
    kubeconfig(home / "config", "http://home:1")
    assert (await ConfigSource().load()).server == "http://home:1"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "env", "http://env:1")))
    assert (await ConfigSource().load()).server == "http://env:1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    explicit = kubeconfig(tmp_path / "explicit", "http://explicit:1")
    assert (await ConfigSource(explicit).load()).server == "http://explicit:1"


# Credential plugins


async def test_a_credential_plugin_gives_a_token(tmp_path: Path) -> None:
    user = plugin(tmp_path, credential(token=SECRET))
    access = await load(kubeconfig(tmp_path / "config", SERVER, user=user))
    assert access.authorization == f"Bearer {SECRET}"


async def test_a_credential_plugin_gives_a_certificate(tmp_path: Path) -> None:
    user = plugin(tmp_path, credential(clientCertificateData="cert", clientKeyData="key"))
    access = await load(kubeconfig(tmp_path / "config", "https://127.0.0.1:1", user=user))
    assert [Path(str(file)).read_text() for file in access.tls[1:3]] == ["cert", "key"]


async def test_a_plugin_gets_its_environment(tmp_path: Path) -> None:
    script = (
        "import json, os\n"
        f"print(json.dumps({{'apiVersion': {EXEC_VERSION!r}, 'kind': 'ExecCredential',"
        " 'status': {'token': os.environ['WHO']}}))"
    )
    user = plugin(tmp_path, script)
    user["exec"]["env"] = [{"name": "WHO", "value": "alice"}]
    access = await load(kubeconfig(tmp_path / "config", SERVER, user=user))
    assert access.authorization == "Bearer alice"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('log in first: aws sso login')", "log in first: aws sso login"),
        (f"print({SECRET!r})", "printed no ExecCredential"),
        ("print('{}')", "printed no ExecCredential"),
        ("print('[]')", "printed no ExecCredential"),
        (credential(token=SECRET).replace("/v1", "/v9"), "speaks .*/v9, but the kubeconfig asks for .*/v1"),
        (credential(), "neither a token nor a certificate"),
        (credential(token=""), "neither a token nor a certificate"),
        (credential(clientCertificateData=SECRET), "neither a token nor a certificate"),
    ],
)
async def test_a_plugin_that_fails_is_told_of(tmp_path: Path, script: str, message: str) -> None:
    path = kubeconfig(tmp_path / "config", SERVER, user=plugin(tmp_path, script))
    with pytest.raises(ConfigError, match=message) as caught:
        await load(path)
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_plugin_that_is_not_installed_is_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": EXEC_VERSION, "command": "no-such-plugin"}}
    with pytest.raises(ConfigError, match="no-such-plugin"):
        await load(kubeconfig(tmp_path / "config", SERVER, user=user))


async def test_a_plugin_may_give_both(tmp_path: Path) -> None:
    user = plugin(tmp_path, credential(token="abc", clientCertificateData="cert", clientKeyData="key"))
    access = await load(kubeconfig(tmp_path / "config", "https://127.0.0.1:1", user=user))
    assert access.authorization == "Bearer abc"
    assert access.tls[1] is not None


async def test_a_plugin_that_hangs_is_given_up_and_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its child keeps the write end of a pipe open for as long as it lives.
    monkeypatch.setattr(config_module, "_LOAD_SECONDS", 0.5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = (
        "import subprocess, sys\n"
        f"held = open({str(pipe)!r}, 'w')\n"
        "subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'], stdout=held)\n"
    )
    path = kubeconfig(tmp_path / "config", SERVER, user=plugin(tmp_path, script))
    with pytest.raises(ConfigError, match=r"credential plugin did not answer within 0\.5 s"):
        await load(path)
    deadline = asyncio.get_running_loop().time() + 10
    try:
        while not _closed(reader):
            assert asyncio.get_running_loop().time() < deadline, "it lives on"
            await asyncio.sleep(0.01)
    finally:
        os.close(reader)


def _closed(reader: int) -> bool:
    """Whether nobody can write to the pipe any more."""
    try:
        return os.read(reader, 1) == b""
    except BlockingIOError:
        return False


# What is wrong, and the way out


def broken(**parts: Any) -> str:
    content: dict[str, Any] = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": SERVER}}],
        "users": [{"name": "test", "user": {"token": SECRET}}],
        **parts,
    }
    return yaml.safe_dump(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty or no kubeconfig"),
        ("just text", "is empty or no kubeconfig"),
        (f"users: [{SECRET}", r"is no valid YAML \(line 1"),
        (f"token: *{SECRET}", r"is no valid YAML \(line 1, column 8\)"),
        (f"a: b: {SECRET}", "is no valid YAML"),
        (broken(**{"current-context": None}), r"has no current-context; pass --context.*\(there are: test\)"),
        (broken(**{"current-context": "prod"}), "has no context 'prod'; there are: test"),
        (broken(contexts=[]), "has no context 'test'; there are: none"),
        (broken(clusters=[{"name": "test", "cluster": {}}]), "the cluster 'test' has no server"),
        (broken(clusters=[{"name": "test"}]), "the cluster 'test' has no server"),
        (broken(clusters=[]), "has no cluster 'test', which the context 'test' names"),
        (broken(contexts=[{"name": "test"}]), "the key 'context' is missing"),
        (broken(users=[{"name": "test", "token": SECRET}]), "user"),
        (broken(users=[{"token": SECRET}]), "name"),
        (broken(users={"test": {"token": SECRET}}), "config"),
        (
            broken(users=[{"name": "test", "user": {"token": f"{SECRET}\nX-Evil: 1"}}]),
            "the token is no single line",
        ),
        (broken(users=[{"name": "test", "user": {"tokenFile": "/no/such/token"}}]), "/no/such/token"),
        (broken(users=[{"name": "test", "user": SECRET}]), "config"),
    ],
)
async def test_a_broken_kubeconfig_is_named_and_none_of_its_secrets(
    tmp_path: Path, content: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message) as caught:
        await load(path)
    error: BaseException | None = caught.value
    assert str(path) in str(error)
    while error is not None:  # as a traceback would show it
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SECRET not in caplog.text


async def test_a_binary_file_is_no_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(ConfigError, match="is no valid YAML"):
        await load(tmp_path / "config")


async def test_of_several_files_the_broken_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = kubeconfig(tmp_path / "good", SERVER), tmp_path / "bad"
    bad.write_text("[")
    monkeypatch.setenv("KUBECONFIG", f"{good}:{bad}")
    with pytest.raises(ConfigError, match=r"^kubeconfig '[^:']*/bad' is no valid YAML"):
        await ConfigSource().load()


async def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"kubeconfig '.*/missing' does not exist; set KUBECONFIG or"):
        await load(tmp_path / "missing")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    with pytest.raises(ConfigError, match="does not exist"):
        await ConfigSource().load()


async def test_without_any_configuration_it_says_what_there_could_be() -> None:
    with pytest.raises(
        ConfigError, match=r"set KUBECONFIG, pass --kubeconfig, create ~/\.kube/config, or run in a pod"
    ):
        await ConfigSource().load()


# In a pod


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    for name, text in (("token", f"{SECRET}\n"), ("ca.crt", "ca"), ("namespace", "shop\n")):
        (folder / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return folder


async def test_a_pod_has_its_service_account(pod: Path) -> None:
    access = await ConfigSource().load()
    assert access.server == "https://10.0.0.1:443"
    assert access.authorization == f"Bearer {SECRET}"
    assert access.namespace == "shop"
    assert access.tls == (str(pod / "ca.crt"), None, None, True)


async def test_an_address_may_be_of_ipv6(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert (await ConfigSource().load()).server == "https://[fd00::1]:443"


async def test_an_authority_that_was_replaced_is_noticed(pod: Path) -> None:
    before = await ConfigSource().load()
    (pod / "ca.crt").write_text("another")
    after = await ConfigSource().load()
    assert before.tls == after.tls
    assert before.tls_digest != after.tls_digest


async def test_a_pod_without_a_namespace_file_is_in_default(pod: Path) -> None:
    (pod / "namespace").unlink()
    assert (await ConfigSource().load()).namespace == "default"


@pytest.mark.parametrize(
    ("file", "content"), [("token", None), ("token", ""), ("ca.crt", None), ("ca.crt", "")]
)
async def test_a_pod_without_its_token_or_authority_says_so(
    pod: Path, file: str, content: str | None
) -> None:
    (pod / file).unlink()
    if content is not None:
        (pod / file).write_text(content)
    with pytest.raises(ConfigError, match=r"in-cluster .*Is a service account's token mounted in"):
        await ConfigSource().load()


async def test_a_token_that_cannot_be_read_says_so(pod: Path) -> None:
    (pod / "token").unlink()
    (pod / "token").symlink_to(pod)  # a folder: whoever we are, it cannot be read
    with pytest.raises(ConfigError, match="in-cluster configuration"):
        await ConfigSource().load()
