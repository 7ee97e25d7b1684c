#!/usr/bin/env bash
# Writes the locks anew: universal (every platform), with hashes, without URLs. Needs `uv`.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --no-annotate --no-strip-extras "$@"
}
# What installs the others (install.sh).
compile requirements/uv.in -o requirements/uv.txt
# What the demo, exporters and the pages of audits need. It asks no model.
compile --extra audit pyproject.toml requirements/build.in -o requirements/core.txt
# What a scorer may be told to need besides.
scorer=(--extra audit --extra llm --extra msk --extra otlp --extra patterns --extra redis --extra registry)
compile "${scorer[@]}" -c requirements/core.txt pyproject.toml requirements/build.in -o requirements/scorer.txt
compile "${scorer[@]}" --extra dev -c requirements/scorer.txt pyproject.toml requirements/build.in -o requirements/dev.txt
compile "${scorer[@]}" --extra dev --extra bench -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/bench.txt

# What lists and audits the first of them (supply_chain.py), in an environment of its own.
compile requirements/tools.in -o requirements/tools.txt

# Grafana's own types, which no environment can have in two versions (.ci/fetch-grafana-types).
compile requirements/grafana/oldest.in -o requirements/grafana/oldest.txt
compile requirements/grafana/next.in -o requirements/grafana/next.txt

# The rivals of tests/benchmarks/judge_cost.py, and what serves a model from a file, each in an environment of its own. RAGChecker
# declares gigabytes that its joint check never touches, hence the two without what they declare.
compile requirements/benchmarks/ragas.in -o requirements/benchmarks/ragas.txt
compile requirements/benchmarks/llama.in -o requirements/benchmarks/llama.txt
rivals="$(mktemp -d)"
trap 'rm -r "$rivals"' EXIT
compile requirements/benchmarks/ragchecker-needs.in -o "$rivals/needs.txt"
compile --no-deps requirements/benchmarks/ragchecker.in -o "$rivals/itself.txt"
cat "$rivals/needs.txt" "$rivals/itself.txt" > requirements/benchmarks/ragchecker.txt
