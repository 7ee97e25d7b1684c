"""The set-up, run for real on a tiny project: every trouble gives one line, none leaves a half.

The tiny project has locks of one small package each, made here, and a build backend of its own:
what is run is the real Makefile and script, a real virtual environment, the real pip and the real
uv, all without network. Most tests have their project at one place after the other, where pips are
forks of one that has imported pip; the first environment is made and filled without forks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import ClassVar

import pytest

ROOT = Path(__file__).parents[2]
#: What brings the packages of our environment, where nothing speaks against it.
UV = Path(sys.prefix) / "bin" / "uv"
#: What the environment of these tests was made with.
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
PIPS = ROOT / "tests" / "servers" / "forked_pip.py"
SETTING_UP = "setting up .venv (about 40 s) …\n"
ADDING = "bringing .venv up to date (about 15 s) …\n"
INSTEAD = "uv cannot do it (why: .venv-setup.log), so pip does …\n"
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
    """A checkout with the real Makefile and script, and everything else as small as can be."""
    (root / "requirements").mkdir(parents=True)
    (root / "wheels").mkdir()
    shutil.copy(ROOT / "Makefile", root)
    shutil.copy(ROOT / "requirements" / "install.sh", root / "requirements")
    first = make_wheel(root / "wheels", "tinyuv")
    (root / "requirements" / "uv.txt").write_text(first, encoding="utf-8")
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
        "PATH": f"{PYTHON.parent}:{os.environ['PATH']}",
        "HOME": str(root),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "wheels",
        **changed,
    }


def start(root: Path, want: str, **changed: str) -> subprocess.Popen[str]:
    """Start the script, as ``make`` does, or ``make`` itself where a file is wanted."""
    command = ["make", want] if "." in want else ["requirements/install.sh", want]
    return subprocess.Popen(
        command,
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
    """The same to its end: exit code, stdout, stderr."""
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


def program(path: Path, *lines: str) -> None:
    """Write a shell script that can be run."""
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)


def closed() -> dict[str, str]:
    """Settings of pip by which nothing can be had."""
    return {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": closed_index()}


Made = tuple[Path, list[tuple[int, str, str]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A project set up by ``core`` and ``dev`` at once over a half-made ``.venv``; and how it went.

    Its path has a space in it.
    """
    root = make_project(tmp_path_factory.mktemp("set up") / "check out")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "of-before").touch()
    processes = [start(root, want) for want in ("core", "dev")]
    said = [process.communicate() for process in processes]
    ended = [(process.returncode, *texts) for process, texts in zip(processes, said, strict=True)]
    return root, ended


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where projects stand, one after the other: an environment knows where it is."""
    return tmp_path_factory.mktemp("place") / "checkout"


@pytest.fixture(scope="module")
def bare(made: Made, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment that has uv already, and our pip; in all else it is the real one.

    At the place of most tests its ``python -m pip`` is a fork.
    """
    whole, bare = made[0] / ".venv", tmp_path_factory.mktemp("bare") / ".venv"
    tools = "pip*", "setuptools*", "pkg_resources", "_distutils_hack", "distutils-precedence.pth"
    own = shutil.ignore_patterns("tiny*", "__editable__*", "*.stamp", "root", "half-made", *tools)
    shutil.copytree(whole, bare, symlinks=True, ignore=own)
    (packages,) = bare.glob("lib/*/site-packages")
    for ours in Path(sysconfig.get_path("purelib")).glob("pip*"):
        (packages / ours.name).symlink_to(ours)  # nine hundred files that nobody changes
    (bare / "bin" / "uv").symlink_to(UV)
    (bare / "bin" / "python").rename(bare / "bin" / "started")
    with TemporaryDirectory(prefix="pips-") as folder:
        address = str(Path(folder, "asked"))
        program(
            bare / "bin" / "python",
            f'[ "$PWD $1 $2" = "{checkout} -m pip" ] || exec "${{0%/*}}/started" "$@"',
            "shift 2",
            f'exec "{PYTHON}" -ISE "{PIPS}" "{address}" "$@"',
        )
        shutil.copytree(bare, checkout / ".venv", symlinks=True)
        with pips(checkout / ".venv" / "bin" / "started", address):
            yield bare


