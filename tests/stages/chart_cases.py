"""Values with which the Helm chart is rendered, and the pods that came out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.pages import blocks

Values = dict[str, Any]
Document = dict[str, Any]

#: Where pods find their secrets.
SECRETS: Final = "/run/secrets/rag-monitor/"

_LLM: Final = {"kind": "llm", "model": "openai/gpt-4o-mini"}

#: Everything that the chart knows, set.
FULL: Final[Values] = {
    "image": {
        "scorer": {"repository": "registry.example.com/rag-monitor-scorer"},
        "exporter": {
            "repository": "registry.example.com/rag-monitor-exporter",
            "digest": f"sha256:{'0' * 64}",
        },
        "tag": "0.1.0",
        "pullPolicy": "Always",
    },
    "imagePullSecrets": [{"name": "registry"}],
    "config": {
        "kafka": {
            "bootstrap_servers": "kafka-1:9093,kafka-2:9093",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "rag-monitor",
            "max_read_bytes": 33_554_432,
            "topics": {"interactions": "chat.v1, search.v1"},
        },
        "ingest": {
            "drain_s": 30.5,
            "format": "registry",
            "registry": {"url": "https://registry:8081", "username": "reader"},
            "mapping": {"user_input": "q", "response": "a", "retrieved_contexts": "c"},
            "sources": [{"topic": "other.v1"}],
        },
        "sampling": {"rate": 0.1},
        "judge": {**_LLM, "cache": {"kind": "redis"}},
        "limits": {"usd_per_day": 20},
        "http": {"port": 8080, "allowed_hosts": ["rag.example.com"]},
        "audit": {"person_attribute": "user"},
        "applications": [{"application": "bot", "judge": {"model": "anthropic/claude"}}],
        "alerts": {"runbook_url": "https://wiki.example.com/runbooks"},
    },
    "secrets": {
        "existingSecret": "rag-monitor",
        "keys": {
            "judge.api_key": "judge-key",
            "judge.cache.url": "redis-url",
            "limits.redis.url": "redis-url",
            "redaction.salt": "salt",
            "kafka.sasl_password": "kafka-password",
            "kafka.ssl_cafile": "ca.crt",
            "ingest.registry.password": "registry-password",
            "applications.0.judge.api_key": "second-key",
            "audit.password_file": "audit-passwords",
            "audit.database": "audit-database",
        },
    },
    "scorer": {
        "keda": {
            "enabled": True,
            "minReplicas": 2,
            "maxReplicas": 6,
            "partitions": 12,
            "authenticationRef": "kafka",
            "metadata": {"sasl": "scram_sha512", "tls": "enable"},
        },
        "labels": {"team": "search"},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    },
    "exporter": {"replicas": 2, "nodeSelector": {"disk": "ssd"}},
    "audit": {"enabled": True, "persistence": {"enabled": False}},
    "pod": {
        "annotations": {"example.com/owner": "search"},
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraVolumes": [{"name": "cas", "configMap": {"name": "cas"}}],
        "extraVolumeMounts": [{"name": "cas", "mountPath": "/etc/cas", "readOnly": True}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "rag-monitor"}},
            }
        ],
        "priorityClassName": "low",
    },
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}},
    "networkPolicy": {
        "egress": {
            "enabled": True,
            "kafka": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 9093}]}],
            "judge": [{"ports": [{"port": 443}]}],
            "database": [{"ports": [{"port": 5432}]}],
        }
    },
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "files": {"mine": "groups:\n- name: mine\n  rules: []\n"},
    },
    "dashboards": {"enabled": True, "annotations": {"grafana_folder": "RAG"}},
}

#: The page whose values people begin with.
_PAGE: Final = Path(__file__).parents[2] / "docs" / "kubernetes.md"

CASES: Final[dict[str, Values]] = {
    "defaults": {},
    "page": yaml.safe_load(blocks(_PAGE.read_text("utf-8"), "yaml")[0]),
    "full": FULL,
    "keda": {"scorer": {"keda": {"enabled": True}}},
    "two exporters": {"exporter": {"replicas": 2}, "scorer": {"enabled": False}},
    "audit": {
        "audit": {"enabled": True},
        "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "passwords"}},
    },
    "prometheus": {
        "podMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
    },
    "six": {"config": {"http": {"host": "::"}, "audit": {"host": "::"}}},
    "numbers": {
        "config": {
            "kafka": {
                "sasl_oauth": "aws_msk_iam",
                "sasl_mechanism": "OAUTHBEARER",
                "security_protocol": "SASL_SSL",
            }
        },
        "audit": {
            "enabled": True,
            "persistence": {"storageClass": "-"},
            "priorityClassName": "12",
        },
        "exporter": {"labels": {"team": "7"}},
        "scorer": {
            "labels": {"team": "8"},
            "annotations": {"example.com/mesh": "off"},
            "keda": {"enabled": True, "authenticationRef": "5"},
        },
        "secrets": {
            "existingSecret": "1234",
            "keys": {"audit.password_file": "123", "kafka.ssl_cafile": "456"},
        },
        "serviceAccount": {"name": "99"},
        "pod": {
            "extraEnv": [
                {
                    "name": "RAG_MONITOR_JUDGE__API_KEY",
                    "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}},
                }
            ]
        },
    },
    "claim": {
        "audit": {"enabled": True, "persistence": {"existingClaim": "77"}},
        "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "passwords"}},
    },
    "recreate": {
        "scorer": {"updateStrategy": {"type": "Recreate"}, "terminationGracePeriodSeconds": 21}
    },
    "output msk": {
        "config": {
            "kafka_output": {
                "bootstrap_servers": "b-1:9098",
                "sasl_oauth": "aws_msk_iam",
                "sasl_mechanism": "OAUTHBEARER",
                "security_protocol": "SASL_SSL",
            }
        },
        "audit": {"enabled": True},
        "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "passwords"}},
    },
    "regex": {
        "config": {
            "ingest": {"include": [{"attribute": "application", "regex": "^support-"}]},
            "sampling": {"forced": [{"attribute": "tier", "regex": "^gold"}]},
            "applications": [{"application": "bot", "when": [{"attribute": "a", "regex": "^b"}]}],
        }
    },
    "emptied": {
        "pod": {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "batch", "operator": "Exists"}],
            "priorityClassName": "low",
        },
        "exporter": {"nodeSelector": {}, "tolerations": [], "priorityClassName": ""},
    },
    "references": {
        "pod": {
            "extraEnv": [
                {
                    "name": "SHARED",
                    "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}},
                },
                {"name": "OPENAI_API_KEY", "value": "$(SHARED)"},
                {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "run/token"},
            ]
        }
    },
    "null": {
        "scorer": {"keda": None, "pdb": None},
        "secrets": None,
        "serviceAccount": None,
        "networkPolicy": {"from": None, "egress": None},
        "podMonitor": None,
        "prometheusRule": None,
        "dashboards": None,
    },
    "null lists": {
        "audit": {"enabled": True, "persistence": {"accessModes": None}},
        "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "passwords"}},
        "pod": {
            "annotations": None,
            "labels": None,
            "extraEnv": None,
            "extraVolumes": None,
            "extraVolumeMounts": None,
            "tolerations": None,
        },
        "networkPolicy": {"egress": {"enabled": True, "kafka": None, "judge": None}},
    },
    "nothing": {"scorer": {"enabled": False}, "exporter": {"enabled": False}},
}
#: Names of releases that Helm takes, and Kubernetes does not take for a Service's.
RELEASES: Final = ("rag.v1", "rag-monitor.v1", "1rag", "2-rag-monitor", "a" * 48 + "--bb", "a" * 53)
#: Everything that has a name.
NAMED: Final[Values] = {
    "scorer": {"keda": {"enabled": True}},
    "audit": {"enabled": True},
    "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "passwords"}},
    "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True},
}
#: Values that are wrong, and what is said of them.
REFUSED: Final[list[tuple[Values, str]]] = [
    ({"scorer": {"replica": 3}}, r"/scorer.*'replica' not allowed"),
    ({"scorer": {"replicas": "two"}}, r"/scorer/replicas.*got string, want integer"),
    ({"exporter": {"replicas": 3}}, r"/exporter/replicas.*maximum: got 3, want 2"),
    ({"scorer": {"keda": {"minReplicas": 0}}}, r"/keda/minReplicas.*got 0, want 1"),
    ({"config": {"samplng": {"rate": 0.1}}}, r"/config.*'samplng' not allowed"),
    ({"config": {"sampling": {"rate": 2}}}, r"/config/sampling/rate.*maximum: got 2, want 1"),
    ({"config": {"judge": {"kind": "lmm"}}}, r"/config/judge/kind.*'offline', 'llm'"),
    ({"secrets": {"keys": {"judge.model": "k"}}}, r"propertyName 'judge.model'"),
    ({"secrets": {"keys": {"judge.api_key": "k"}}}, r"secrets.existingSecret: missing"),
    ({"config": {"judge": {"api_key": "sk"}}}, r"config.judge.api_key: a secret would stand in"),
    (
        {"config": {"applications": [{"application": "a", "judge": {"api_key": "sk"}}]}},
        r"secrets.keys: \{applications.0.judge.api_key: KEY\}",
    ),
    ({"config": {"audit": {"database": "sqlite:///a"}}}, r"config.audit.database: a secret"),
    ({"audit": {"enabled": True}}, r"audit.password_file is missing"),
    (
        {
            "audit": {"enabled": True, "persistence": {"enabled": False}},
            "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "p"}},
        },
        r"audits need one of them",
    ),
    ({"scorer": {"keda": {"enabled": True, "maxReplicas": 5}}}, r"at most .*partitions \(4\)"),
    ({"scorer": {"terminationGracePeriodSeconds": 20}}, r"more than config.ingest.drain_s \(20\)"),
    (
        {"prometheusRule": {"enabled": True}, "config": {"sampling": {"rate": 0.1}}},
        r"the rules depend on config.sampling.rate.*rules render",
    ),
    (
        {"prometheusRule": {"enabled": True}, "config": {"sampling": {"rate": 0}}},
        r"the rules depend on config.sampling.rate",
    ),
    ({"config": {"http": {"host": "127.0.0.1"}}}, r"config.http.host: found 127.0.0.1.*for ever"),
    ({"config": {"http": {"host": "::1"}}}, r"config.http.host: found ::1"),
    (
        {"audit": {"enabled": True}, "config": {"audit": {"host": "localhost"}}},
        r"config.audit.host: found localhost",
    ),
    ({"fullnameOverride": "Foo_Bar"}, r"/fullnameOverride.*pattern"),
    ({"scorer": {"pdb": {"maxUnavailable": "abc"}}}, r"/pdb/maxUnavailable.*pattern"),
    ({"pod": {"extraVolumes": [{"name": "tmp"}]}}, r"/pod/extraVolumes/0/name"),
    (
        {"pod": {"labels": {"app.kubernetes.io/name": "x"}}},
        r"propertyName 'app.kubernetes.io/name'",
    ),
    (
        {"pod": {"extraEnv": [{"name": "RAG_MONITOR_HTTP__PORT", "value": "1"}]}},
        r"pod.extraEnv: found RAG_MONITOR_HTTP__PORT",
    ),
    (
        {"audit": {"extraEnv": [{"name": "RAG_MONITOR_AUDIT__HOST", "value": "::"}]}},
        r"audit.extraEnv: found RAG_MONITOR_AUDIT__HOST",
    ),
    (
        {"scorer": {"extraEnv": [{"name": "RAG_MONITOR_JUDGE__API_KEY", "value": "sk"}]}},
        r"scorer.extraEnv: found RAG_MONITOR_JUDGE__API_KEY with a value",
    ),
    ({"config": {"kafka": None}}, r"config.kafka.bootstrap_servers: missing"),
    (
        {"config": {"kafka": None}, "scorer": {"keda": {"enabled": True}}},
        r"config.kafka.bootstrap_servers: missing",
    ),
    ({"prometheusRule": {"files": {"a": "nonsense"}}}, r"/prometheusRule/files/a.*pattern"),
    ({"config": None}, r"config.kafka.bootstrap_servers: missing"),
    *(
        ({part: None}, rf"[ )]{part}: found null, expected a mapping")
        for part in ("scorer", "exporter", "audit", "image", "pod", "networkPolicy")
    ),
    ({"image": {"scorer": None}}, r"image.scorer: found null"),
    ({"exporter": {"updateStrategy": None}}, r"exporter.updateStrategy: found null"),
    (
        {"scorer": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}},
        r"scorer.updateStrategy.rollingUpdate: maxSurge and maxUnavailable are both 0",
    ),
    (
        {"exporter": {"updateStrategy": {"rollingUpdate": {"maxSurge": "0%"}}}},
        r"exporter.updateStrategy.rollingUpdate: maxSurge and maxUnavailable are both 0",
    ),
    (
        {"scorer": {"updateStrategy": {"rollingUpdate": {"maxSurge": "one"}}}},
        r"/rollingUpdate/maxSurge.*pattern",
    ),
    ({"config": {"http": {"port": 0}}}, r"config.http.port: found 0"),
    ({"audit": {"enabled": True}, "config": {"audit": {"port": 0}}}, r"config.audit.port: found 0"),
    (
        {
            "audit": {"enabled": True, "updateStrategy": {"type": "RollingUpdate"}},
            "secrets": {"existingSecret": "s", "keys": {"audit.password_file": "p"}},
        },
        r"audit.updateStrategy.type: found RollingUpdate, expected Recreate",
    ),
    (
        {"secrets": {"existingSecret": "s", "keys": {"kafka.sasl_password": ".."}}},
        r"/secrets/keys/kafka.sasl_password",
    ),
    (
        {"scorer": {"keda": {"metadata": {"lagThreshold": "5"}}}},
        r"invalid propertyName 'lagThreshold'",
    ),
    *(
        ({part: {"labels": {"app.kubernetes.io/name": "x"}}}, r"propertyName 'app.kub")
        for part in ("podMonitor", "prometheusRule", "dashboards", "scorer")
    ),
    ({"pod": {"annotations": {"checksum/config": "x"}}}, r"propertyName 'checksum/config'"),
    (
        {
            "pod": {"extraVolumes": [{"name": "a", "emptyDir": {}}]},
            "exporter": {"extraVolumes": [{"name": "a", "emptyDir": {}}]},
        },
        r"exporter.extraVolumes: found name a twice",
    ),
    (
        {"pod": {"extraVolumeMounts": [{"name": "a", "mountPath": "/tmp/"}]}},
        r"scorer.extraVolumeMounts: found mountPath /tmp twice",
    ),
    *(
        ({"pod": {"extraEnv": [{"name": name, "value": "sk"}]}}, rf"found {name} with a value")
        for name in (
            "RAG_MONITOR_JUDGE__HEADERS",
            "RAG_MONITOR_JUDGE__HEADERS__AUTHORIZATION",
            "RAG_MONITOR_APPLICATIONS__0__JUDGE__HEADERS__X_KEY",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "WATSONX_APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "HF_TOKEN",
            "AZURE_CLIENT_SECRET",
        )
    ),
]


def documents(manifests: dict[str, str]) -> Iterator[Document]:
    """The objects of a rendered chart."""
    for name, text in manifests.items():
        if not name.endswith("NOTES.txt"):
            yield from (each for each in yaml.load_all(text, yaml.CSafeLoader) if each)


def of_kind(manifests: dict[str, str], *kinds: str) -> list[Document]:
    """Those of some kinds."""
    return [each for each in documents(manifests) if each["kind"] in kinds]


def pods(manifests: dict[str, str]) -> dict[str, Document]:
    """Role → the pod's specification."""
    found = {}
    for each in of_kind(manifests, "Deployment", "Pod"):
        role = each["metadata"]["labels"]["app.kubernetes.io/component"]
        found[role] = (
            each["spec"]["template"]["spec"] if "template" in each["spec"] else each["spec"]
        )
    return found


