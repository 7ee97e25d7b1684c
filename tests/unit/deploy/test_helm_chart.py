"""The Helm chart: what it renders is valid, safe, and understood by the monitor itself."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from monitor.config import PARTS, ROLES, Settings, load, paths
from monitor.exporter.serve.hosts import AllowedHosts
from monitor.rules.plan import plan
from monitor.rules.render import rendered
from tests.stages.chart_cases import (
    CASES,
    NAMED,
    REFUSED,
    RELEASES,
    SECRETS,
    documents,
    environment,
    of_kind,
    pods,
)
from tests.tools import locked_tools

ROOT: Final = Path(__file__).parents[3]
HELM: Final = ROOT / "deploy/helm"
CHART: Final = HELM / "rag-monitor"
#: Variables that deploy/Dockerfile sets.
IMAGE: Final = dict(
    re.findall(r"(RAG_MONITOR_\w+)=(\S+)", (ROOT / "deploy/Dockerfile").read_text("utf-8"))
)
#: The oldest version that the chart takes, and the newest whose schemas are at hand.
OLDEST: Final = re.findall(
    r'^kubeVersion: ">=(\d+\.\d+)\.0-0"$', (CHART / "Chart.yaml").read_text("utf-8"), re.M
)
NEWEST: Final = "1.37"
CASE: Final = pytest.mark.parametrize("case", CASES)
#: What the operators' CRDs ask for: required fields, and those that they know.
CRDS: Final[dict[str, dict[str, Any]]] = {
    "PodMonitor": {"selector": {}, "podMetricsEndpoints": [{"port": ""}]},
    "PrometheusRule": {"groups": [{"name": "", "rules": [{"expr": ""}]}]},
    "ScaledObject": {
        "scaleTargetRef": {"name": ""},
        "triggers": [
            {
                "type": "",
                "metadata": {
                    "bootstrapServers": "",
                    "consumerGroup": "",
                    "topic": "",
                    "lagThreshold": "",
                },
            }
        ],
    },
}
API: Final = {
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "ScaledObject": "keda.sh/v1alpha1",
}
RULE_FIELDS: Final = {"alert", "record", "expr", "for", "keep_firing_for", "labels", "annotations"}


def built_by() -> Any:
    """``deploy/helm/build.py``, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("helm_build", HELM / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD: Final = built_by()


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    """What the renderer said of all values, asked once."""
    script = ROOT / "tests/stages/helm_chart.py"
    asked = [("prod", values) for values in (*CASES.values(), *(values for values, _ in REFUSED))]
    asked += [(release, NAMED) for release in RELEASES]
    done = subprocess.run(
        [str(locked_tools()), str(script), str(CHART), *OLDEST, NEWEST],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def charts(answers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Case → what it gave."""
    return dict(zip(CASES, answers, strict=False))


@pytest.fixture
def manifests(charts: dict[str, dict[str, Any]], case: str) -> dict[str, str]:
    """The rendered templates of a case."""
    assert "error" not in charts[case], charts[case]
    found: dict[str, str] = charts[case]["manifests"]
    return found


def test_the_chart_is_as_built() -> None:
    """Rules, dashboards and schema are those of the sources; the script says it, too."""
    assert BUILD.differences() == [], "run python deploy/helm/build.py"
    done = subprocess.run(
        [sys.executable, str(HELM / "build.py"), "--check"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


@CASE
def test_what_it_renders_is_valid(charts: dict[str, dict[str, Any]], case: str) -> None:
    """Kubernetes' schemas, strictly, of the oldest and the newest version; no key twice; Helm's
    linter says nothing."""
    assert "error" not in charts[case], charts[case]
    assert charts[case]["invalid"] == []
    assert charts[case]["lint"] == []


def test_the_page_says_the_versions() -> None:
    """They are those whose schemas the chart is held against."""
    page = (ROOT / "docs/kubernetes.md").read_text("utf-8")
    assert re.findall(r"Kubernetes (\d\.\d+)\s+or\s+newer", page) == OLDEST
    assert re.findall(r"schemas of Kubernetes (\S+) and (\S+)\.\s", page) == [(*OLDEST, NEWEST)]


@pytest.mark.parametrize("number", range(len(RELEASES)))
def test_every_name_is_one(answers: list[dict[str, Any]], number: int) -> None:
    """DNS-1035, up to 63 characters for Services and 253 for all else, for any release."""
    answer = answers[len(CASES) + len(REFUSED) + number]
    assert "error" not in answer, answer
    assert answer["invalid"] == []
    kinds = set()
    for each in documents(answer["manifests"]):
        name, kind = each["metadata"]["name"], each["kind"]
        kinds.add(kind)
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name), (kind, name)
        assert len(name) <= (63 if kind == "Service" else 253), (kind, name)
        for text in each["metadata"]["labels"].values():
            assert re.fullmatch(r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", text), (kind, text)
    assert {"Service", "ConfigMap", "PrometheusRule", "ScaledObject"} <= kinds


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_wrong_values_are_refused(answers: list[dict[str, Any]], number: int) -> None:
    """With a line that names the value and what belongs there."""
    values, said = REFUSED[number]
    answer = answers[len(CASES) + number]
    assert re.search(said, answer.get("error", ""), re.S), (values, answer)


@CASE
def test_every_pod_understands_its_settings(
    manifests: dict[str, str], case: str, tmp_path: Path
) -> None:
    """Each file that a variable names is mounted, and the loader takes all of it.

    Also where the image has set a variable, which goes before the file.
    """
    for role, pod in pods(manifests).items():
        folder = tmp_path / role
        folder.mkdir()
        environ = {**IMAGE, **environment(pod, manifests, folder)}
        # The doctor is none, and asks for all that scorers are given.
        settings = load(environ, uses=ROLES.get(role, PARTS))
        (port,) = pod["containers"][0].get("ports", [{"containerPort": None}])
        bound = settings.audit if role == "audit" else settings.http
        assert port["containerPort"] in (None, bound.port)
        assert bound.host == ("::" if case == "six" else "0.0.0.0")
        if role == "audit":
            assert settings.audit.database is not None


@CASE
def test_its_services_reach_the_ports_by_name(manifests: dict[str, str]) -> None:
    """The port answers to the name of its Service, short and in full, and to no other."""
    allowed = AllowedHosts("0.0.0.0")
    for service in of_kind(manifests, "Service"):
        name = service["metadata"]["name"]
        assert allowed(name)
        assert allowed(f"{name}.rag.svc.cluster.local")
        assert service["spec"]["ports"][0]["targetPort"] == "http"


def test_a_role_gets_only_its_secrets(
    charts: dict[str, dict[str, Any]],
) -> None:
    """As variables and as files: exporters only Kafka's, and nobody else's are anybody's."""
    kafka = {"kafka-password", "ca.crt"}
    scorer = kafka | {"judge-key", "second-key", "redis-url", "salt", "registry-password"}
    wanted = {
        "scorer": scorer,
        "doctor": scorer,
        "exporter": kafka,
        "audit": kafka | {"audit-passwords", "audit-database"},
    }
    for role, pod in pods(charts["full"]["manifests"]).items():
        (volume,) = (each["secret"] for each in pod["volumes"] if each["name"] == "secrets")
        assert {each["key"] for each in volume["items"]} == wanted[role], role
        named = {v.get("value", "") for v in pod["containers"][0]["env"]}
        read = {path.removeprefix(SECRETS) for path in named if path.startswith(SECRETS)}
        assert read == wanted[role], role


def test_names_of_digits_stay_texts(charts: dict[str, dict[str, Any]]) -> None:
    """Of Secrets, accounts and classes; and ``-`` is the storage class that is none."""
    manifests = charts["numbers"]["manifests"]
    (claim,) = of_kind(manifests, "PersistentVolumeClaim")
    assert claim["spec"]["storageClassName"] == ""
    pod = pods(manifests)["audit"]
    assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("99", "12")
    (scaled,) = of_kind(manifests, "ScaledObject")
    assert scaled["spec"]["triggers"][0]["authenticationRef"] == {"name": "5"}


@pytest.mark.parametrize("case", ["numbers", "output msk"])
def test_every_role_has_the_library_that_logs_in_to_msk(manifests: dict[str, str]) -> None:
    """With ``aws_msk_iam`` all roles run the scorer's image, which alone has it."""
    found = pods(manifests).values()
    assert {p["containers"][0]["image"].partition(":")[0] for p in found} == {"rag-monitor-scorer"}


def test_what_a_role_empties_is_empty(charts: dict[str, dict[str, Any]]) -> None:
    """An empty list, map or text of a role takes the place of that of all pods, too."""
    found = pods(charts["emptied"]["manifests"])
    keys = {"nodeSelector", "tolerations", "priorityClassName"}
    assert {role: keys & set(pod) for role, pod in found.items()} == {
        "scorer": keys,
        "doctor": keys,
        "exporter": set(),
    }


@CASE
def test_notes_name_what_there_is(manifests: dict[str, str]) -> None:
    """Commands that are shown after an install name no role that does not run."""
    (notes,) = (text for name, text in manifests.items() if name.endswith("NOTES.txt"))
    for prefix, kind in (("deploy", "Deployment"), ("svc", "Service")):
        there = {each["metadata"]["name"] for each in of_kind(manifests, kind)}
        assert set(re.findall(rf"\b{prefix}/(\S+)", notes)) <= there
    runs = of_kind(manifests, "Deployment")
    assert notes.count(" logs deploy/") == len(runs)
    assert ("helm test" in notes) == bool(of_kind(manifests, "Pod"))
    assert ("Nothing runs" in notes) == (not runs)


def test_the_doctor_passes_where_scorers_pass(charts: dict[str, dict[str, Any]]) -> None:
    """It has the scorers' labels and annotations, and their network policy covers it."""
    manifests = charts["numbers"]["manifests"]
    (doctor,) = of_kind(manifests, "Pod")
    assert doctor["metadata"]["labels"]["team"] == "8"
    assert doctor["metadata"]["annotations"]["example.com/mesh"] == "off"
    covered = {
        role
        for each in of_kind(manifests, "NetworkPolicy")
        for role in each["spec"]["podSelector"]["matchExpressions"][0]["values"]
    }
    assert covered == set(pods(manifests))


@CASE
def test_every_pod_is_restricted(manifests: dict[str, str]) -> None:
    """As the restricted Pod Security Standard asks, and with a root that cannot be written."""
    for pod in pods(manifests).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"requests", "limits"} <= set(container["resources"])
            assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]]


