"""Makes ``.venv`` as a lock says, once, and says in one line what to do when that fails.

    python3 requirements/bootstrap.py core      what the monitor needs
    python3 requirements/bootstrap.py dev       the same and the tools of tests and checks
    python3 requirements/bootstrap.py bench     the same and what a benchmark compares with

A stamp inside ``.venv`` names the locks, the Python and the ``pyproject.toml`` it was made from.
While the stamp is current nothing is run and nothing is fetched. A ``.venv`` without a stamp is
half-made, one with another stamp is stale: both are removed and made anew. ``bench`` contains
``dev`` and that ``core``: what is missing is added beside a running monitor without touching what
that one has loaded.

Exit codes: 0 done · 2 this machine lacks something · 3 the index, a package or the disk refuses
· 130 interrupted. Needs only the standard library; every Python from 3.6 on can parse this file,
so that an older one than the monitor needs can still say so.
"""

import errno
import hashlib
import json
import os
import signal
import sys

OLDEST = (3, 11)
NEW_ENOUGH = ("python3.12", "python3.13", "python3.11")
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "stamp.json")
LOG = os.path.join(ROOT, ".venv-setup.log")
LOCK = os.path.join(ROOT, ".venv.lock")
LEVELS = ("core", "dev", "bench")  # each contains those before it
SOURCES = {level: os.path.join("requirements", level + ".txt") for level in LEVELS}
SOURCES["project"] = "pyproject.toml"
ADDING = {
    "dev": "adding the test tools to .venv (about 15 s) …",
    "bench": "adding what benchmarks need to .venv (about 15 s) …",
}
SEE_LOG = " (pip's output: .venv-setup.log)"
FULL = "the disk is full: free about 1 GB where the checkout and the temporary folder lie"

# What pip's output says → what to do. The first that matches wins: a refused hash is worse news
# than the slow connection that pip also mentions.
CAUSES = (
    (
        ("DO NOT MATCH THE HASHES",),
        "a package differs from the hash in the lock: run `python3 -m pip cache purge` and again;"
        " if it stays, distrust the index or mirror",
    ),
    (("[Errno 28]", "[Errno 122]", "No space left on device"), FULL),
    (
        ("401 Error", "HTTP error 401", "HTTP error 403", "407 Proxy Authentication"),
        "the package index refuses access: check the credentials of the index or the proxy",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED", "SSLError"),
        "the package index shows a certificate that is not trusted: set PIP_CERT to your CA file",
    ),
    (
        (
            "connection broken by",
            "Failed to establish a new connection",
            "name resolution",
            "Network is unreachable",
            "Read timed out",
            "ConnectionError",
            "Could not fetch URL",
        ),
        "the package index cannot be reached: check network and proxy, or name a mirror with"
        " PIP_INDEX_URL=…",
    ),
    (
        ("No matching distribution found",),
        "the package index has no version of a locked package for this Python and platform:"
        " try PYTHON=python3.12, or another index with PIP_INDEX_URL=…",
    ),
)


class Trouble(Exception):
    """Something that the person at the keyboard has to mend: an exit code and one line."""

    def __init__(self, code: int, line: str) -> None:
        Exception.__init__(self, line)
        self.code = code


def main(arguments: list) -> int:
    """Set up one of the levels; returns the exit code."""
    if len(arguments) != 1 or arguments[0] not in LEVELS:
        return complain(2, "usage: bootstrap.py " + "|".join(LEVELS))
    try:
        ensure(arguments[0])
    except Trouble as trouble:
        return complain(trouble.code, str(trouble))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
        place = error.filename or ROOT
        return complain(3, FULL if full else "cannot write %s: %s" % (place, error.strerror))
    except KeyboardInterrupt:
        return complain(130, "interrupted; nothing half-made is left, run it again")
    return 0


def complain(code: int, line: str) -> int:
    """Print the one line on stderr and hand back the exit code."""
    sys.stderr.write("setup: " + line + "\n")
    return code


