# Everything a contributor or user of this repository runs. `make help` lists it.
#
# Needs Python 3.11 or newer, Rust (cargo) and, for a control plane to test against, Go: nothing else.
# Nothing is installed outside this folder (.venv, target) and your cache folder.

ifeq ($(filter oneshell,$(.FEATURES)),)
$(error GNU make 3.82 or newer is needed, this is $(MAKE_VERSION); on macOS install it with Homebrew and run gmake)
endif

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
CORE := $(STAMPS)/core

# The first Python that is new enough; looked up only when the virtual environment has to be made.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
KUBECTL ?= kubectl
CONTAINER_ENGINE ?= docker
IMAGE ?= openclaw:dev
# Extra arguments for every pytest that this file starts: make test-unit PYTEST_ARGS='-k queue -x'
PYTEST_ARGS ?=

# A lock file that is out of date fails in CI and is brought up to date elsewhere.
LOCKED := $(if $(CI),--locked)

# mypy refuses a folder without a Python file.
TYPED = python/openclaw $(foreach folder,tests tools examples bench,$(if $(shell find $(folder) -name '*.py' 2>/dev/null),$(folder)))

export OPENCLAW_MAKE_START := $(or $(OPENCLAW_MAKE_START),$(shell date +%s))
export PYO3_PYTHON := $(abspath $(BIN)/python)
# The virtual environment was made of the Python found here; uv must not bring another.
export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(abspath $(VENV))
# maturin refuses to choose between two environments.
unexport CONDA_PREFIX

say = printf '==> [%3ds] %s\n' "$$(($$(date +%s) - OPENCLAW_MAKE_START))"
fail = { printf 'make: %s\n' $(1) >&2; exit 1; }
need = command -v $(1) >/dev/null || $(call fail,$(2))
need_cargo = $(call need,cargo,"Rust is missing: install rustup (see rust-lang.org) and make sure that cargo is on PATH.")
need_kubectl = $(call need,$(KUBECTL),"kubectl is missing: install it or name one with KUBECTL=/path/to/kubectl; make control-plane builds one and prints where it is.")

##@ Start here

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " }
		/^##@ / { printf "\n%s\n", substr($$0, 5) }
		/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: $(CORE) ## Make .venv with the locked dependencies and build the Rust core into it

.PHONY: demo
demo: setup $(if $(filter real,$(CONTROL_PLANE)),control-plane) ## Show the operator at work on a cluster in memory (CONTROL_PLANE=real: a real one; KEEP=1 leaves it running)
	@$(say) "Starting the demo"
	$(BIN)/openclaw demo $(if $(CONTROL_PLANE),--control-plane $(CONTROL_PLANE)) $(if $(KEEP),--keep)

.PHONY: demo-rds
demo-rds: setup control-plane ## Show a database outside of the cluster live its life, without AWS (KEEP=1 leaves it running)
	@$(say) "Starting the demo of RDSInstance"
	$(BIN)/openclaw demo-rds $(if $(KEEP),--keep)

.PHONY: control-plane
control-plane: setup ## Find or build the control plane's binaries (about 10 minutes the first time)
	@$(say) "Looking for etcd and kube-apiserver; what is missing is built with Go and kept in your cache folder"
	$(BIN)/python -m openclaw.testing.binaries

.PHONY: prometheus
prometheus: setup ## Find or build Prometheus and promtool (some minutes the first time)
	@$(BIN)/python -m openclaw.testing.binaries prometheus promtool

.PHONY: jaeger
jaeger: setup ## Find or build Jaeger (some minutes the first time)
	@$(BIN)/python -m openclaw.testing.binaries jaeger

.PHONY: observe
observe: control-plane prometheus jaeger ## Three shards under load with Prometheus and Jaeger, until Ctrl-C (OBSERVE_SECONDS=60: for so long)
	@$(BIN)/python -m openclaw.testing.observe $(if $(OBSERVE_SECONDS),--seconds $(OBSERVE_SECONDS))

.PHONY: playground
playground: control-plane ## Run a control plane with the project's CRDs until Ctrl-C, to try operators against
	@$(BIN)/python -m openclaw.testing --controllers --nodes 1 --crds crds

##@ Tests

.PHONY: test
test: test-rust test-unit test-simulation test-integration ## Run all tests

.PHONY: test-rust
test-rust: $(STAMPS)/deps ## Run the Rust core's tests
	@$(need_cargo)
	$(say) "Testing the Rust core"
	cargo test $(LOCKED) --workspace --exclude openclaw-python

