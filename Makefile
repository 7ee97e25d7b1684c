# Everything that a person or a build server runs here; `make` alone lists it.
#
#   ARGS=…     is handed on:              make demo ARGS="--for 60", make test ARGS="-k drift -x"
#   PYTHON=…   the Python to set up with: make test PYTHON=python3.12

ARGS ?=

# `exec`, here and below, so that Ctrl-C and kill reach the command itself, and not only a shell
# around it.
RUN = exec .venv/bin/python -m

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-stack test check bench sbom audit clean
# Recipes are not echoed: what the commands print is the whole output.
.SILENT:

help: ## this list
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s  %s\n", $$1, $$2 }' Makefile

STAMPS = $(patsubst %,.venv/%.stamp,core dev bench)
# They say nothing of a checkout that was moved, of an install that was cut off, or of a Python that
# is asked for.
ifneq ($(PYTHON)$(wildcard .venv/half-made)$(shell cat .venv/root 2>&1),$(CURDIR))
.PHONY: $(STAMPS)
endif
$(STAMPS): .venv/%.stamp: requirements/%.txt requirements/uv.txt pyproject.toml
	exec requirements/install.sh $*

setup: .venv/dev.stamp ## .venv with all tools, as the lock says

demo: .venv/core.stamp ## broker, traffic with an incident in it, offline judge; Ctrl-C ends it
	$(RUN) monitor demo $(ARGS)

demo-stack: .venv/core.stamp ## the same with a real Prometheus and Alertmanager, whose alerts it prints
	$(RUN) monitor demo --stack $(ARGS)

# Whole files go to a worker, the longest first (tests/parallel.py); ARGS="-n0 …": one process.
test: setup ## the tests; REQUIRE_TOOLS=1 fails those whose tool is missing
	$(RUN) pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup ## lint, format, types, and who may import whom
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy
	exec .venv/bin/lint-imports --no-logo

bench: .venv/bench.stamp ## the benchmarks; without arguments each takes its quick form
	for script in tests/benchmarks/[a-z]*.py; do \
		echo "== $$script"; PYTHONPATH=. .venv/bin/python "$$script" || exit; \
	done

sbom: setup ## dist/rag-monitor.cdx.json: what the lock holds, as a CycloneDX list
	exec .venv/bin/python requirements/supply_chain.py sbom $(ARGS)

# Ends with an error where no database of advisories can be reached: then nothing was checked.
audit: setup ## the locked packages against OSV's advisories
	exec .venv/bin/python requirements/supply_chain.py audit

clean: ## remove .venv and everything that was built
	rm -rf .venv .venv-tools .venv.lock .venv-setup.log build dist *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find monitor tests requirements -name __pycache__ -prune -exec rm -rf {} +