@CASE
def test_work_under_way_can_end(manifests: dict[str, str], tmp_path: Path) -> None:
    """A scorer has longer than it drains, and is asked by the paths that there are."""
    for role, pod in pods(manifests).items():
        environ = environment(pod, manifests, tmp_path)
        drain = load(environ, uses=ROLES.get(role, PARTS)).ingest.drain_s
        if role == "scorer":
            assert pod["terminationGracePeriodSeconds"] > drain
        if role != "doctor":
            container = pod["containers"][0]
            assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
            assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
            assert container["livenessProbe"]["timeoutSeconds"] >= 5


def test_an_update_never_adds_a_member(charts: dict[str, dict[str, Any]]) -> None:
    """Scorers go one at a time and none is surplus; an exporter stays until the next is ready."""
    for case, manifests in ((case, found["manifests"]) for case, found in charts.items()):
        for each in of_kind(manifests, "Deployment"):
            role = each["metadata"]["labels"]["app.kubernetes.io/component"]
            rolling = each["spec"]["strategy"].get("rollingUpdate")
            wanted = {
                "scorer": None if case == "recreate" else {"maxSurge": 0, "maxUnavailable": 1},
                "exporter": {"maxSurge": 1, "maxUnavailable": 0},
                "audit": None,
            }
            assert rolling == wanted[role]