.PHONY: test-unit
test-unit: $(CORE) ## Run the tests that need no server: units, the binding, contracts, the examples
	@$(say) "Running the tests that need no server"
	$(BIN)/pytest -n auto $(wildcard tests/unit tests/core tests/contract tests/simulation examples) $(PYTEST_ARGS)

.PHONY: test-integration
test-integration: control-plane ## Run the tests against a real kube-apiserver
	@$(say) "Running the tests against a real kube-apiserver"
	$(BIN)/pytest tests/integration tests/chaos tests/conformance $(PYTEST_ARGS)

.PHONY: test-simulation
test-simulation: $(CORE) ## Run shards through 1,000 bad days in virtual time, then through single faults at many points
	@$(say) "1,000 seeds: whole shards on an embedded cluster, with faults"
	$(SIMULATION) --seeds 1000
	$(say) "Single crashes, stale views and missed events, at some points of each scenario"
	$(SIMULATION) --systematic --points 3

.PHONY: simulate
SIMULATION = $(BIN)/python -m openclaw.testing.simulation --from tests.simulation.scenarios
simulate: $(CORE) ## As test-simulation for MINUTES=10 or SEEDS=..., from seed FIRST=0, for all or SCENARIOS=...
	@case "$(MINUTES)$(SEEDS)$(FIRST)" in *[!0-9]*) $(call fail,"MINUTES and SEEDS and FIRST must be whole numbers.") ;; esac
	$(say) "Simulating $(or $(SCENARIOS),all scenarios)"
	$(SIMULATION) --keep-going $(if $(SEEDS),--seeds $(SEEDS),--minutes $(MINUTES)) --first $(or $(FIRST),0) $(SCENARIOS)

.PHONY: mutants
MUTANT_SECONDS ?= 30
mutants: $(CORE) ## Seed bugs into copies of the package, and have the simulation find each (JOBS=2, ONLY='fence queue')
	@$(need_cargo)
	$(say) "Seeding $(if $(ONLY),the bugs named $(ONLY),all bugs), one at a time"
	$(BIN)/python -m tools.mutants --seconds $(MUTANT_SECONDS) $(if $(JOBS),--jobs $(JOBS)) $(ONLY)

.PHONY: conformance
conformance: control-plane ## Tell how far FakeCluster answers as a real kube-apiserver does (CASES=apply/ for some)
	@$(BIN)/python -m tests.conformance.report $(CASES)

.PHONY: test-monitoring
test-monitoring: control-plane prometheus jaeger ## Ask a real Prometheus every expression of dashboards and alerts, and a real Jaeger for traces
	@$(say) "Three shards under load, with Prometheus and Jaeger"
	$(BIN)/pytest -n 0 tests/monitoring $(PYTEST_ARGS)

.PHONY: chaos
ROOTS ?= 2000
SEED ?= 1
chaos: control-plane ## Kill, pause, cut off, add and remove shards for MINUTES=10 under load of ROOTS=2000 objects
	@case "$(MINUTES)$(ROOTS)$(SEED)" in *[!0-9]*) $(call fail,"MINUTES and ROOTS and SEED must be whole numbers.") ;; esac
	$(say) "Five shards on a bad day of $(MINUTES) minutes; the API server's audit log judges them"
	OPENCLAW_CHAOS_SECONDS=$$(($(MINUTES) * 60)) OPENCLAW_CHAOS_ROOTS=$(ROOTS) OPENCLAW_CHAOS_SEED=$(SEED) $(BIN)/pytest -n 0 -s tests/chaos $(PYTEST_ARGS)

.PHONY: model-check
model-check: $(STAMPS)/deps ## Explore all states of the hand-over between shards, also of larger scenarios (minutes, 6 GiB)
	@$(need_cargo)
	$(say) "Exploring the hand-over to the end, within budgets of faults; then the same with single rules left out"
	cargo test $(LOCKED) -p openclaw-core --lib handover::check::faults -- --include-ignored --nocapture --test-threads 1