@contextmanager
def pips(python: Path, address: str) -> Iterator[None]:
    """Forks of pip by this Python can be had at this address."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [python, PIPS, str(listener.fileno())],
            env=environment(python.parents[2], {"PYTHONNOUSERSITE": "1"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[listener.fileno()],
        )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield


@pytest.fixture(scope="module")
def quick(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ``python3`` whose ``-m venv`` copies an environment: seconds are saved."""
    folder = tmp_path_factory.mktemp("quick")
    program(
        folder / "python3",
        'case "$*" in',
        f'  "-m venv .venv") exec cp -a "{bare}" .venv ;;',
        '  *_base_executable*) echo "$0" ;;',
        f'  *) exec "{PYTHON}" "$@" ;;',
        "esac",
    )
    return folder


@pytest.fixture(scope="module")
def set_up(quick: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a project with the packages of ``core``."""
    path = f"{quick}:{os.environ['PATH']}"
    assert run(anew(checkout), ".venv/core.stamp", PATH=path) == (0, SETTING_UP, "")
    kept = tmp_path_factory.mktemp("kept") / "checkout"
    shutil.copytree(checkout, kept, symlinks=True)
    return kept


def anew(checkout: Path) -> Path:
    """A project that nobody has set up, in the place of what is there."""
    shutil.rmtree(checkout)
    return make_project(checkout)


@pytest.fixture
def ready(set_up: Path, checkout: Path) -> Path:
    """The project with ``core``, as it was: to set it up is seconds, to copy it a part of one."""
    shutil.rmtree(checkout)
    shutil.copytree(set_up, checkout, symlinks=True)
    return checkout


@pytest.fixture
def fresh(quick: Path, checkout: Path) -> Path:
    """One that nobody has set up, at the place of forked pips."""
    return anew(checkout)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that nobody has set up."""
    return make_project(tmp_path / "checkout")


def test_concurrent_runs_set_up_once(made: Made) -> None:
    """Two runs at once both succeed, and only one of them makes the environment."""
    root, ended = made
    assert [(code, err) for code, _, err in ended] == [(0, ""), (0, "")]
    assert "".join(out for _, out, _ in ended).count(SETTING_UP) == 1
    assert modules(root) == {"tiny", "tinyuv", "tinycore", "tinydev"}


def test_half_made_is_made_anew(made: Made) -> None:
    """An environment without a stamp is removed, whatever was in it."""
    root, _ = made
    assert not (root / ".venv" / "of-before").exists()


@pytest.mark.parametrize("want", ["core", "dev"])
def test_current_is_left_alone(made: Made, want: str) -> None:
    """A current set-up says nothing, writes nothing and asks no index."""
    root, _ = made
    log, stamp = root / ".venv-setup.log", root / ".venv" / f"{want}.stamp"
    before = log.stat().st_mtime_ns, stamp.stat().st_mtime_ns
    code, out, err = run(root, f".venv/{want}.stamp", **closed())
    assert (code, err) == (0, "")
    assert out in ("", f"make: '.venv/{want}.stamp' is up to date.\n")
    assert run(root, want, PYTHON=str(PYTHON), **closed()) == (0, "", "")
    assert (log.stat().st_mtime_ns, stamp.stat().st_mtime_ns) == before


def test_changed_project_is_installed_again(ready: Path) -> None:
    """After a change of ``pyproject.toml`` the environment stays, and gets what is new."""
    (ready / ".venv" / "bin" / "uv").unlink()  # pip names what it has installed
    config = ready / ".venv" / "pyvenv.cfg"
    before = config.stat().st_mtime_ns
    (ready / "pyproject.toml").write_text(PROJECT + "# changed\n", encoding="utf-8")
    assert run(ready, ".venv/core.stamp") == (0, ADDING, "")
    assert "Successfully installed tiny-1" in (ready / ".venv-setup.log").read_text("utf-8")
    assert config.stat().st_mtime_ns == before


def test_levels_are_added_and_a_refusal_spoils_nothing(ready: Path) -> None:
    """What a level has more is added; the packages that a monitor runs from are untouched.

    Where nothing was installed yet, what is there can still be run, and added to.
    """
    assert modules(ready) == {"tiny", "tinyuv", "tinycore"}
    (module,) = ready.glob(".venv/lib/*/site-packages/tinycore.py")
    before = module.stat()
    code, out, err = run(ready, "dev", **closed())
    assert (code, out, err.count("\n")) == (3, ADDING + INSTEAD, 1)
    assert modules(ready) == {"tiny", "tinyuv", "tinycore"}
    assert run(ready, ".venv/dev.stamp") == (0, ADDING, "")
    assert modules(ready) == {"tiny", "tinyuv", "tinycore", "tinydev"}
    assert run(ready, ".venv/bench.stamp") == (0, ADDING, "")
    assert modules(ready) == {"tiny", "tinyuv", "tinycore", "tinydev", "tinybench"}
    assert (module.stat().st_ino, module.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert run(ready, "core") == run(ready, "dev") == (0, "", "")


def by_uv(root: Path) -> bool:
    """Whether uv has installed the packages and the project, and pip no more than uv."""
    log = (root / ".venv-setup.log").read_text("utf-8")
    return log.count("Installed 1 package") == 2 and log.count("Installing collected") == 1


def test_uv_looks_where_the_environment_tells_pip_to(ready: Path) -> None:
    """It reads no settings of pip's itself."""
    assert by_uv(ready)


@pytest.mark.parametrize("place", ["a file", "both"])
def test_uv_looks_where_a_file_tells_pip_to(fresh: Path, quick: Path, place: str) -> None:
    """Of a file's setting and the environment's the environment's holds."""
    settings = fresh / "pip.conf"
    said = "[global]\nno-index = true\n[install]\nfind-links =\n    more\n    wheels\n"
    settings.write_text(said, "utf-8")
    (fresh / "more").mkdir()
    changed = {"PATH": f"{quick}:{os.environ['PATH']}", "PIP_CONFIG_FILE": str(settings)}
    if place == "a file":
        changed |= {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    else:
        settings.write_text("[install]\nfind-links = more\n", "utf-8")
    assert run(fresh, "core", **changed) == (0, SETTING_UP, "")
    assert by_uv(fresh)


class Proxy(BaseHTTPRequestHandler):
    """Has nothing, and remembers who asked."""

    asked: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.asked.add(self.headers["User-Agent"].split("/")[0])
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        return


def test_uv_asks_by_the_proxy_that_pip_was_told_of(fresh: Path, quick: Path) -> None:
    """Whatever proxy the environment names for everybody."""
    nobody = closed_index().removesuffix("/simple")
    everybody = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), nobody)
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        told = {"PIP_PROXY": f"http://127.0.0.1:{server.server_port}", "PIP_NO_INDEX": "0"}
        told |= {"PIP_INDEX_URL": "http://a.invalid/simple", "PIP_TRUSTED_HOST": "a.invalid"}
        changed = {"PATH": f"{quick}:{os.environ['PATH']}"} | everybody | told
        assert run(fresh, "core", **changed) == (0, SETTING_UP, "")
        server.shutdown()
    assert by_uv(fresh)
    assert Proxy.asked == {"uv", "pip"}


def test_where_uv_cannot_pip_does(ready: Path) -> None:
    """With settings that uv has no words for, or on a machine on which it does not run: told."""
    uv = ready / ".venv" / "bin" / "uv"
    uv.unlink()
    program(uv, "echo no such settings >&2", "exit 2")
    assert run(ready, "dev") == (0, ADDING + INSTEAD, "")
    assert modules(ready) == {"tiny", "tinyuv", "tinycore", "tinydev"}
    assert "no such settings" in (ready / ".venv-setup.log").read_text("utf-8")


def cut_off(uv: Path) -> None:
    """Replace it by one that leaves a part of a package, which pip would take for all of it."""
    uv.unlink()
    part = "$(echo .venv/lib/python3*/site-packages)/tinydev-1.dist-info"
    said = "Metadata-Version: 2.1\\nName: tinydev\\nVersion: 1\\n"
    program(uv, f'mkdir "{part}"', f'printf "{said}" >"{part}/METADATA"', "exit 137")


def test_what_uv_was_killed_over_is_made_anew(ready: Path, quick: Path) -> None:
    """By pip."""
    cut_off(ready / ".venv" / "bin" / "uv")
    path = f"{quick}:{os.environ['PATH']}"
    assert run(ready, "dev", PATH=path) == (0, ADDING + INSTEAD, "")
    assert modules(ready) == {"tiny", "tinycore", "tinydev"}


def test_what_uv_was_killed_over_is_not_taken_for_whole_later(ready: Path, quick: Path) -> None:
    """Where pip cannot go on, the next run begins anew."""
    cut_off(ready / ".venv" / "bin" / "uv")
    path = f"{quick}:{os.environ['PATH']}"
    code, _, err = run(ready, "dev", PATH=path, **closed())
    assert (code, err.count("\n")) == (3, 1)
    assert run(ready, "dev", PATH=path) == (0, SETTING_UP, "")
    assert modules(ready) == {"tiny", "tinyuv", "tinycore", "tinydev"}


def test_only_what_the_lock_says_is_installed(fresh: Path, quick: Path) -> None:
    """Whatever pip is told to install besides, or in its place."""
    (fresh / "other.txt").write_text(make_wheel(fresh / "wheels", "tinyother"), "utf-8")
    (fresh / "less.txt").write_text("tinyuv==2\n", "utf-8")
    told = {"PIP_REQUIREMENT": "other.txt", "PIP_CONSTRAINT": "less.txt", "PIP_DRY_RUN": "1"}
    changed = {"PATH": f"{quick}:{os.environ['PATH']}"} | told
    assert run(fresh, "core", **changed) == (0, SETTING_UP, "")
    assert modules(fresh) == {"tiny", "tinyuv", "tinycore"}


@pytest.fixture(scope="module")
def hollow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ``python3`` whose environments have a Python that does nothing."""
    folder = tmp_path_factory.mktemp("hollow")
    hollow_python(folder / "python")
    program(
        folder / "python3",
        'case "$*" in',
        '  "-m venv .venv") mkdir .venv .venv/bin && touch .venv/pyvenv.cfg &&',
        f'    exec cp "{folder}/python" .venv/bin ;;',
        '  *_base_executable*) echo "$0" ;;',
        f'  *) exec "{PYTHON}" "$@" ;;',
        "esac",
    )
    return folder


def hollow_python(path: Path) -> None:
    """Write one that says its version, and does nothing that is asked of its modules."""
    program(path, "[ $# -gt 2 ] || echo 3.99")


@pytest.mark.parametrize("why", ["cut off", "moved", "link", "another Python", "whole"])
def test_what_cannot_be_added_to_is_made_anew(
    project: Path, tmp_path: Path, hollow: Path, why: str
) -> None:
    """A link is removed, and not what it leads to; only ``whole`` is added to, by its own pip.

    What is then installed is the affair of the tests above.
    """
    there = tmp_path / "other" if why == "link" else project / ".venv"
    (there / "bin").mkdir(parents=True)
    hollow_python(there / "bin" / "python")
    (there / "core.stamp").touch()
    root = tmp_path if why == "moved" else project
    (there / "root").write_text(f"{root}\n", encoding="utf-8")
    if why == "cut off":
        (there / "half-made").touch()
    if why == "link":
        (project / ".venv").symlink_to(there)
    changed = {"PATH": f"{hollow}:{os.environ['PATH']}"}
    if why == "another Python":
        changed["PYTHON"] = str(hollow / "python3")
    said = ADDING if why == "whole" else SETTING_UP
    assert run(project, "dev", **changed) == (0, said, "")
    assert (there / "core.stamp").exists()
    assert (project / ".venv" / "pyvenv.cfg").exists() == (why != "whole")
    assert not (project / ".venv").is_symlink()
    assert (project / ".venv" / "root").read_text("utf-8") == f"{project}\n"
    assert not (project / ".venv" / "half-made").exists()


def test_unknown_level(project: Path) -> None:
    """What cannot be set up is not begun."""
    assert run(project, "all") == (2, "", "setup: usage: install.sh core|dev|bench\n")
    assert not (project / ".venv").exists()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param({}, "the package index cannot be reached", id="refuses"),
        # Then pip does not say that it has asked in vain.
        pytest.param({"PIP_RETRIES": "0"}, "names one that can be reached", id="asked once"),
        # Which pip does not ask at all.
        pytest.param(
            {"PIP_INDEX_URL": "http://index.invalid/simple"},
            "pip trusts no package index without https",
            id="no https",
        ),
    ],
)
def test_unreachable_index(fresh: Path, quick: Path, settings: Mapping[str, str], why: str) -> None:
    """An index that refuses connections ends it soon, in one line, with nothing left."""
    given = {"PATH": f"{quick}:{os.environ['PATH']}", **closed(), **settings}
    code, _, err = run(fresh, "core", **given)
    assert code == 3
    assert err.count("\n") == 1
    assert why in err
    assert ".venv-setup.log" in err
    assert not (fresh / ".venv").exists()


def test_wrong_hash(fresh: Path, quick: Path) -> None:
    """A package that is not the locked one is refused, in one line, with nothing left."""
    lock = fresh / "requirements" / "core.txt"
    lock.write_text("tinycore==1 --hash=sha256:" + "0" * 64 + "\n", encoding="utf-8")
    code, _, err = run(fresh, "core", PATH=f"{quick}:{os.environ['PATH']}")
    assert code == 3
    assert err.count("\n") == 1
    assert "differs from the hash in the lock" in err
    assert not (fresh / ".venv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing_that_looks_whole(project: Path, number: signal.Signals) -> None:
    """Ctrl-C and kill in the middle end it at once, without a stamp."""
    process = start(project, "core")
    assert process.stdout is not None
    assert process.stdout.readline() == SETTING_UP
    while not (project / ".venv" / "pyvenv.cfg").exists() and process.poll() is None:
        os.sched_yield()
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == "setup: interrupted; what is half-made is made anew, run it again\n"
    assert not (project / ".venv" / "core.stamp").exists()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with a ``python3`` that says that it is 3.8."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.version_info = (3, 8, 10, 'final', 0)\n", encoding="utf-8"
    )
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "python3", f'PYTHONPATH="{tmp_path}" exec "{PYTHON}" "$@"')
    return tmp_path / "bin"


def test_python_too_old(project: Path, old: Path) -> None:
    """A Python before 3.11, and no newer one on PATH: the line says which and what to do."""
    code, out, err = run(project, "core", PATH=str(old))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "python3 is Python 3.8 and the monitor needs 3.11 or newer" in err
    assert not (project / ".venv").exists()


def test_newer_python_on_path_takes_over(fresh: Path, old: Path, quick: Path) -> None:
    """A too old ``python3`` hands over to the first newer Python on PATH that runs."""
    program(old / "python3.12", "exit 127")
    program(old / "python3.13", f'exec "{quick}/python3" "$@"')
    assert run(fresh, "core", PATH=f"{old}:/usr/bin:/bin") == (0, SETTING_UP, "")
    assert modules(fresh) == {"tiny", "tinyuv", "tinycore"}


def test_named_python_is_honoured(project: Path, old: Path) -> None:
    """With ``PYTHON=…`` no other Python is taken, even when that one is too old."""
    code, _, err = run(project, "core", PYTHON=str(old / "python3"))
    assert code == 2
    assert "needs 3.11 or newer" in err


def test_no_python(project: Path, tmp_path: Path) -> None:
    """None on PATH, and none under a name that was asked for."""
    for changed, name in ({"PATH": str(tmp_path)}, "python3"), ({"PYTHON": "python9"}, "python9"):
        code, out, err = run(project, "core", **changed)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"no {name} on PATH: install Python 3.11 or newer" in err


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_missing_standard_module(project: Path, tmp_path: Path, module: str) -> None:
    """Where Debian has split the module off, the line names the package that brings it."""
    error = f"raise ModuleNotFoundError('No module named {module}')\n"
    (tmp_path / f"{module}.py").write_text(error, encoding="utf-8")
    code, out, err = run(project, "core", PYTHONPATH=str(tmp_path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"No module named {module}" in err
    assert "`apt-get install python3-venv`" in err


def test_unwritable_place(project: Path) -> None:
    """A file-system that refuses is named in one line."""
    for name in (".venv-setup.log", ".venv.lock"):
        (project / name).unlink(missing_ok=True)
        (project / name).mkdir()
        code, _, err = run(project, "core")
        assert (code, err) == (3, f"setup: cannot write {project}/{name}\n")