def test_the_default_drain_is_that_of_the_settings() -> None:
    """The templates know the defaults of what they look at."""
    text = "".join(path.read_text("utf-8") for path in (CHART / "templates").rglob("*.*"))
    defaults = Settings()
    assert set(re.findall(r'"drain_s" (\d+)', text)) == {f"{defaults.ingest.drain_s:.0f}"}
    assert set(re.findall(r'"http" "port" (\d+)', text)) == {str(defaults.http.port)}
    assert set(re.findall(r'"audit" "port" (\d+)', text)) == {str(defaults.audit.port)}
    assert set(re.findall(r'"group_id" "([^"]+)"', text)) == {defaults.kafka.group_id}
    assert f'list "{defaults.kafka.topics.interactions[0]}"' in text


@CASE
def test_crds_have_what_they_ask_for(manifests: dict[str, str]) -> None:
    """Required fields of the operators' objects, and no field of a rule that there is not."""
    for each in of_kind(manifests, *CRDS):
        assert each["apiVersion"] == API[each["kind"]]
        assert_holds(each["spec"], CRDS[each["kind"]])
        for group in each["spec"].get("groups", ()):
            assert all(set(rule) <= RULE_FIELDS for rule in group["rules"])


def assert_holds(found: Any, wanted: Any) -> None:
    """Every key of ``wanted`` is there; of a list, in each entry; ``""`` is a text."""
    if isinstance(wanted, dict):
        assert set(wanted) <= set(found), (wanted, found)
        for key, inner in wanted.items():
            assert_holds(found[key], inner)
    elif isinstance(wanted, list):
        for each in found:
            assert_holds(each, wanted[0])
    else:
        assert isinstance(found, str)


