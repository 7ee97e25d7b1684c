"""``deploy/compose.yaml``: valid, closed to the network, and all that it names is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config import Settings, load, paths

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
FILES = ("compose.yaml", "compose.llm.yaml")
WRONG = "compose.wrong.yaml"
#: Makes the secrets of all others and ends; it waits for nobody.
ONCE = "secrets"

Service = dict[str, Any]


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    """The file, as Docker reads it."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text("utf-8"))
    return found


def services(name: str = "compose.yaml") -> dict[str, Service]:
    """Its services."""
    found: dict[str, Service] = compose(name)["services"]
    return found


def mounts(service: Service) -> Iterator[tuple[str, str, str]]:
    """Source, target and mode of everything that is mounted."""
    for volume in service.get("volumes", []):
        source, target, *mode = volume.split(":")
        yield source, target, mode[0] if mode else "rw"


SERVICES = sorted(services())
#: What no two installations share.
DRAWN = (
    "redis/redis.conf",
    "redis/redis_url",
    "grafana/grafana_password",
    "audit/audit_passwords",
)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the schema of Compose says of our files, and of one with a wrong key; asked once."""
    wrong = compose()
    wrong["services"]["kafka"]["prots"] = ["9092"]
    file = tmp_path_factory.mktemp("wrong") / WRONG
    file.write_text(yaml.safe_dump(wrong), "utf-8")
    command = ["check_jsonschema", "-v", "-o", "JSON", "--builtin-schema", "vendor.compose-spec"]
    files = [str(file), *(str(DEPLOY / name) for name in FILES)]
    done = subprocess.run(
        [sys.executable, "-m", *command, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", FILES)
def test_it_is_valid_by_the_schema_of_compose(checked: dict[str, Any], name: str) -> None:
    """By the schema that the specification of Compose publishes."""
    assert str(DEPLOY / name) in checked["successes"], checked["errors"]


def test_a_wrong_file_is_not(checked: dict[str, Any]) -> None:
    """The schema says so: else the test before says nothing."""
    told = [one["message"] for one in checked["errors"] if one["filename"].endswith(WRONG)]
    assert any("prots" in message for message in told)


@pytest.mark.parametrize("name", SERVICES)
def test_every_path_exists(name: str) -> None:
    """What is mounted or built from lies in this repository; what is no path is a named volume."""
    service, volumes = services()[name], compose()["volumes"]
    for source, _, mode in mounts(service):
        if source.startswith("."):
            assert (DEPLOY / source).exists(), source
            assert mode == "ro"
        else:
            assert source in volumes
    if build := service.get("build"):
        context = DEPLOY / build["context"]
        assert context.resolve() == ROOT
        dockerfile = (context / build["dockerfile"]).read_text("utf-8")
        assert re.search(rf"^FROM \S+ AS {build['target']}$", dockerfile, re.MULTILINE)


def variables() -> Iterator[tuple[str, str, str]]:
    """File, service, and each variable of ours that it is given."""
    for file in FILES:
        for name, service in services(file).items():
            for variable in service.get("environment", {}):
                if variable.startswith("RAG_MONITOR_"):
                    yield file, name, variable


@pytest.mark.parametrize(("file", "name", "variable"), list(variables()))
def test_every_setting_exists(file: str, name: str, variable: str) -> None:
    """Under the name that the configuration reads it by, also from a file."""
    known = {f"RAG_MONITOR_{path.upper().replace('.', '__')}" for path, _ in paths()}
    assert {variable, variable.removesuffix("_FILE")} & (known | {"RAG_MONITOR_CONFIG"})


def test_the_settings_are_right() -> None:
    """The file that all share can be loaded, and says what is not the default."""
    found = load({}, DEPLOY / "compose" / "monitor.yaml")
    host, _, port = found.kafka.bootstrap_servers.partition(":")
    assert (host in services(), port) == (True, "9092")
    assert found.kafka.create_topics
    assert found.model_fields_set - Settings().model_fields_set


@pytest.mark.parametrize("name", SERVICES)
def test_it_is_closed(name: str) -> None:
    """Read-only, without capabilities; ports on loopback alone; images pinned; nothing in clear."""
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "privileged" not in service
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/-]+:v?[0-9]+\.[0-9][\w.-]*\}", service["image"]), (
        service["image"]
    )
    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|KEY|TOKEN|SECRET|URL(_FILE)?$", variable):
            assert variable.endswith("FILE") or re.fullmatch(r"http://[\w.]+:[0-9]+", value)


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {ONCE}))
def test_it_says_how_it_is(name: str) -> None:
    """A health check of its own or of our image, or it is no server; it starts again by itself."""
    service = services()[name]
    ours = ":-rag-monitor-" in service["image"]
    assert ours or service["healthcheck"]["test"][0] == "CMD"
    assert (
        service.get("init", False) == ours
    )  # ours set their handlers some moments after the start
    assert service["restart"] == "unless-stopped"
    for needed, how in service.get("depends_on", {}).items():
        assert how["condition"].startswith("service_")
        if how["condition"] == "service_healthy":
            assert needed != ONCE


def test_secrets_are_drawn_once(tmp_path: Path) -> None:
    """Every file that somebody reads is there, no two runs draw the same, and none changes."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second, first):
        folder.mkdir(exist_ok=True)
        before = {path.name: path.read_text("utf-8") for path in folder.glob("*/*")}
        command = [sys.executable, str(DEPLOY / "compose" / "draw_secrets.py"), str(folder)]
        subprocess.run(command, check=True)
        after = {path.name: path.read_text("utf-8") for path in folder.glob("*/*")}
        assert before in ({}, after)
    for name in DRAWN:
        assert (first / name).read_text("utf-8") != (second / name).read_text("utf-8")
    configured = (first / "redis" / "redis.conf").read_text("utf-8").split()[1]
    assert f":{configured}@redis:" in (first / "redis" / "redis_url").read_text("utf-8")
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    text += (DEPLOY / "alertmanager" / "alertmanager.yml").read_text("utf-8")
    text += (DEPLOY / "compose" / "redis.conf").read_text("utf-8")
    read = set(re.findall(r"/secrets/([a-z_.]+[a-z])", text))
    read -= {path.name for path in first.iterdir()}
    assert read == {path.name for path in first.glob("*/*")}


