#!/usr/bin/env bash
# Builds both images without Docker and without a registry, on a Debian that debootstrap makes, and
# tries them: as a user that nobody knows, of group 0, on a root file system that is read-only.
#
#   deploy/image/try.sh [FOLDER]     as root; needs buildah and debootstrap
#
# FOLDER (default: a new one, removed afterwards) keeps the base and the images for the next time.
# It prints the size of both images, and a table of their layers. It ends with 1 where one is larger
# than it may be, does not serve /metrics, or holds what it should not. Five minutes; a mirror of
# Debian by DEBIAN_MIRROR=…, one of packages by PIP_INDEX_URL=….
set -euo pipefail
cd "$(dirname "$0")/../.."

SUITE=bookworm
EXPORTER_MB=250
SCORER_MB=550
USER_ID=12345

for tool in buildah debootstrap curl; do
  command -v "$tool" >/dev/null || { echo "try.sh: no $tool: apt-get install buildah debootstrap curl" >&2; exit 2; }
done
[ "$(id -u)" -eq 0 ] || { echo "try.sh: debootstrap and chroot need root" >&2; exit 2; }

folder="${1-}"
if [ -z "$folder" ]; then
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
export STORAGE_DRIVER=overlay
buildah() {
  command buildah --root "$folder/storage" --runroot "$folder/run" "$@"
}
megabytes() { # of a file system: what it takes, in MB of 10^6 bytes
  du -s --block-size=1 --apparent-size "$1" | awk '{ printf "%d", $1 / 1e6 }'
}

make_bases() {
  local base="$folder/base"
  if [ ! -e "$folder/base.made" ]; then
    rm -rf "$base" "$base-build"
    debootstrap --variant=minbase --include=python3,ca-certificates "$SUITE" "$base" \
      ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$folder/debootstrap.log"
    cp -a "$base" "$base-build"
    # As the slim images that one would take: no documentation, no translations, no lists.
    rm -rf "$base"/usr/share/{doc,man,info,locale,i18n}/* "$base"/var/cache/* \
      "$base"/var/lib/apt/lists/* "$base"/var/log/*.log "$base"/usr/lib/python3.*/test
    chroot "$base-build" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq --no-install-recommends python3-venv binutils >>"$folder/debootstrap.log"
    touch "$folder/base.made"
  fi
  for name in base base-build; do
    local container
    container="$(buildah from scratch)"
    buildah add --quiet "$container" "$folder/$name" / >/dev/null
    buildah commit --quiet --format docker --rm "$container" "localhost/$name" >/dev/null
  done
}

build() { # TARGET
  # The certificates of this machine, for mirrors behind a proxy; only while it is built.
  buildah bud --quiet --isolation chroot --format docker --layers --file deploy/Dockerfile --target "$1" \
    --volume /etc/ssl/certs:/etc/ssl/certs:ro --volume /etc/resolv.conf:/etc/resolv.conf:ro \
    --build-arg BASE=localhost/base --build-arg BUILD_BASE=localhost/base-build \
    --build-arg PIP_INDEX_URL="${PIP_INDEX_URL-}" \
    --build-arg PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    --build-arg COMMIT="$(git rev-parse HEAD 2>/dev/null || true)" \
    --tag "localhost/rag-monitor-$1" . >/dev/null
}

layers() { # TARGET: what each layer adds, from the bottom
  buildah inspect --type image "localhost/rag-monitor-$1" |
    python3 deploy/image/layers.py "$folder/storage/overlay-layers/layers.json"
}

started() { # ROOT COMMAND…: there, read-only, as a user that nobody knows, without a capability
  local root="$1"
  shift
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -c '
    root="$1"; shift
    mount --bind "$root" "$root" && mount -t proc proc "$root/proc"
    [ -z "$SCRATCH" ] || mount -t tmpfs tmpfs "$root/tmp"
    mount -o remount,ro,bind "$root"
    ! touch "$root/written" 2>/dev/null || { echo "try.sh: the root can be written to" >&2; exit 1; }
    exec chroot --userspec="$USER_ID:0" --groups=0 "$root" env -i \
      PATH=/opt/rag-monitor/bin:/usr/bin:/bin HOME=/var/lib/rag-monitor \
      PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 RAG_MONITOR_HTTP__HOST=127.0.0.1 \
      RAG_MONITOR_HTTP__PORT="$PORT" RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS=127.0.0.1:9 "$@"
  ' started "$root" "$@"
}

server=""
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  server=""
}

fail() {
  stop
  echo "try.sh: $1" >&2
  exit 1
}

serves() { # TARGET ROOT COMMAND: /metrics comes, from a process of that user; and it ends by SIGTERM
  local pid deadline=$((SECONDS + 60))
  started "$2" rag-monitor "$3" >"$folder/$1.log" 2>&1 &
  pid=$!
  until started "$2" python3 /opt/rag-monitor/health.py 2>/dev/null; do
    kill -0 "$pid" 2>/dev/null || fail "$1: ended: $(tail -n 1 "$folder/$1.log")"
    [ "$SECONDS" -lt "$deadline" ] || fail "$1: does not answer: $(tail -n 1 "$folder/$1.log")"
    sleep 1
  done
  local uid metrics
  server="$pid"
  while pgrep -P "$server" >/dev/null; do server="$(pgrep -P "$server" | head -n 1)"; done
  uid="$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")"
  metrics="$(curl -fsS "http://127.0.0.1:$PORT/metrics" | grep -c '^rag_')"
  [ "$uid" = "$USER_ID" ] || fail "$1: runs as $uid"
  stop
  wait "$pid" || fail "$1: SIGTERM: exit code $?"
  echo "$1: '$3' served $metrics series as uid $uid on a read-only root"
}

clean() { # TARGET ROOT: no compiler, no pip, no cache
  local found
  found="$(find "$2"/usr "$2"/opt "$2"/var "$2"/root -xdev \( -path '*/bin/pip*' -o -path '*/bin/*gcc*' \
    -o -path '*/bin/cc' -o -path '*-packages/pip' -o -name ensurepip -o -name .cache \
    -o -path '*/apt/lists/*' \) -print | head -n 3)"
  [ -z "$found" ] || fail "$1 holds $found"
}

image() { # TARGET MOST_MB COMMAND
  build "$1"
  local container root size
  container="$(buildah from "localhost/rag-monitor-$1")"
  root="$(buildah mount "$container")"
  layers "$1"
  size="$(megabytes "$root")"
  echo "$1: $size MB (at most $2), $(started "$root" rag-monitor version)"
  clean "$1" "$root"
  serves "$1" "$root" "$3"
  if [ "$1" = exporter ]; then
    started "$root" python3 -c 'import litellm' 2>/dev/null && fail "$1 holds litellm"
  else
    started "$root" python3 -c \
      'import stamina, redis, re2, grpc_tools.protoc; from monitor.judge.llm.library import litellm; litellm()'
  fi
  buildah rm "$container" >/dev/null
  [ "$size" -le "$2" ] || fail "$1: $size MB, and may have $2"
}

# litellm is not imported without a folder for temporary files; an exporter needs none.
export USER_ID PORT SCRATCH=""
PORT="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
make_bases
image exporter "$EXPORTER_MB" export
SCRATCH=yes
image scorer "$SCORER_MB" score
