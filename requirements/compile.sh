#!/usr/bin/env bash
# Writes the three locks anew: universal (every platform), with hashes, without URLs. Needs `uv`.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --no-annotate --no-strip-extras "$@"
}
compile pyproject.toml requirements/build.in -o requirements/core.txt
compile --extra dev -c requirements/core.txt pyproject.toml requirements/build.in -o requirements/dev.txt
compile --extra dev --extra bench -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/bench.txt