def test_a_service_gets_only_its_own_secrets(tmp_path: Path) -> None:
    """Of the files that are drawn each sees a folder, and in it what its lines name."""
    drawn = {
        source: Path(target).name
        for source, target, _ in mounts(services()[ONCE])
        if not source.startswith(".")
    }
    assert set(drawn.values()) == {"redis", "grafana", "audit", "alertmanager"}
    script = DEPLOY / "compose" / "draw_secrets.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    sees = {
        name: {drawn[source] for source, _, _ in mounts(service) if source in drawn}
        for name, service in services().items()
        if name != ONCE
    }
    assert {name: found for name, found in sees.items() if found} == {
        "redis": {"redis"},
        "scorer": {"redis"},
        "audit": {"audit"},
        "grafana": {"grafana"},
        "alertmanager": {"alertmanager"},
    }
    for name, service in services().items():
        for variable, file in service.get("environment", {}).items():
            if name != ONCE and "/run/secrets/" in str(file):
                (folder,) = sees[name]
                assert (tmp_path / folder / Path(file).name).exists(), variable


def test_prometheus_is_the_one_that_is_shipped() -> None:
    """But for the addresses: of the monitor's containers, and of Alertmanager's."""
    shipped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    ours = yaml.safe_load((DEPLOY / "compose" / "prometheus.yml").read_text("utf-8"))
    (job,) = ours["scrape_configs"]
    targets = job["static_configs"][0]["targets"]
    told = ours["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert {host.partition(":")[0] for host in [*targets, *told]} <= services().keys()
    shipped["scrape_configs"][0]["static_configs"][0]["targets"] = targets
    shipped["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = told
    assert ours == shipped


def test_grafana_is_provisioned_from_the_files_of_this_repository() -> None:
    """All that its provisioning names is given: the folder of the dashboards, and the addresses."""
    grafana = services()["grafana"]
    provisioning = ROOT / "grafana" / "provisioning"
    (provider,) = yaml.safe_load(
        (provisioning / "dashboards" / "rag-monitor.yml").read_text("utf-8")
    )["providers"]
    targets = {target: source for source, target, _ in mounts(grafana)}
    folder = DEPLOY / targets[provider["options"]["path"]]
    assert folder.resolve() == ROOT / "grafana" / "dashboards"
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (folder / home.name).exists()
    text = (provisioning / "datasources" / "rag-monitor.yml").read_text("utf-8")
    asked = set(re.findall(r"(?<!\$)\$\{(\w+)\}", text))
    assert asked <= grafana["environment"].keys()
