# Each target sets up what it needs (a virtual environment in .venv, pinned by constraints.txt) and is quick afterwards.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
PEERS := .venv-peers/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt
FILES := pyproject.toml apiserver/pyproject.toml constraints.txt
REAL := $(PYTHON) tools/real/build.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format conformance peers soak real oracles bench bench-server bench-loop bench-plane docs build facts kinds golden clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/ready-test: $(FILES)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { $(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv --quiet .venv; }
	@echo "setting up .venv"; $(PIP) --upgrade pip && $(PIP) --group test --editable . --editable ./apiserver
	@touch $@

.venv/ready-check: .venv/ready-test
	@echo "adding the tools of make check to .venv"; $(PIP) --group check && touch $@

.venv/ready-docs: .venv/ready-test
	@$(PIP) --group docs && touch $@

.venv/ready-bench: .venv/ready-test
	@echo "adding the peers of make bench to .venv"; $(PIP) --group bench && touch $@

.venv-peers/ready: conformance/peers/requirements.txt constraints.txt .venv/ready-test
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers || $(PYTHON) -m virtualenv --quiet .venv-peers
	@echo "setting up .venv-peers"; $(PEERS) --requirement conformance/peers/requirements.txt && touch $@

setup: .venv/ready-test .venv/ready-check ## make the environment in .venv

demo: .venv/ready-test ## see it work
	@$(BIN)/python examples/podset/demo.py

test: .venv/ready-test ## run the tests; no cluster needed
	@KUBEWRIGHT_REAL=no $(BIN)/pytest -q -n 2 --dist loadgroup tests apiserver/tests examples conformance soak --server memory

check: .venv/ready-check ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python tools/verify_types.py

format: .venv/ready-check ## let ruff write the code as it likes it
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

ON_REAL = tests/cli tests/controlplane/test_streams_kubectl.py tests/crd tests/loop/test_real_faults.py tests/operator \
  tests/testing examples/test_readmes.py

# The real server answers by chance now and then when it has much to do: what failed there is asked once more, alone.
AGAIN = $(BIN)/pytest -q -n 1 --dist loadgroup --last-failed --last-failed-no-failures none

conformance: .venv/ready-test real ## on the real Kubernetes: operators and tools; and the suite, on ours on SQLite and HTTP too
	@$(BIN)/pytest -q -n 2 --dist loadgroup $(ON_REAL) || $(AGAIN) $(ON_REAL)
	@$(BIN)/pytest -q -n 4 --dist loadgroup conformance --ignore conformance/peers --server real || \
	  $(AGAIN) conformance --ignore conformance/peers --server real
	@$(BIN)/pytest -q -n 2 conformance --ignore conformance/peers --server sqlite
	@$(BIN)/pytest -q -n 2 conformance --ignore conformance/peers --server http

peers: .venv/ready-test .venv-peers/ready real ## operators and clients of others on both servers, under RBAC (Go: controller-runtime)
	@$(BIN)/pytest -q conformance/peers --server http
	@$(BIN)/pytest -q conformance/peers --server real
	@KUBEWRIGHT_PEERS=1 $(BIN)/pytest -q examples/podset/peers examples/podbugger/peers examples/nginx/peers

soak: .venv/ready-test ## long: servers killed under load, started on many objects, fuzzed
	@$(BIN)/python -m soak.kills --kills 500
	@$(BIN)/python -m soak.opening
	@$(BIN)/python -m fuzz --requests 1000000 --processes 2

real: ## build etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl (needs Go)
	@$(REAL)

oracles: ## build what else we compare with: helm, controller-gen, e2e.test (needs Go)
	@$(REAL) --oracles

bench: .venv/ready-bench ## measure the client beside its peers
	@$(BIN)/python benchmarks/run.py client

bench-server: .venv/ready-test real ## measure the API server beside kube-apiserver and etcd (needs Go)
	@$(BIN)/python benchmarks/run.py server

bench-loop: .venv/ready-test real ## measure operators beside kopf, controller-runtime and kube-rs (needs Go)
	@$(BIN)/python -m benchmarks.loop_run

bench-plane: .venv/ready-test real ## measure control loops beside kube-controller-manager and kube-scheduler (needs Go)
	@$(BIN)/python -m benchmarks.plane_deployments

docs: .venv/ready-docs ## build the documentation into site/
	@$(BIN)/mkdocs build --quiet --strict

build: .venv/ready-test ## both wheels, into dist/
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null && $(BIN)/python -m build --no-isolation --outdir dist apiserver >/dev/null && ls dist

facts: .venv/ready-test real ## extract schemas, resources and field facts from the real server and its Go modules
	@$(BIN)/python -m tools.facts

kinds: .venv/ready-test ## generate src/kubewright/kinds from the facts
	@$(BIN)/python -m tools.kinds

golden: .venv/ready-test real ## ask a real server again for the objects in tests/kinds/data and for conformance/golden
	@$(BIN)/python -m conformance.round_trip
	@$(BIN)/python -m conformance.protobuf
	@$(BIN)/python -m conformance.tables
	@$(BIN)/pytest -q conformance --record

clean: ## remove what was made here
	rm -rf .venv .venv-peers conformance/peers/kube_rs/target dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