.PHONY: fuzz
MINUTES ?= 10
FUZZ_TARGETS := scan feed diff
fuzz: ## Fuzz the Rust core for MINUTES=10, each target its share (needs cargo-fuzz and the nightly toolchain)
	@$(need_cargo)
	case "$(MINUTES)" in "" | *[!0-9]* | 0) $(call fail,"MINUTES must be a whole number above 0 and is '$(MINUTES)'.") ;; esac
	lack=
	rustup run nightly cargo --version >/dev/null 2>&1 || lack="the nightly toolchain (rustup toolchain install nightly)"
	cargo fuzz --version >/dev/null 2>&1 || lack="$${lack:+$$lack and }cargo-fuzz (cargo install cargo-fuzz)"
	if [ -n "$$lack" ]; then
		$(say) "Coverage-guided fuzzing needs $$lack, which is missing. The same checks run as property tests instead"
		PROPTEST_CASES=$$(($(MINUTES) * 1000000)) cargo test $(LOCKED) --release -p openclaw-core --test fuzz
		exit
	fi
	for target in $(FUZZ_TARGETS); do
		$(say) "Fuzzing $$target for $$(($(MINUTES) * 60 / 3)) s"
		mkdir -p rust/fuzz/corpus/$$target
		rustup run nightly cargo fuzz run --fuzz-dir rust/fuzz --target-dir target/fuzz $$target rust/fuzz/corpus/$$target rust/fuzz/seeds/$$target -- \
			-dict=rust/fuzz/words.dict -max_total_time=$$(($(MINUTES) * 60 / 3)) -max_len=16384 -print_final_stats=1
	done

.PHONY: bench
bench: $(CORE) ## Measure the Rust core in process, beside its peers (some 5 minutes)
	@$(say) "Measuring in process; the machine should do nothing else"
	$(BIN)/python -m bench.inprocess $(BENCH_ARGS)
	$(if $(BENCH_ARGS),,$(BIN)/python -m bench.readme)

.PHONY: bench-operators
bench-operators: control-plane ## Measure whole operators side by side (QUICK=1, PEERS=openclaw,kube-rs, WORKLOADS=w1,w3)
	@$(say) "Measuring whole operators; the machine should do nothing else"
	$(BIN)/python -m bench.operators $(if $(QUICK),--quick) $(if $(STRICT),--strict) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(PEERS),--peers $(PEERS)) $(if $(WORKLOADS),--workloads $(WORKLOADS)) $(BENCH_ARGS)
	$(BIN)/python -m bench.readme

.PHONY: bench-shards
bench-shards: control-plane ## Measure the operator as shards beside one that is not sharded (QUICK=1, SHARDS=0,3)
	@$(say) "Measuring shards; the machine should do nothing else"
	$(BIN)/python -m bench.shards $(if $(QUICK),--quick) $(if $(STRICT),--strict) $(if $(SHARDS),--shards $(SHARDS)) $(BENCH_ARGS)
	$(BIN)/python -m bench.readme

.PHONY: bench-readme
bench-readme: $(STAMPS)/deps ## Write the README's performance section from bench/results
	@$(BIN)/python -m bench.readme

##@ Quality

.PHONY: lint
lint: $(CORE) ## Check style, import layers, file lengths and generated files
	@$(need_cargo)
	$(say) "Linting"
	tools/checks.sh \
		'$(BIN)/ruff check .' \
		'$(BIN)/ruff format --check .' \
		'$(BIN)/lint-imports --no-logo' \
		'$(BIN)/python tools/file_lengths.py' \
		'cargo fmt --all --check' \
		'cargo clippy $(LOCKED) --workspace --all-targets -- -D warnings' \
		'$(BIN)/openclaw manifests --check' \
		'$(BIN)/python tools/phase_table.py --check' \
		'$(BIN)/python -m tools.dashboards --check'

.PHONY: format
format: $(STAMPS)/deps ## Format the Python and Rust sources and apply safe fixes
	@$(need_cargo)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	cargo fmt --all

.PHONY: typecheck
typecheck: $(CORE) ## Check the types, and the stub of the Rust core against the built module
	@$(say) "Checking types"
	tools/checks.sh \
		'$(BIN)/mypy $(TYPED)' \
		'test -f python/openclaw/_core.pyi && MYPYPATH=python $(BIN)/stubtest --mypy-config-file pyproject.toml openclaw._core'

##@ Generated files

.PHONY: manifests
manifests: $(CORE) ## Write the CRDs, RBAC and deployment manifests from the Python types
	@$(BIN)/openclaw manifests

.PHONY: phase-table
phase-table: $(CORE) ## Draw the state machine of RDSInstance into its documentation
	@$(BIN)/python tools/phase_table.py

.PHONY: dashboards
dashboards: $(STAMPS)/deps ## Write Grafana's dashboards into deploy/monitoring from tools/dashboard_pages.py
	@$(BIN)/python -m tools.dashboards

