# trimtab. The two commands of the README: `make demo` and `make test`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

include dev/dev.mk

.PHONY: help demo test test-long test-faults test-kills bench-control bench-simulator bench-producer bench-live bench-regimes bench-forecast bench-locality bench-real-time bench-sinks demo-bottlenecks check fix generate docs release venv lint types contracts unit clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: ## boot a cluster, deploy the quickstart, drive load into it, report in build/demo
	@[ "$(CLUSTER)" = current ] || $(LOCALCLUSTER) doctor --install
	@$(MAKE) --no-print-directory $(STAMP)
	CLUSTER=$(CLUSTER) REGISTRY=$(REGISTRY) YES=$(YES) KEEP=$(KEEP) $(BIN)/python -m dev.demo

test: ## every gate and every test, side by side; REQUIRE_E2E=1 makes a machine without a cluster fail
	$(PYTHON) -m dev.gates

test-long: $(STAMP) ## what takes longer than CI allows: all sinks and stores, 200 restarts, regimes, advice on memory
	TRIMTAB_LONG=1 $(BIN)/pytest tests/kafka -q
	$(LOCALCLUSTER) doctor --install
	$(LOCALCLUSTER) tools
	TRIMTAB_LONG=1 $(BIN)/pytest tests/apiserver -m long -q
	TRIMTAB_LONG=1 REQUIRE_E2E=1 $(BIN)/pytest tests/zones tests/e2e -m "e2e and long" -q; \
	  code=$$?; $(LOCALCLUSTER) down; exit $$code

test-faults: $(STAMP) ## every fault of the API server, 10,000 specs, and what needs no cluster, over an hour; docs/reliability.md
	$(LOCALCLUSTER) tools
	TRIMTAB_LONG=1 $(BIN)/pytest -q $(addprefix tests/unit/reconcile/test_,generated.py crashes.py) $(addprefix \
	  tests/apiserver/test_,crashes.py staleness.py calls.py answers.py generated.py)
	$(BIN)/pytest -q $$($(BIN)/python -m tests.faults.lines)
	$(BIN)/python -m tests.faults.table

# SEED=... repeats the order of a run
SECONDS ?= 3600
test-kills: $(STAMP) ## everything killed at random on three nodes for an hour (SECONDS=300 for a try); docs/reliability.md
	$(LOCALCLUSTER) doctor --install
	TRIMTAB_LONG=1 REQUIRE_E2E=1 TRIMTAB_KILL_SECONDS=$(SECONDS) $(if $(SEED),TRIMTAB_KILL_SEED=$(SEED)) \
	  $(BIN)/pytest tests/e2e/test_random_kills.py -m e2e -q; \
	  code=$$?; $(LOCALCLUSTER) down; exit $$code
	$(BIN)/python -m tests.faults.table

bench-control: $(STAMP) ## every controller on every workload, two hours, in parts if ended; docs/benchmarks/control.md
	$(BIN)/python -m bench.suite --publish

bench-simulator: $(STAMP) ## the simulator against the real driver: half an hour; figures in build/simreal
	$(LOCALCLUSTER) doctor --install
	$(BIN)/python -m bench.simreal measure --out build/simreal/measured.json; \
	  code=$$?; $(LOCALCLUSTER) down; exit $$code
	$(BIN)/python -m bench.simreal report --data build/simreal/measured.json --out build/simreal

demo-bottlenecks: $(STAMP) ## each bottleneck and its cure three times on the local cluster, three hours; build/bottlenecks
	$(LOCALCLUSTER) doctor --install
	$(BIN)/python -m bench.bottlenecks

bench-regimes: $(STAMP) ## the batch size that the law finds on a real driver, 5 minutes; docs/benchmarks/regimes.md
	TRIMTAB_LONG=1 TRIMTAB_PAGE=docs/benchmarks/regimes.md $(BIN)/pytest tests/kafka/test_regimes.py -q

bench-sinks: $(STAMP) ## the tuner with a Delta table and with PostgreSQL as the sink, twenty minutes; build/sinks
	$(BIN)/python -m bench.sinks

bench-producer: $(STAMP) ## the producer tuner against a grid search, quiet and busy, an hour; build/producer
	$(BIN)/python -m bench.producer
	$(BIN)/python -m bench.producer --busy 2

bench-locality: $(STAMP) ## tasks near their data and anywhere, on three zones, three quarters of an hour; build/locality
	$(LOCALCLUSTER) doctor --install
	$(BIN)/python -m bench.locality

bench-real-time: $(STAMP) ## real-time mode beside micro-batches on the local cluster, half an hour; build/real-time
	$(LOCALCLUSTER) doctor --install
	$(BIN)/python -m bench.real_time

# what is measured is kept: anew with BOOK=build/live/measured.json, nine hours
BOOK ?= docs/benchmarks/live/measured.json
bench-live: $(STAMP) ## tuned from cold against a grid, defaults and lag scaling; docs/benchmarks/live.md
	$(LOCALCLUSTER) doctor --install
	$(BIN)/python -m bench.live grid --book $(BOOK)
	$(BIN)/python -m bench.live contest --book $(BOOK)
	$(BIN)/python -m bench.live report --book $(BOOK) --out $(patsubst %/,%,$(dir $(BOOK)))

bench-forecast: $(STAMP) ## forecasts on and off on simulated days and weeks, an hour, in parts if ended; docs/benchmarks/forecast.md
	$(BIN)/python -m bench.forecast --publish

check: $(STAMP) lint types contracts unit ## the fast lane, under 3 minutes

venv: $(STAMP) ## .venv with the pinned, hashed dependencies

$(STAMP): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

unit: $(STAMP)
	$(BIN)/pytest tests/unit tests/simulation -q

fix: $(STAMP) ## format, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(STAMP) ## CRDs from the models, into crds/ and the chart; dashboards; tables of docs/metrics.md; docs/reference
	$(BIN)/python -m trimtab.api.crd crds
	cp crds/*.yaml charts/trimtab/files/crds/
	$(BIN)/python -m trimtab.api.figures_page docs/metrics.md
	$(BIN)/python -m dev.docs.reference docs/reference
	$(BIN)/python -m dev.dashboards charts/trimtab/files/dashboards

docs: $(STAMP) ## the documentation as a site, into build/site; a dead link fails
	$(BIN)/python -m dev.docs

release: $(STAMP) ## what is published of VERSION=x.y.z, into build/release; RELEASE_IMAGES=0 and RELEASE_PLUGINS=0 leave out parts
	$(BIN)/python -m dev.release "$(VERSION)"

clean: ## what builds left in the checkout; never the caches
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache
