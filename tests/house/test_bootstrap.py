"""The set-up, run for real on a tiny project: every trouble gives one line, none leaves a half.

The tiny project has locks of one small package each, made here, and a build backend of its own:
what is run is the real script, a real virtual environment and the real pip, all without network.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "requirements" / "bootstrap.py"
SETTING_UP = "setting up .venv (about 40 s) …"
PROJECT = """\
[build-system]
requires = []
build-backend = "tiny"
backend-path = ["."]

[project]
name = "tiny"
version = "1"
"""
BACKEND = """\
import os, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("tiny.pth", os.getcwd() + "\\n")
        info = "tiny-1.dist-info/"
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""


def make_wheel(folder: Path, name: str) -> str:
    """Write a package of one empty module; returns its line in a lock."""
    path = folder / f"{name}-1-py3-none-any.whl"
    info = f"{name}-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return f"{name}==1 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def make_project(root: Path) -> Path:
    """A checkout with the real script, and everything else as small as can be."""
    (root / "requirements").mkdir(parents=True)
    (root / "wheels").mkdir()
    shutil.copy(SCRIPT, root / "requirements")
    core, dev = make_wheel(root / "wheels", "tinycore"), make_wheel(root / "wheels", "tinydev")
    (root / "requirements" / "core.txt").write_text(core, encoding="utf-8")
    (root / "requirements" / "dev.txt").write_text(core + dev, encoding="utf-8")
    bench = core + dev + make_wheel(root / "wheels", "tinybench")
    (root / "requirements" / "bench.txt").write_text(bench, encoding="utf-8")
    (root / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (root / "tiny.py").write_text(BACKEND, encoding="utf-8")
    return root


def environment(root: Path, changed: Mapping[str, str]) -> dict[str, str]:
    """Nothing of ours but PATH: no index, no cache, and wheels only from the tiny project."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "wheels",
        **changed,
    }


def start(root: Path, want: str, **changed: str) -> subprocess.Popen[str]:
    """Start the script, as ``make`` does."""
    return subprocess.Popen(
        [sys.executable, "requirements/bootstrap.py", want],
        cwd=root,
        env=environment(root, changed),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts() -> None:
    # A shell's background job ignores Ctrl-C, and so does all that it starts.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(root: Path, want: str, **changed: str) -> tuple[int, str, str]:
    """Run the script to its end: exit code, stdout, stderr."""
    process = start(root, want, **changed)
    out, err = process.communicate()
    return process.returncode, out, err


def closed_index() -> str:
    """The address of an index where nobody listens: the port was free a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/simple"


def modules(root: Path) -> set[str]:
    """Which of the tiny modules the environment has."""
    code = "import pkgutil; print(*(m.name for m in pkgutil.iter_modules() if 'tiny' in m.name))"
    command = [str(root / ".venv" / "bin" / "python"), "-c", code]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str, str]]]:
    """A project set up by ``core`` and ``dev`` at once over a half-made ``.venv``; and how it went.

    Its path has a space in it.
    """
    root = make_project(tmp_path_factory.mktemp("set up") / "check out")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "half-made").touch()
    processes = [start(root, want) for want in ("core", "dev")]
    said = [process.communicate() for process in processes]
    ended = [(process.returncode, *texts) for process, texts in zip(processes, said, strict=True)]
    return root, ended


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that nobody has set up."""
    return make_project(tmp_path / "checkout")


def test_old_python_can_parse_it() -> None:
    """A Python that is too old gets as far as saying so."""
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_concurrent_runs_set_up_once(made: tuple[Path, list[tuple[int, str, str]]]) -> None:
    """Two runs at once both succeed, and only one of them makes the environment."""
    root, ended = made
    assert [(code, err) for code, _, err in ended] == [(0, ""), (0, "")]
    assert "".join(out for _, out, _ in ended).count(SETTING_UP) == 1
    assert modules(root) == {"tiny", "tinycore", "tinydev"}


def test_half_made_is_made_anew(made: tuple[Path, list[tuple[int, str, str]]]) -> None:
    """An environment without a stamp is removed, whatever was in it."""
    root, _ = made
    assert not (root / ".venv" / "half-made").exists()


@pytest.mark.parametrize("want", ["core", "dev"])
def test_current_is_left_alone(made: tuple[Path, list[tuple[int, str, str]]], want: str) -> None:
    """A current set-up says nothing, writes nothing and asks no index."""
    root, _ = made
    log, stamp = root / ".venv-setup.log", root / ".venv" / "stamp.json"
    before = log.stat().st_mtime_ns, stamp.stat().st_mtime_ns
    unreachable = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": closed_index()}
    assert run(root, want, **unreachable) == (0, "", "")
    assert (log.stat().st_mtime_ns, stamp.stat().st_mtime_ns) == before


def test_changed_project_is_installed_again(
    made: tuple[Path, list[tuple[int, str, str]]],
) -> None:
    """After a change of ``pyproject.toml`` only the checkout itself is installed again."""
    root, _ = made
    config = root / ".venv" / "pyvenv.cfg"
    before = config.stat().st_mtime_ns
    (root / "pyproject.toml").write_text(PROJECT + "# changed\n", encoding="utf-8")
    assert run(root, "core") == (0, "", "")
    assert "Successfully installed tiny-1" in (root / ".venv-setup.log").read_text("utf-8")
    assert config.stat().st_mtime_ns == before


def test_dev_is_added_to_core(project: Path) -> None:
    """``dev`` after ``core`` adds its packages and leaves those of ``core`` untouched."""
    assert run(project, "core") == (0, SETTING_UP + "\n", "")
    assert modules(project) == {"tiny", "tinycore"}
    (module,) = project.glob(".venv/lib/*/site-packages/tinycore.py")
    before = module.stat()
    code, out, err = run(project, "dev")
    assert (code, err) == (0, "")
    assert SETTING_UP not in out
    assert modules(project) == {"tiny", "tinycore", "tinydev"}
    assert (module.stat().st_ino, module.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_bench_is_added_to_core_with_dev(project: Path) -> None:
    """``bench`` after ``core`` adds the packages of both others; ``dev`` is current then, too."""
    assert run(project, "core") == (0, SETTING_UP + "\n", "")
    config = project / ".venv" / "pyvenv.cfg"
    before = config.stat().st_mtime_ns
    code, out, err = run(project, "bench")
    assert (code, err) == (0, "")
    assert SETTING_UP not in out
    assert modules(project) == {"tiny", "tinycore", "tinydev", "tinybench"}
    assert run(project, "dev") == run(project, "bench") == (0, "", "")
    assert config.stat().st_mtime_ns == before


def test_unknown_level(project: Path) -> None:
    """What cannot be set up is not begun."""
    usage = "setup: usage: bootstrap.py core|dev|bench\n"
    assert run(project, "all") == (2, "", usage)
    assert not (project / ".venv").exists()


def test_unreachable_index(project: Path) -> None:
    """An index that refuses connections ends it soon, in one line, with nothing left."""
    index = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": closed_index()}
    code, _, err = run(project, "core", **index)
    assert code == 3
    assert err.count("\n") == 1
    assert "the package index cannot be reached" in err
    assert ".venv-setup.log" in err
    assert not (project / ".venv").exists()


def test_wrong_hash(project: Path) -> None:
    """A package that is not the locked one is refused, in one line, with nothing left."""
    lock = project / "requirements" / "core.txt"
    lock.write_text("tinycore==1 --hash=sha256:" + "0" * 64 + "\n", encoding="utf-8")
    code, _, err = run(project, "core")
    assert code == 3
    assert err.count("\n") == 1
    assert "differs from the hash in the lock" in err
    assert not (project / ".venv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing(project: Path, number: signal.Signals) -> None:
    """Ctrl-C and kill in the middle of the set-up remove what was begun."""
    process = start(project, "core")
    assert process.stdout is not None
    assert process.stdout.readline() == SETTING_UP + "\n"
    while not (project / ".venv" / "pyvenv.cfg").exists() and process.poll() is None:
        os.sched_yield()
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == "setup: interrupted; nothing half-made is left, run it again\n"
    assert not (project / ".venv").exists()


def pretend_old(folder: Path) -> dict[str, str]:
    """A PATH on which every Python says that it is 3.8; nothing else is there."""
    (folder / "old").mkdir()
    (folder / "old" / "sitecustomize.py").write_text(
        "import sys\nsys.version_info = (3, 8, 10, 'final', 0)\n", encoding="utf-8"
    )
    (folder / "bin").mkdir()
    return {"PATH": str(folder / "bin"), "PYTHONPATH": str(folder / "old")}


def test_python_too_old(project: Path, tmp_path: Path) -> None:
    """A Python before 3.11, and no newer one on PATH: the line says which and what to do."""
    code, out, err = run(project, "core", **pretend_old(tmp_path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "is Python 3.8 and the monitor needs 3.11 or newer" in err
    assert not (project / ".venv").exists()


def test_newer_python_on_path_takes_over(project: Path, tmp_path: Path) -> None:
    """A too old ``python3`` hands over to the first newer Python on PATH that runs."""
    changed = pretend_old(tmp_path)
    broken, works = tmp_path / "bin" / "python3.12", tmp_path / "bin" / "python3.13"
    broken.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    works.write_text(
        textwrap.dedent("""\
            #!/bin/sh
            [ "$1" = -c ] || echo "taken over: $*"
        """),
        encoding="utf-8",
    )
    broken.chmod(0o755)
    works.chmod(0o755)
    assert run(project, "core", **changed) == (
        0,
        "taken over: requirements/bootstrap.py core\n",
        "",
    )


def test_named_python_is_honoured(project: Path, tmp_path: Path) -> None:
    """With ``PYTHON=…`` no other Python is taken, even when that one is too old."""
    changed = pretend_old(tmp_path)
    other = tmp_path / "bin" / "python3.12"
    other.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    other.chmod(0o755)
    code, _, err = run(project, "core", PYTHON=sys.executable, **changed)
    assert code == 2
    assert "needs 3.11 or newer" in err


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_missing_standard_module(project: Path, tmp_path: Path, module: str) -> None:
    """Where Debian has split the module off, the line names the package that brings it."""
    error = f"raise ImportError('No module named {module}', name='{module}')\n"
    (tmp_path / f"{module}.py").write_text(error, encoding="utf-8")
    code, out, err = run(project, "core", PYTHONPATH=str(tmp_path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"no module {module}" in err
    assert "apt-get install python3-venv" in err


def test_unwritable_place(project: Path) -> None:
    """A file-system that refuses is named in one line."""
    (project / ".venv.lock").mkdir()
    code, _, err = run(project, "core")
    assert code == 3
    assert err == f"setup: cannot write {project}/.venv.lock: Is a directory\n"
