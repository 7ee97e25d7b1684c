#!/bin/sh
# Brings .venv to what a lock says: `install.sh core|dev|bench`, each of which holds those before.
# `make` runs it when .venv/LEVEL.stamp is missing, or older than the lock or pyproject.toml.
#
# What is there is added to, beside a monitor that runs from it. It is removed and made anew when it
# is half-made (no core.stamp, or an install was cut off), moved, a link, or of another Python than
# was asked for with PYTHON=…
#
# Every trouble is one line. Exit codes: 0 done · 2 this machine lacks something · 3 the index, a
# package or the disk refuses · 130 interrupted.
set -u
cd "${0%/*}/.." || exit 2
LOG=.venv-setup.log
child=

fail() {
  echo "setup: $2" >&2
  exit "$1"
}

version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

choose_python() {
  if [ -n "${PYTHON-}" ]; then set -- "$PYTHON"; else set -- python3 python3.12 python3.13 python3.11; fi
  for python in "$@"; do
    # Not the one of .venv, which may be about to go: the one below it.
    if new_enough "$python"; then
      python=$("$python" -c 'import sys; print(sys._base_executable)')
      break
    fi
    python=
  done
  [ -n "$python" ] || [ -n "$(version "$1")" ] ||
    fail 2 "no $1 on PATH: install Python 3.11 or newer, or say \`make PYTHON=/path/to/python3.12 …\`"
  [ -n "$python" ] || fail 2 "$1 is Python $(version "$1") and the monitor needs 3.11 or newer:\
 install one, then say \`make PYTHON=/path/to/python3.12 …\`"
  said=$("$python" -c 'import ensurepip, venv' 2>&1) ||
    fail 2 "this Python cannot make environments (${said##*: }): on Debian or Ubuntu\
 \`apt-get install python3-venv\`, elsewhere a complete Python by \`make PYTHON=…\`"
}

wait_for_others() {
  true 2>/dev/null >>.venv.lock || fail 3 "cannot write $(pwd)/.venv.lock"
  command -v flock >/dev/null || return 0
  exec 9>.venv.lock # held by pip, too: until both have ended
  flock -n 9 || { echo "waiting for another set-up of .venv …" && flock 9; }
}

can_be_added_to() {
  [ -e .venv/core.stamp ] && [ ! -e .venv/half-made ] && [ ! -L .venv ] &&
    [ "$(cat .venv/root)" = "$(pwd -P)" ] && new_enough .venv/bin/python &&
    { [ -z "${PYTHON-}" ] || [ "$(version .venv/bin/python)" = "$(version "$python")" ]; }
}

is_current() {
  for source in "requirements/$1.txt" requirements/uv.txt pyproject.toml; do
    [ -e ".venv/$1.stamp" ] && [ ! "$source" -nt ".venv/$1.stamp" ] || return 1
  done
}

run() { ran "$@" || explain; }

ran() {
  "$@" >>"$LOG" 2>&1 &
  child=$!
  wait "$child"
}

# Each file of each package, but for what Python makes itself: whether an install has begun.
installed() { find .venv/lib -type f ! -name '*.pyc' -exec ls -i {} + 2>/dev/null | sort | cksum; }

begin_anew() {
  rm -rf .venv
  run "$python" -m venv .venv
  pwd -P >.venv/root
  touch .venv/half-made
}

# The locks are complete: nothing is resolved.
pip_install() {
  exec .venv/bin/python -m pip --no-input --no-color install --no-deps --no-compile \
    --progress-bar off --disable-pip-version-check --retries "${PIP_RETRIES:-2}" "$@"
}

# Pip's settings for an install, as `key='value'` a line; of two the last one holds.
pip_settings() {
  said=$(.venv/bin/python -m pip --disable-pip-version-check config list)
  for part in global install :env:; do printf '%s\n' "$said" | sed -n "/=''$/d; s/^$part\.//p"; done
}

uv_install() {
  export UV_SYSTEM_CERTS=true UV_HTTP_RETRIES="${PIP_RETRIES:-2}" # as pip does
  no_index=
  # What pip has been told of indexes, for uv does not look there.
  while IFS='=' read -r key value; do
    value=$(printf '%s\n' "$value" | sed "s/^[\"']//; s/[\"']$//; s/\\\\n/ /g; s/^ *//")
    case $key in
      index-url) export UV_DEFAULT_INDEX="$value" ;;
      extra-index-url) export UV_INDEX="$value" ;;
      find-links) export UV_FIND_LINKS="$(printf '%s\n' "$value" | tr ' ' ,)" ;;
      no-index) case $value in 1 | [Tt]rue | [Yy]es | [Oo]n) no_index=--no-index ;; *) no_index= ;; esac ;;
      trusted-host) export UV_INSECURE_HOST="$value" ;;
      cert) export SSL_CERT_FILE="$value" ;;
      client-cert) export SSL_CLIENT_CERT="$value" ;;
      # Pip takes it before what the environment says, under each of these names.
      proxy) export HTTP_PROXY="$value" http_proxy="$value" HTTPS_PROXY="$value" https_proxy="$value" ;;
      no-cache-dir) export UV_NO_CACHE="$value" ;;
    esac
  done <<SETTINGS
$settings
SETTINGS
  exec .venv/bin/uv --no-progress --color never pip install --python .venv/bin/python --no-deps \
    --index-strategy unsafe-best-match $no_index "$@"
}

# What the lock says, and the monitor itself. Uv does in 5 s what takes pip 30.
install_by_uv() {
  pids=
  trap 'kill $pids; exit 1' TERM
  settings=$(pip_settings)
  waited uv_install --require-hashes -r "$1" && waited uv_install --no-build-isolation --reinstall -e .
}

install_by_pip() {
  pids=
  trap 'kill $pids; exit 1' TERM
  by_two_pips "$1" && waited pip_install --no-build-isolation -e .
}

waited() {
  "$@" &
  pids=$!
  wait "$pids"
}

# Every other package each, for a pip uses one core and waits for the index.
by_two_pips() {
  pids=
  for half in 0 1; do
    awk -v half=$half '/^[a-zA-Z]/ { count++ } count % 2 == half' "$1" >".venv/half-$half.txt" || return
    [ -s ".venv/half-$half.txt" ] || continue
    pip_install --require-hashes -r ".venv/half-$half.txt" &
    pids="$pids $!"
  done
  code=0
  for pid in $pids; do wait "$pid" || code=$?; done
  rm .venv/half-?.txt
  return $code
}

# What pip would do on one core; but for packages' own tests, and for what is large and hardly used.
# What is no Python need not compile.
compile_all() {
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  find .venv/lib/python3*/site-packages -name '*.py' ! -path '*/tests/*' \
    ! -path '*/litellm/proxy/*' ! -path '*/huggingface_hub/*' ! -path '*/mypy*' \
    ! -path '*/fontTools/*' ! -path '*/setuptools/*' ! -path '*/pygments/lexers/*' -print0 |
    xargs -0 -r -n 1000 -P "$cores" .venv/bin/python -m compileall -q || :
}

interrupted() {
  [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null
  fail 130 "interrupted; what is half-made is made anew, run it again"
}

# What stands in the log, and what to do. The first wins: a refused hash is worse news than the slow
# connection that pip also mentions.
explain() {
  [ -e .venv/core.stamp ] || rm -rf .venv
  [ "$(installed)" != "$before" ] || rm -f .venv/half-made
  while IFS=@ read -r said todo; do
    ! grep -qE "$said" "$LOG" || fail 3 "$todo (pip's output: $LOG)"
  done <<'CAUSES'
DO NOT MATCH THE HASHES@a package differs from the hash in the lock: run `python3 -m pip cache purge` and again; if it stays, distrust the index or mirror
\[Errno (28|122)\]|No space left on device@the disk is full: free about 1 GB where the checkout and the temporary folder lie
401 Error|HTTP error 40[13]|407 Proxy Authentication@the package index refuses access: check the credentials of the index or the proxy
CERTIFICATE_VERIFY_FAILED|SSLError@the package index shows a certificate that is not trusted: set PIP_CERT to your CA file
not a trusted or secure host@pip trusts no package index without https: give its https address, or name its host in PIP_TRUSTED_HOST=…
connection broken by|Failed to establish a new connection|name resolution|Network is unreachable|Read timed out|ConnectionError|Could not fetch URL@the package index cannot be reached: check network and proxy, or name a mirror with PIP_INDEX_URL=…
from versions: none@the package index offers nothing of a locked package: check that PIP_INDEX_URL=… names one that can be reached, or try PYTHON=python3.12
No matching distribution found@the package index has no version of a locked package for this Python and platform: try PYTHON=python3.12, or another index with PIP_INDEX_URL=…
CAUSES
  fail 3 "the set-up failed: $(grep -v '^$' "$LOG" | tail -n 1) (pip's output: $LOG)"
}

level=${1-}
case $level in
  core) holds="core" ;;
  dev) holds="core dev" ;;
  bench) holds="core dev bench" ;;
  *) fail 2 "usage: install.sh core|dev|bench" ;;
esac
choose_python
wait_for_others
can_be_added_to && is_current "$level" && exit 0
trap interrupted INT TERM HUP
# What would turn pip or Python away from .venv.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON
unset PIP_REQUIREMENT PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_EDITABLE PIP_DRY_RUN
unset UV_SYSTEM_PYTHON UV_WORKING_DIR UV_NO_VERIFY_HASHES UV_EXCLUDE UV_OVERRIDE UV_CONSTRAINT
export PIP_USER=0 PYTHONNOUSERSITE=1
true 2>/dev/null >"$LOG" || fail 3 "cannot write $(pwd)/$LOG"
before=
if can_be_added_to; then
  echo "bringing .venv up to date (about 15 s) …"
  touch .venv/half-made
  before=$(installed)
else
  echo "setting up .venv (about 40 s) …"
  begin_anew
fi
run pip_install --require-hashes -r requirements/uv.txt
before=$(installed)
# Where uv cannot, as with settings of pip's that it has no words for, pip does it, which says why it
# cannot either. What uv has left in the middle of its work no pip would see.
if ! [ -x .venv/bin/uv ] || ! ran install_by_uv "requirements/$level.txt"; then
  [ ! -x .venv/bin/uv ] || echo "uv cannot do it (why: $LOG), so pip does …"
  [ "$(installed)" = "$before" ] || begin_anew
  run install_by_pip "requirements/$level.txt"
fi
run compile_all
for held in $holds; do touch ".venv/$held.stamp"; done
rm .venv/half-made
