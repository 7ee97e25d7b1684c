"""The import rules bite: a copy of the package with one breach of each, and each is reported."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sysconfig.get_path("scripts")) / "lint-imports"
PACKAGES = ("monitor", "rag_monitor", "rag_monitor_pytest")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
NAMES = [contract["name"] for contract in RULES["contracts"]]
#: Where a breach is made, what is imported there, and the beginning of the rule that it breaks.
BREACHES = [
    ("judge/pipeline/parsing.py", "monitor.scorer.scorer", "Rooms import downwards only"),
    ("scorer/scorer.py", "monitor.exporter.exporter", "Rooms import downwards only"),
    ("app/process.py", "monitor.cli", "Rooms import downwards only"),
    ("runtime/health.py", "monitor.telemetry", "Rooms import downwards only"),
    ("app/connections.py", "monitor.app.process", "Inside app"),
    ("scorer/picking.py", "monitor.scorer.slots", "Inside scorer"),
    ("exporter/scores/detector.py", "monitor.exporter.alarms.worst", "Inside exporter"),
    ("sampling/hashing.py", "monitor.sampling.prefilter", "Inside sampling"),
    ("app/score_role.py", "monitor.exporter.serve.scraped", "A process that only scores"),
    ("ingest/consumer/lag.py", "monitor.ingest.dead_letters.gate", "Inside ingest"),
    ("control/pauses.py", "monitor.control.bursts", "Inside control"),
    ("judge/pipeline/asking.py", "monitor.judge.limits.budget", "Inside judge"),
    ("kafka/problems.py", "monitor.kafka.connection", "Inside kafka"),
    ("judge/protocol.py", "monitor.stats.sums", "The judge knows neither"),
    (
        "ingest/dead_letter_headers.py",
        "monitor.metrics.catalogue",
        "Ingest and sampling know neither",
    ),
    ("sampling/rules.py", "monitor.stats.sums", "Ingest and sampling know neither"),
    ("judge_check/gates.py", "monitor.ingest.dead_letter_headers", "Checking a judge knows"),
    ("metrics/catalogue.py", "monitor.telemetry", "Metrics know"),
    ("stats/sums.py", "monitor.records.score", "Statistics know"),
    ("config/base.py", "monitor.telemetry", "Settings know"),
    ("scorer/judging.py", "monitor.config.sections", "Settings become objects"),
    ("audit/weekly.py", "monitor.config", "Settings become objects"),
    ("judge_check/measure.py", "monitor.config", "Settings become objects"),
    ("lookup/reading.py", "monitor.config.sections", "Lookups, the topic's traffic"),
    ("rules/model.py", "monitor.telemetry", "Rules know"),
    ("stats/horizon.py", "time", "Pure rooms"),
    # Of a module that few import: each chain by way of it would be told of.
    ("demo/send.py", "rag_monitor", "Nobody in monitor knows the second name"),
    ("ingest/event_time.py", "aiokafka", "Only kafka"),
    ("demo/send.py", "confluent_kafka", "Only demo.broker"),
    ("judge/text.py", "litellm", "Only judge.llm imports"),
    ("kafka/idle.py", "stamina", "Only judge.llm imports"),
    ("onboarding/trial.py", "opentelemetry", "Only ingest.formats.otlp"),
    ("judge/cache/memory.py", "redis", "Only judge.cache.redis_store"),
    ("judge/limits/quota.py", "throttled", "Only judge.limits.redis_limiter"),
    ("control/follower.py", "prometheus_client", "Only exporter and telemetry"),
    ("exporter/serve/http.py", "jinja2", "Only what makes pages"),
    ("audit/human_scores.py", "monitor.audit.serve.pages", "Inside audit"),
    ("audit/store/rows.py", "monitor.audit.store.labels", "Inside the store of audits"),
    ("audit/correction_publisher.py", "sqlalchemy", "Only audit.store imports"),
    ("lookup/reading.py", "pyarrow", "Only evaluate.rows"),
    ("evaluate/plotted.py", "matplotlib", "Only evaluate.png"),
    ("runtime/health.py", "structlog", "Only runtime.logs"),
    ("doctor/report.py", "typer", "Only cli imports typer"),
    ("doctor/table.py", "rich", "Only cli, demo, status and"),
]
#: Rules hold for the packages beside ``monitor``, too.
BESIDE = [
    ("rag_monitor", "structlog", "Only runtime.logs"),
    ("rag_monitor_pytest", "typer", "Only cli imports typer"),
    ("rag_monitor", "monitor.judge.text", "The second name and the plugin of pytest"),
    ("rag_monitor_pytest", "monitor.stats.sums", "The second name and the plugin of pytest"),
]
#: Rooms whose modules must all be placed, each with a module that nobody has placed.
UNPLACED = [
    "",
    "app",
    "audit",
    "audit/store",
    "control",
    "exporter",
    "ingest",
    "judge",
    "kafka",
    "sampling",
    "scorer",
]
PURE = re.compile(r"\b[Pp]ure\b")
#: What reads a clock, draws at random or imports, and is no import that a contract could see.
IMPURE_NAMES = {
    *("urandom", "getrandom", "getpid", "getppid", "import_module", "__import__"),
    *("urlopen", "urlretrieve", "build_opener", "install_opener"),
}
IMPURE_METHODS = {"now", "today", "utcnow", *IMPURE_NAMES}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter over the package below a folder."""
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200", "LINES": "50"}
    command = [str(LINT), "--no-cache"]
    return subprocess.run(
        command, cwd=root, env=environment, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each rule over a package that breaks all of them."""
    root = tmp_path_factory.mktemp("package")
    shutil.copy(ROOT / "pyproject.toml", root)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.pyc"))
    beside = [(f"../{package}/__init__.py", *rest) for package, *rest in BESIDE]
    for where, imported, _ in [*BREACHES, *beside]:
        path = root / "monitor" / where
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n\ndef _late() -> None:\n    import {imported}\n", "utf-8")
    for room in UNPLACED:
        (root / "monitor" / room / "unplaced.py").write_text("", "utf-8")
    found = lint(root)
    assert found.returncode == 1, found.stderr
    sections = re.split(r"^(.+)\n-{5,}$", found.stdout, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def test_rules_are_kept() -> None:
    """The package as it stands breaks none of its import rules."""
    found = lint(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(("where", "imported", "rule"), BREACHES)
def test_breach_is_found(reports: dict[str, str], where: str, imported: str, rule: str) -> None:
    """An import against the rules is reported under the rule that it breaks, by its two ends."""
    (name,) = [name for name in NAMES if name.startswith(rule)]
    importer = ".".join(Path("monitor", where).with_suffix("").parts)
    assert re.search(rf"\b{re.escape(f'{importer} -> {imported}')}\b", reports[name]), reports[name]


@pytest.mark.parametrize(("package", "imported", "rule"), BESIDE)
def test_breach_beside_the_monitor_is_found(
    reports: dict[str, str], package: str, imported: str, rule: str
) -> None:
    """A breach in a package of ours that is not ``monitor`` is reported."""
    (name,) = [name for name in NAMES if name.startswith(rule)]
    assert re.search(rf"\b{package} -> {imported}\b", reports[name]), reports[name]


@pytest.mark.parametrize("room", UNPLACED)
def test_module_must_be_placed(reports: dict[str, str], room: str) -> None:
    """A module that no layer names is reported."""
    name = f"monitor.{room.replace('/', '.')}.unplaced" if room else "monitor.unplaced"
    assert any(re.search(rf"\b{re.escape(name)}\b", said) for said in reports.values())


def test_every_room_that_must_be_complete_gets_such_a_module() -> None:
    """No contract names all modules of a room that is not tried above."""
    containers = [
        name
        for contract in RULES["contracts"]
        if contract.get("exhaustive")
        for name in contract["containers"]
    ]
    tried = [".".join(["monitor", *filter(None, room.split("/"))]) for room in UNPLACED]
    assert sorted(containers) == sorted(tried)


def test_every_rule_is_broken_once() -> None:
    """No rule is there that no breach above is about."""
    broken = [rule for *_, rule in [*BREACHES, *BESIDE]]
    assert [name for name in NAMES if not any(map(name.startswith, broken))] == []


#: Who imports what is named at run time, which no import rule sees: functions of users, a library
#: that not everybody has or that is slow to import, and the monitor behind its second name.
LATE = {
    "monitor/judge/llm/library.py",
    "monitor/kafka/auth/token_sources.py",
    "monitor/runtime/functions.py",
    "rag_monitor/__init__.py",
}


def test_who_imports_at_run_time_is_known() -> None:
    """Nobody gets round a rule by importing what has a name in a text."""
    files = [each for name in PACKAGES for each in sorted((ROOT / name).rglob("*.py"))]
    asked = re.compile(r"\b(import_module|__import__|resolve_name)\b")
    found = {str(each.relative_to(ROOT)) for each in files if asked.search(each.read_text("utf-8"))}
    assert found == LATE


def pure_modules() -> tuple[str, ...]:
    """The modules and rooms under the rule of purity."""
    (rule,) = [each for each in RULES["contracts"] if each["name"].startswith("Pure rooms")]
    return tuple(rule["source_modules"])


def impurities(source: str) -> list[str]:
    """What a module takes from a clock, from chance or from imports at run time, and where.

    Also where it only hands such a function on: ``clock=datetime.now``.
    """
    nodes = [*ast.walk(ast.parse(source))]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    random = _names_of("random", nodes)
    found = [
        f"{node.lineno}: {what}"
        for node in nodes
        if isinstance(node, ast.ImportFrom | ast.Attribute)
        for what in _chance(node, random)
    ]
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in IMPURE_METHODS:
            of = node.value.attr if isinstance(node.value, ast.Attribute) else node.value
            name = of.id if isinstance(of, ast.Name) else of
            if id(node) in called or name in ("datetime", "date"):
                found.append(f"{node.lineno}: {node.attr}")
        elif isinstance(node, ast.Name) and node.id in IMPURE_NAMES and id(node) in called:
            found.append(f"{node.lineno}: {node.id}")
    return found


def _chance(node: ast.ImportFrom | ast.Attribute, random: set[str]) -> list[str]:
    """What draws by itself, whatever it is called here: of ``random`` only the class is pure.

    ``random`` has the names of that module.
    """
    if isinstance(node, ast.ImportFrom):
        chance = node.module in ("random", "numpy.random", "urllib.request")
        names = [each.name for each in node.names]
        return [name for name in names if (chance and name != "Random") or name in IMPURE_NAMES]
    if isinstance(node.value, ast.Name):
        taken = node.value.id, node.attr
        if taken[0] in ("numpy", "np") and taken[1] == "random":
            return ["numpy.random"]
        if taken[1] != "Random" and taken[0] in random:
            return [f"random.{node.attr}"]
    return []


def _names_of(module: str, nodes: Sequence[ast.AST]) -> set[str]:
    """What a module is called where it is imported."""
    imported = [each for node in nodes if isinstance(node, ast.Import) for each in node.names]
    return {each.asname or each.name for each in imported if each.name == module}


def test_pure_modules_ask_no_clock_and_import_nothing_late() -> None:
    """A class that is imported for its values may read a clock, which no import rule sees."""
    found = {}
    for name in pure_modules():
        path = ROOT.joinpath(*name.split("."))
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            if impure := impurities(file.read_text(encoding="utf-8")):
                found[str(file.relative_to(ROOT))] = impure
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "at = datetime.now(UTC)",
        "at = datetime.datetime.utcnow()",
        "day = date.today()",
        "def made(clock=datetime.now): ...",
        "made(clock=dt.datetime.now)",
        "time = import_module('time')",
        "time = importlib.import_module('time')",
        "time = __import__('time')",
        "salt = os.urandom(8)",
        "salt = os.getpid()",
        "page = urllib.request.urlopen('http://a.example')",
        "page = urllib.request.build_opener().open('http://a.example')",
        "from urllib.request import OpenerDirector",
        "import random; drawn = random.random()",
        "import random as r; drawn = r.random()",
        "from random import shuffle",
        "from random import shuffle as mixed",
        "from os import urandom as drawn",
        "drawn = np.random.default_rng()",
    ],
)
def test_each_impurity_is_found(source: str) -> None:
    """Called or handed on, by its own name or by that of its module."""
    assert len(impurities(source)) == 1


def test_a_time_that_is_given_is_pure() -> None:
    """A parameter or field may have the name of a clock's method, and may be a clock."""
    source = "def at(now): return now(), self.now, datetime.fromtimestamp(state.now, UTC)"
    assert impurities(source) == []


def test_what_calls_itself_pure_is_held_to_it() -> None:
    """A module whose docstring says that it is pure stands under the rule of purity."""
    held, free = pure_modules(), []
    for path in sorted((ROOT / "monitor").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not PURE.search(source):
            continue  # to parse all of them takes a while
        said = ast.get_docstring(ast.parse(source)) or ""
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if PURE.search(said) and not any(name == one or name.startswith(f"{one}.") for one in held):
            free.append(name)
    assert free == ["monitor.judge"]  # says of which of its parts it is true