def test_scaling_stays_within_the_partitions(charts: dict[str, dict[str, Any]]) -> None:
    """A trigger for each topic, at most as many scorers as partitions, and no count beside it."""
    manifests = charts["full"]["manifests"]
    (scaled,) = of_kind(manifests, "ScaledObject")
    topics = [trigger["metadata"]["topic"] for trigger in scaled["spec"]["triggers"]]
    assert topics == ["chat.v1", "search.v1", "other.v1"]
    assert all(t["authenticationRef"] == {"name": "kafka"} for t in scaled["spec"]["triggers"])
    assert scaled["spec"]["maxReplicaCount"] == 6
    for each in of_kind(manifests, "Deployment"):
        name = each["metadata"]["name"]
        assert ("replicas" in each["spec"]) == (name != scaled["spec"]["scaleTargetRef"]["name"])


def test_the_rules_and_dashboards_are_the_ones_of_the_repository(
    charts: dict[str, dict[str, Any]],
) -> None:
    """What Prometheus and Grafana get is what the files say; given files take their place."""
    manifests = charts["prometheus"]["manifests"]
    rules = {
        each["metadata"]["name"].removeprefix("prod-rag-monitor-"): each["spec"]
        for each in of_kind(manifests, "PrometheusRule")
    }
    folder = ROOT / "deploy/prometheus/rules"
    assert rules == {p.stem: yaml.safe_load(p.read_text("utf-8")) for p in folder.iterdir()}
    boards = {
        name.removeprefix("rag-"): json.loads(text)
        for each in of_kind(manifests, "ConfigMap")
        for name, text in each["data"].items()
        if name.endswith(".json")
    }
    folder = ROOT / "grafana/dashboards"
    assert boards == {p.name: json.loads(p.read_text("utf-8")) for p in folder.iterdir()}
    (given,) = of_kind(charts["full"]["manifests"], "PrometheusRule")
    assert given["spec"] == {"groups": [{"name": "mine", "rules": []}]}


