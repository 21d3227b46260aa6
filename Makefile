# The commands of the README, of pre-commit and of CI. Everything happens in .venv, which these rules make themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := build/desktop

.PHONY: demo bench test test-full npm npu fuzz sanitize check docs site clean

## demo: export the desktop example into a bundle and ask it for decisions
demo: $(VENV)/.export
	$(BIN)/python examples/desktop/demo.py $(DEMO)

## bench: measure the example's bundle, beside other people's tool search, and write one report
BENCH := build/bench
bench: $(VENV)/.bench $(DEMO)/manifest
	$(BIN)/edgeret-bench suite $(DEMO) --demos examples/desktop/requests.jsonl \
	  --train examples/desktop/demonstrations.jsonl -o $(BENCH)

$(DEMO)/manifest:
	$(BIN)/edgeret-export build --tools examples/desktop/tools.jsonl \
	  --demos examples/desktop/demonstrations.jsonl -o $(DEMO)

## test: run all tests, a file on one of up to four processes
test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

## test-full: the same, and what takes too long for every change: forged bundles, killed writers, many tool sets, Ray,
##   planners of weights, graphs for NPUs, a thousand requests through the gate, attacks on it and on the MCP proxy, our C
##   with sanitizers
test-full: npm test fuzz sanitize $(VENV)/.ray $(VENV)/.gguf npu
	$(BIN)/python tests/swap_run.py
	$(BIN)/python tests/kill_run.py
	$(BIN)/python tests/kill_learning.py
	$(BIN)/python tests/parity_run.py
	$(BIN)/python tests/builds_run.py
	$(BIN)/python -m pytest tests/export/test_places.py
	$(BIN)/python -m pytest tests/export/test_gguf_tiny.py tests/export/test_gguf_real.py
	$(BIN)/python tests/gate_run.py
	$(BIN)/python tests/attacks_run.py

## npm: other people's MCP servers and client, where there is npm; without it their tests are skipped
npm:
	command -v npm >/dev/null || exit 0; npm install --prefix build/npm --no-audit --no-fund \
	  @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem \
	  @modelcontextprotocol/server-memory @modelcontextprotocol/inspector

## npu: graphs for NPUs on OpenVINO's provider, and on Qualcomm's compiler and emulator; each needs an environment of its own
NPU := build/npu
npu: $(VENV)/.export $(NPU)/openvino $(NPU)/qnn
	$(BIN)/python tests/npu_run.py build $(NPU)/bundle
	PYTHONPATH=. $(NPU)/openvino/bin/python tests/npu_run.py openvino $(NPU)/bundle
	case "$$(uname -sm)" in "Linux x86_64") PYTHONPATH=. $(NPU)/qnn/bin/python tests/npu_run.py qnn $(NPU)/bundle;; \
	  *) echo "Qualcomm's compiler: skipped, its emulator is for Linux on x86" >&2;; esac

$(NPU)/openvino:
	$(PYTHON) -m venv $@.partial
	$@.partial/bin/python -m pip install --quiet onnxruntime-openvino==1.24.1 numpy msgpack tokenizers
	rm -rf $@ && mv $@.partial $@

$(NPU)/qnn:
	$(PYTHON) -m venv $@.partial
	$@.partial/bin/python -m pip install --quiet onnxruntime numpy msgpack tokenizers
	$@.partial/bin/python -m pip install --quiet --no-deps onnxruntime-qnn==2.7.0
	rm -rf $@ && mv $@.partial $@

## fuzz: forge bundles whose hashes are right, and see what loading and deciding make of them
FORGED := 20000
fuzz: $(VENV)/.dev
	$(BIN)/python tests/forge_run.py --cases $(FORGED)

## sanitize: our arithmetic with the address and undefined-behaviour sanitizers, where there is a gcc that has them
sanitize: $(VENV)/.dev
	if [ "$$(uname -s)" = Linux ] && command -v gcc >/dev/null; then $(BIN)/python tests/sanitize_run.py; \
	  else echo "sanitizers: skipped, they need Linux and gcc" >&2; fi

# The variable silences mkdocs-material's advertisement of its successor. With --quiet, --strict would see no warnings.
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

## check: what CI checks before it runs the tests
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate_cli.py --check
	$(SITE)

## docs: write docs/cli.md anew from the parsers
docs: $(VENV)/.dev
	$(BIN)/python docs/generate_cli.py

## site: build/site/index.html, all pages; reads no network, and warnings are errors
site: $(VENV)/.dev
	$(SITE)

clean:
	rm -rf build dist $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "edgeret needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.export: $(VENV)/.python pyproject.toml constraints.txt $(wildcard edgeret/kernel/*.[ch])
	@echo "installing the build host's libraries into $(VENV) (a few minutes, once)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[cpu,export]'
	@touch $@

$(VENV)/.bench: $(VENV)/.export pyproject.toml constraints.txt
	@echo "installing the benchmarks and their peers into $(VENV) (a few minutes, once)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[bench,export,hnsw,peers]'
	@touch $@

$(VENV)/.dev: $(VENV)/.export pyproject.toml constraints.txt
	@echo "installing the test tools into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[cpu,dev]'
	@touch $@

$(VENV)/.ray: $(VENV)/.dev pyproject.toml constraints.txt
	@echo "installing Ray into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[ray]'
	@touch $@

$(VENV)/.gguf: $(VENV)/.dev pyproject.toml constraints.txt
	@echo "installing what converts planners into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[gguf]'
	@touch $@