def say(line: str) -> None:
    """Tell the person who waits what for."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def ensure(want: str) -> None:
    """Return once ``.venv`` holds ``want``; raises ``Trouble``."""
    hashes = {name: sha256(os.path.join(ROOT, path)) for name, path in SOURCES.items()}
    if is_current(read_stamp(), hashes, want):
        return
    use_a_fit_python()
    lock = take_lock()  # held until the process and its pip have ended
    stamp = read_stamp()
    if is_current(stamp, hashes, want):
        return
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    with open(LOG, "wb") as log:
        Setup(hashes, stamp, log, lock).make(want)


def sha256(path: str) -> str:
    """The digest of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise Trouble(2, "cannot read %s: %s" % (path, error.strerror)) from None


def read_stamp() -> dict:
    """What ``.venv`` was made from; empty when it is missing or half-made."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return {}
    usable = isinstance(stamp, dict) and os.access(VENV_PYTHON, os.X_OK)
    return stamp if usable else {}


def is_current(stamp: dict, hashes: dict, want: str) -> bool:
    """Whether nothing is left to do."""
    names = up_to(want) + ("project",)
    return is_fit(stamp) and all(stamp.get(name) == hashes[name] for name in names)


def up_to(level: str) -> tuple:
    """A level and those that it contains."""
    return LEVELS[: LEVELS.index(level) + 1]


def is_fit(stamp: dict) -> bool:
    """Whether ``.venv`` stands in its place and has the Python that was asked for, if one was."""
    asked = os.environ.get("PYTHON")
    return stamp.get("root") == ROOT and (not asked or stamp.get("python") == python_version())


def python_version() -> str:
    """The version of the Python that runs this, as far as packages care: ``3.11``."""
    return "%d.%d" % sys.version_info[:2]


def use_a_fit_python() -> None:
    """Go on with a Python that is new enough, can make an environment and is not in ``.venv``."""
    if sys.version_info[:2] < OLDEST:
        other = None if os.environ.get("PYTHON") else find_new_enough()
        if other is None:
            raise Trouble(
                2,
                "%s is Python %s and the monitor needs 3.11 or newer: install one, then say"
                " `make PYTHON=/path/to/python3.12 …`" % (sys.executable, python_version()),
            )
        os.execv(other, [other] + sys.argv)
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        # Run by the environment that is about to be removed: go on with the Python below it.
        base = getattr(sys, "_base_executable", None) or os.path.realpath(sys.executable)
        os.execv(base, [base] + sys.argv)
    try:
        import ensurepip
        import fcntl
        import venv

        del ensurepip, fcntl, venv
    except ImportError as error:
        raise Trouble(
            2,
            "this Python has no module %s: on Debian or Ubuntu `apt-get install python3-venv`,"
            " elsewhere a complete Python by `make PYTHON=…`" % error.name,
        ) from None


def find_new_enough():
    """The path of another Python on PATH that runs and is new enough, or None."""
    import shutil
    import subprocess

    probe = "import sys; sys.exit(sys.version_info[:2] < (3, 11))"
    for name in NEW_ENOUGH:
        path = shutil.which(name)
        # Version managers put names on PATH that refuse to run: only one that runs counts.
        if path and subprocess.call([path, "-c", probe], stderr=subprocess.DEVNULL) == 0:
            return path
    return None


def take_lock() -> int:
    """Wait for other set-ups of this checkout; the lock lives as long as its descriptor."""
    import fcntl

    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another set-up of .venv …")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def interrupt(number: int, frame: object) -> None:
    """A polite request to end cleans up just as Ctrl-C does."""
    raise KeyboardInterrupt


class Setup:
    """The steps that write. ``hashes`` is what is wanted, ``stamp`` what there is."""

    def __init__(self, hashes: dict, stamp: dict, log, lock: int) -> None:
        self.hashes = hashes
        self.stamp = dict(stamp)
        self.log = log
        self.lock = lock

    def make(self, want: str) -> None:
        """Bring ``.venv`` to ``want`` with the least work that leaves nothing stale behind."""
        fit = is_fit(self.stamp) and self.stamp.get("core") == self.hashes["core"]
        if not fit or any(self.stamp.get(n, self.hashes[n]) != self.hashes[n] for n in LEVELS):
            self.make_anew(want)
            return
        if self.stamp.get("project") != self.hashes["project"]:
            self.stamp.pop("project", None)
            self.write_stamp()
            self.install_project()
        if want not in self.stamp:
            self.add(want)
        self.write_stamp()

    def make_anew(self, want: str) -> None:
        """Remove what there is, make the environment, stamp it; all of it or nothing."""
        try:
            say("setting up .venv (about 40 s) …")
            remove_venv()
            if self.run([sys.executable, "-m", "venv", VENV]) != 0:
                raise Trouble(*self.explain("this Python cannot make a virtual environment"))
            self.pip("--require-hashes", "-r", SOURCES[want])
            self.stamp = {"root": ROOT, "python": python_version()}
            self.stamp.update((level, self.hashes[level]) for level in up_to(want))
            self.install_project()
            self.write_stamp()
        except BaseException:
            # A second Ctrl-C must not stop the clearing up; should it be killed, the missing
            # stamp tells the next run.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            remove_venv()
            raise

    def install_project(self) -> None:
        """Install the checkout itself, without a build environment of its own."""
        self.pip("--no-build-isolation", "-e", ".")
        self.stamp["project"] = self.hashes["project"]

    def add(self, want: str) -> None:
        """Install only what a level has beyond what there is: a monitor may be running from here.

        It is installed by force, so that what an interrupted run began counts for nothing.
        """
        say(ADDING[want])
        extra = os.path.join(VENV, want + "-only.txt")
        known = {block for n in LEVELS if n in self.stamp for block in blocks(SOURCES[n])}
        with open(extra, "w", encoding="utf-8") as file:
            file.writelines(block for block in blocks(SOURCES[want]) if block not in known)
        self.pip("--require-hashes", "--force-reinstall", "-r", extra)
        self.stamp.update((level, self.hashes[level]) for level in up_to(want))

    def write_stamp(self) -> None:
        """Put the stamp in place in one step."""
        fresh = STAMP + ".new"
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump(self.stamp, file)
        os.replace(fresh, STAMP)

    def pip(self, *arguments: str) -> None:
        """Run ``pip install``; the locks are complete, so that pip never has to resolve."""
        command = [VENV_PYTHON, "-m", "pip", "--no-input", "--no-color", "install", "--no-deps"]
        command += ["--progress-bar", "off", "--disable-pip-version-check"]
        if "PIP_RETRIES" not in os.environ:
            command += ["--retries", "2"]
        if self.run(command + list(arguments)) != 0:
            raise Trouble(*self.explain("pip could not install the packages"))

    def run(self, command: list) -> int:
        """Run a command with its output in the log; returns its exit code.

        It leads a process group of its own, so that an interrupt ends it with all its children, and
        holds the lock, so that no other set-up starts before it has ended, whatever ends us.
        """
        import subprocess

        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(self.lock,),
        )
        try:
            return child.wait()
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise

    def explain(self, otherwise: str) -> tuple:
        """The exit code and the line for what stands in the log."""
        with open(LOG, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for phrases, line in CAUSES:
            if any(phrase in text for phrase in phrases):
                return 3, line + SEE_LOG
        errors = [line[7:].strip() for line in text.splitlines() if line.startswith("ERROR: ")]
        return 3, ": ".join([otherwise] + errors[-1:]) + SEE_LOG


def blocks(path: str) -> list:
    """The requirements of a lock, each with the lines of its hashes."""
    found = []
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for line in file:
            if line[:1].isspace() and found:
                found[-1] += line
            elif line.strip() and not line.startswith("#"):
                found.append(line)
    return found


def environment() -> dict:
    """Our environment without what would turn pip or Python away from ``.venv``."""
    misleading = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON")
    kept = {name: value for name, value in os.environ.items() if name not in misleading}
    kept.update(PIP_USER="0", PYTHONNOUSERSITE="1", PYTHONUNBUFFERED="1")
    return kept


def remove_venv() -> None:
    """Remove ``.venv``, its stamp first: an interrupted removal must not look complete."""
    import shutil

    if os.path.islink(VENV) or os.path.isfile(VENV):
        os.unlink(VENV)
        return
    try:
        os.unlink(STAMP)
    except OSError:
        pass
    if os.path.isdir(VENV):
        shutil.rmtree(VENV)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