def test_prometheus_finds_the_jobs_that_the_rules_know(charts: dict[str, dict[str, Any]]) -> None:
    """Whatever the release is called: jobs match ``alerts.job``, and every role has one."""
    manifests = charts["full"]["manifests"]
    (monitor,) = of_kind(manifests, "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    jobs = {each["regex"]: each["replacement"] for each in endpoint["relabelings"]}
    assert set(jobs) == set(pods(manifests)) - {"doctor"}
    assert all(re.fullmatch(Settings().alerts.job, job) for job in jobs.values())


def test_every_path_in_the_chart_exists() -> None:
    """What templates read, and what values and templates tell people to look at."""
    texts = {
        path: path.read_text("utf-8")
        for path in (CHART / "values.yaml", *(CHART / "templates").rglob("*.*"))
    }
    read = {name for t in texts.values() for name in re.findall(r'"(files/[^"]+)"', t)}
    assert read == {"files/settings.yaml", "files/rules/*.yml", "files/dashboards/*.json"}
    assert all(list(CHART.glob(name)) for name in read)
    told = {p for t in texts.values() for p in re.findall(r"\b(?:docs|deploy)/[\w/.-]+\w", t)}
    assert "docs/kubernetes.md" in told
    assert [path for path in told if not (ROOT / path).exists()] == []


def test_every_setting_in_the_chart_exists() -> None:
    """Those that values set, and those that comments and templates name."""
    known = {path for path, _ in paths()}
    groups = {path.rpartition(".")[0] for path in known} | set(Settings.model_fields)
    values = (CHART / "values.yaml").read_text("utf-8")
    texts = values + "".join(p.read_text("utf-8") for p in (CHART / "templates").rglob("*.*"))
    sections = "|".join(Settings.model_fields)
    outer = set(yaml.safe_load(values))  # of values, too: `audit.enabled`
    named = set(re.findall(rf"\bconfig\.((?:{sections})[a-z_.]*[a-z_])", texts))
    named |= set(re.findall(rf"^  #  ((?:{sections})\.[a-z_.]+):", values, re.M))
    named |= {
        name
        for name in re.findall(rf"(?<![\w.])((?:{sections})\.[a-z_]+(?:\.[a-z_]+)*)", values)
        if name.partition(".")[0] not in outer
    }
    assert {"ingest.drain_s", "judge.api_key", "kafka.max_read_bytes"} <= named
    assert named - known - groups == set()
    Settings.model_validate(yaml.safe_load(values)["config"])


def test_every_value_is_in_the_schema_and_back() -> None:
    """A value without a schema would be a typo that nobody sees; so would the reverse."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert set(schema["properties"]) == set(values) | {"global"}
    for name in ("image", "secrets", "networkPolicy", "podMonitor", "prometheusRule", "pod"):
        assert set(schema["properties"][name]["properties"]) == set(values[name])
    for role in ("scorer", "exporter", "audit"):
        assert set(values[role]) <= set(schema["properties"][role]["properties"])


def test_the_rules_depend_on_what_the_chart_thinks() -> None:
    """A change of any other setting leaves them as they are; of each of these it does not."""
    shipped = rendered(Settings())
    changes: dict[str, Any] = {
        "alerts": {"lag": "9m"},
        "applications": [{"application": "a", "sampling": {"rate": 0.2}}],
        "export.windows": ["2h"],
        "ingest.format": "otlp_json",
        "ingest.sources": [{"topic": "t", "format": "otlp_json"}],
        "ingest.when_behind": "completeness",
        "sampling.block": 8,
        "sampling.rate": 0.3,
    }
    assert set(changes) == set(BUILD.RULES_DEPEND_ON)
    for path, value in changes.items():
        assert rendered(Settings.model_validate(tree({path: value}))) != shipped, path
    for path, _ in paths():
        if not path.startswith(BUILD.RULES_DEPEND_ON):
            for value in (7, 0.5, True, False, "7m", "x", ["7m"], {}):
                try:
                    changed = Settings.model_validate(tree({path: value}))
                except ValueError:
                    continue
                assert plan(changed) == plan(Settings()), (path, value)
                break


def tree(flat: dict[str, Any]) -> dict[str, Any]:
    """Dotted paths as nested mappings."""
    made: dict[str, Any] = {}
    for path, value in flat.items():
        *sections, key = path.split(".")
        node = made
        for section in sections:
            node = node.setdefault(section, {})
        node[key] = value
    return made