def environment(pod: Document, manifests: dict[str, str], folder: Path) -> dict[str, str]:
    """What the process of a pod finds: its variables, and the files that they name, in ``folder``.

    Only the chart's own variables. Raises ``KeyError`` where a file is mounted from nowhere.
    """
    container, volumes = pod["containers"][0], {each["name"]: each for each in pod["volumes"]}
    mounted = {each["mountPath"]: volumes[each["name"]] for each in container["volumeMounts"]}
    config_maps = {
        each["metadata"]["name"]: each["data"] for each in of_kind(manifests, "ConfigMap")
    }
    found = {}
    for variable in container["env"]:
        if "valueFrom" in variable:
            continue
        name, value = variable["name"], variable["value"]
        if value.startswith("/"):
            directory, _, file = value.rpartition("/")
            volume = mounted[directory]
            if "configMap" in volume:
                text = config_maps[volume["configMap"]["name"]][file]
            else:
                text = _secret(name, {each["path"] for each in volume["secret"]["items"]}, file)
            (folder / file).write_text(text, encoding="utf-8")
            value = str(folder / file)
        if name.startswith("RAG_MONITOR_"):
            found[name] = value
    return found


def _secret(variable: str, there: set[str], file: str) -> str:
    if file not in there:
        raise KeyError(file)
    return "redis://redis:6379/0" if "URL" in variable else "hunter2hunter2"