.PHONY: trace-pictures
trace-pictures: control-plane prometheus jaeger ## Draw traces of a running operator into docs/pictures
	@$(BIN)/python -m tools.trace_pictures

.PHONY: lock
lock: $(STAMPS)/deps ## Write requirements/*.txt from pyproject.toml (UPGRADE=1 takes the newest versions)
	@$(say) "Locking the Python dependencies"
	compile() {
		$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-header --no-annotate $(if $(UPGRADE),--upgrade) "$$@"
	}
	compile pyproject.toml --all-extras --group dev --output-file requirements/dev.txt
	compile pyproject.toml --extra aws --constraint requirements/dev.txt --output-file requirements/runtime.txt
	for file in dev runtime; do
		{ echo '# Written by `make lock` from pyproject.toml.'; grep -v '^#' "requirements/$$file.txt"; } >"requirements/$$file.tmp"
		mv "requirements/$$file.tmp" "requirements/$$file.txt"
	done

##@ On a cluster

.PHONY: run
run: $(CORE) ## Run the operator here, against the current kubeconfig's cluster
	@$(BIN)/openclaw run

.PHONY: install
install: ## Install the CRDs into the current kubeconfig's cluster
	@$(need_kubectl)
	$(KUBECTL) apply --server-side -f crds/

.PHONY: uninstall
uninstall: ## Delete the CRDs, and with them every object of theirs
	@$(need_kubectl)
	$(KUBECTL) delete --ignore-not-found -f crds/

.PHONY: deploy
OVERLAY ?= base
deploy: install ## Deploy the operator with its CRDs and RBAC (IMAGE=registry.example.com/openclaw:1.0 OVERLAY=overlays/three-shards)
	@$(need_kubectl)
	$(KUBECTL) kustomize deploy/$(OVERLAY) | sed -E 's|image: .?openclaw:.*|image: $(IMAGE)|' | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Delete the operator and its RBAC; CRDs and objects stay, see uninstall
	@$(need_kubectl)
	$(KUBECTL) delete --ignore-not-found -k deploy/base

.PHONY: docker-build
docker-build: ## Build the operator's container image (IMAGE=openclaw:dev)
	@$(call need,$(CONTAINER_ENGINE),"$(CONTAINER_ENGINE) is missing: install it or name another with CONTAINER_ENGINE=podman.")
	$(CONTAINER_ENGINE) build -f Dockerfile -t $(IMAGE) .

##@ Housekeeping

.PHONY: clean
clean: ## Remove all that was built here (your cache folder is left alone)
	@rm -rf $(VENV) target dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .benchmarks
	rm -f python/openclaw/_core*.so
	find python tests tools examples bench -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Stamps: what has been done and need not be done again -----------------------------------------

$(BIN)/python:
	@py='$(PYTHON)'
	[ -n "$$py" ] || $(call fail,"no Python 3.11 or newer found (tried python3 and python3.11 to 3.14). Install one or name it: make setup PYTHON=/path/to/python3")
	$(say) "Making the virtual environment $(VENV) with $$("$$py" --version)"
	"$$py" -m venv $(VENV) || $(call fail,"$$py cannot make a virtual environment; on Debian and Ubuntu install python3-venv.")

# uv comes from the lock too, installed by pip with its hashes; it installs the rest in seconds.
$(STAMPS)/deps: requirements/dev.txt | $(BIN)/python
	@$(say) "Installing the locked development dependencies"
	mkdir -p $(STAMPS)
	awk '/^uv==/ { on = 1 } on { print } on && !/\\$$/ { exit }' requirements/dev.txt >$(STAMPS)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(STAMPS)/uv.txt
	# Behind a mirror that only pip was told of, pip does it.
	$(BIN)/uv pip install --quiet --require-hashes -r requirements/dev.txt \
		|| $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

$(CORE): $(STAMPS)/deps Cargo.toml Cargo.lock pyproject.toml $(shell find rust -name '*.rs' -o -name Cargo.toml) \
		$(if $(wildcard python/openclaw/_core*.so),,core-missing)
	@$(need_cargo)
	$(say) "Building the Rust core (a minute or two the first time)"
	$(BIN)/maturin develop --release --uv $(LOCKED)
	touch $@
	$(say) "Ready: $(BIN)/openclaw"

# Stands for an extension module that was deleted while its stamp was not.
.PHONY: core-missing
core-missing:
