# The commands of the README, of pre-commit and of CI. Everything happens in .venv, which these rules make themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := build/desktop
# Containers set it, and each of the hundreds of processes that a run starts would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: base minilm demo bench figures image test test-full npm npu wheels wheels-run core core-platforms core-fuzz firmware swift js java \
  fuzz sanitize check docs picture site clean

## demo: export the desktop example into a bundle and ask it for decisions
demo: $(VENV)/.export
	$(BIN)/python examples/desktop/demo.py $(DEMO)

## bench: measure the example's bundle, beside other people's tool search, and write one report
BENCH := build/bench
bench: $(VENV)/.bench $(DEMO)/manifest
	$(BIN)/edgeret-bench lab suite $(DEMO) --demos examples/desktop/requests.jsonl \
	  --train examples/desktop/demonstrations.jsonl -o $(BENCH)

## figures: measure what README and pages tell anew, an hour or two, and write it there; make figures NAME=peers is one
##   (docs/figures.py lists them)
NAME :=
figures: npm $(VENV)/.bench $(DEMO)/manifest
	$(BIN)/python docs/figures.py --measure $(NAME)

$(DEMO)/manifest:
	$(BIN)/edgeret-export build --tools examples/desktop/tools.jsonl \
	  --demos examples/desktop/demonstrations.jsonl -o $(DEMO)

# Threads of libraries beside the processes would wait for each other; how many those are, tests/together_run.py says.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
TOGETHER := OMP_NUM_THREADS=1 $(BIN)/python tests/together_run.py

## test: run all tests, a file on one of up to four processes
test: $(VENV)/.dev
	$(TOGETHER)

## test-full: the same, and what takes too long for every change: many examples of each property, forged bundles, killed
##   writers, many tool sets, Ray, planners of weights, graphs for NPUs, a thousand requests through the gate, attacks on it
##   and on the MCP proxy, our C with sanitizers, the core on other platforms and in pages
test-full: npm js test fuzz sanitize $(VENV)/.ray $(VENV)/.gguf npu image core-platforms core-fuzz
	$(TOGETHER) -m full
	$(TOGETHER) -m "hypothesis and not full" --hypothesis-profile many
	$(BIN)/python tests/swap_run.py
	$(BIN)/python tests/kill_run.py
	$(BIN)/python tests/kill_learning.py
	$(BIN)/python tests/parity_run.py
	$(BIN)/python tests/builds_run.py
	$(PYTEST) tests/export/test_places.py
	$(PYTEST) tests/export/test_gguf_tiny.py tests/export/test_gguf_real.py
	$(BIN)/python tests/gate_run.py
	$(BIN)/python tests/attacks_run.py
	$(BIN)/python tests/report_run.py

## npm: other people's MCP servers and client, where there is npm; without it their tests are skipped
npm:
	command -v npm >/dev/null || exit 0; npm install --prefix build/npm --no-audit --no-fund \
	  @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem \
	  @modelcontextprotocol/server-memory @modelcontextprotocol/inspector

## npu: graphs for NPUs on OpenVINO's provider, and on Qualcomm's compiler and emulator; each needs an environment of its own
NPU := build/npu
npu: $(VENV)/.export $(NPU)/openvino $(NPU)/qnn
	$(BIN)/python tests/npu_run.py build $(NPU)/bundle
	PYTHONPATH=.:export $(NPU)/openvino/bin/python tests/npu_run.py openvino $(NPU)/bundle
	case "$$(uname -sm)" in "Linux x86_64") PYTHONPATH=.:export $(NPU)/qnn/bin/python tests/npu_run.py qnn $(NPU)/bundle;; \
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

## wheels: dist/, edgeret for each of eight platforms, checked by its platform's rules, edgeret-export and edgeret-bench,
##   and edgeret-minilm where `make minilm` was run; the compiler comes from the index
wheels: $(VENV)/.wheels
	$(BIN)/python wheels/make.py -o dist

## wheels-run: the wheels for ARM64 and Windows, run in emulators where Debian's qemu-user-static and wine are
wheels-run: wheels $(DEMO)/manifest
	$(BIN)/python tests/wheels_run.py arm64 dist $(DEMO)
	$(BIN)/python tests/wheels_run.py windows dist

## core: core/build, the library that decides (core/include/edgeret.h), by this machine's C compiler
core:
	$(MAKE) -C core

## core-platforms: build/core, the same for nine platforms, and every number of conformance/ from those that can run here:
##   in Debian's qemu-user-static, wine and nodejs
core-platforms: $(VENV)/.wheels $(DEMO)/manifest
	$(BIN)/python core/build.py
	$(BIN)/python tests/core_run.py --bundle $(DEMO)

## core-fuzz: strangers' bundles and words against it, by clang's fuzzer where that is here
core-fuzz: $(VENV)/.python
	if [ "$$(uname -s)" = Linux ] && command -v gcc clang >/dev/null; then $(BIN)/python tests/core_fuzz_run.py; \
	  else echo "fuzzing the core: skipped, it needs Linux and clang or gcc" >&2; fi

## js: bindings/js/edgeret.wasm, and its tests where there is Node
js: $(VENV)/.wheels
	$(BIN)/python core/build.py wasm
	if command -v node >/dev/null; then node --test bindings/js/test/*.test.mjs; \
	  else echo "the page's library: not tested, no node here" >&2; fi

## java: build/java/edgeret.jar, the same for the JVM with this machine's native library inside; needs a JDK of 17 or newer
java:
	if command -v javac >/dev/null; then $(MAKE) -C bindings/java; \
	  else echo "the JVM's library: not built, no JDK here; on Debian: apt-get install openjdk-17-jdk-headless" >&2; fi

## firmware: examples/c/firmware.c with a bundle as constant memory, on a Cortex-M7 in an emulator: make firmware BUNDLE=…
##   (CPU=m55 is the other one, FLOAT=soft without floating-point unit); Debian has gcc-arm-none-eabi,
##   libnewlib-arm-none-eabi and qemu-system-arm
BUNDLE := build/tiny
build/tiny/manifest: $(VENV)/.export
	$(BIN)/edgeret-export build --tools models/base-tools.jsonl --profile tiny --encoder all-minilm-l6-v2-tools \
	  -o build/tiny
firmware: $(VENV)/.export $(BUNDLE)/manifest
	$(BIN)/edgeret-export pack $(BUNDLE) --target c -o build/bundle.c
	$(MAKE) -C examples/c/cortex-m size run

## swift: bindings/swift and its tests, where there is Swift
swift:
	if command -v swift >/dev/null; then swift test --package-path bindings/swift --build-path build/swift; \
	  else echo "the Swift package: not tested, no swift here; Debian 13 has it as swiftlang" >&2; fi

## image: the Dockerfile's image built, measured and asked, with docker or podman, or by debootstrap where root has that
image: $(VENV)/.dev $(DEMO)/manifest
	$(BIN)/python tests/image_run.py $(DEMO) || [ $$? = 77 ] # nothing here can build it, and it says so

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
	$(BIN)/python docs/figures.py --check
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs
	$(BIN)/python docs/check_prose.py
	$(SITE)

## docs: write docs/cli.md anew from the parsers
docs: $(VENV)/.dev
	$(BIN)/python docs/generate_cli.py

## base: make edgeret/base anew, what reads tools where nobody names a bundle
base: $(VENV)/.export
	rm -rf edgeret/base
	$(BIN)/edgeret-export build --tools models/base-tools.jsonl --profile full --encoder all-minilm-l4-tools -o edgeret/base

## minilm: make the base of edgeret-minilm anew, and its wheel
minilm: $(VENV)/.export $(VENV)/.wheels
	rm -rf wheels/minilm/base
	$(BIN)/edgeret-export build --tools models/base-tools.jsonl --profile full --encoder all-minilm-l6-v2-tools \
	  -o wheels/minilm/base
	$(BIN)/python wheels/make.py -o dist --only minilm

## picture: draw docs/try.svg anew, a decision of the example in `edgeret try`
picture: $(VENV)/.dev $(DEMO)/manifest
	$(BIN)/python docs/try_picture.py $(DEMO)

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

PROJECTS := pyproject.toml export/pyproject.toml bench/pyproject.toml constraints.txt
$(VENV)/.export: $(VENV)/.python $(PROJECTS) $(wildcard core/src/*.[ch] core/include/*.h)
	@echo "installing the build host's libraries into $(VENV) (a few minutes, once)" >&2
	$(PIP) install --constraint constraints.txt --editable . --editable ./export
	@touch $@

$(VENV)/.bench: $(VENV)/.export $(PROJECTS)
	@echo "installing the benchmarks and their peers into $(VENV) (a few minutes, once)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[hnsw]' --editable ./export --editable './bench[peers]'
	@touch $@

$(VENV)/.dev: $(VENV)/.export $(PROJECTS)
	@echo "installing the test tools into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable '.[cpu,dev]' --editable './export[sbom,sign,train]' --editable ./bench
	@touch $@

$(VENV)/.ray: $(VENV)/.dev $(PROJECTS)
	@echo "installing Ray into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable . --editable './export[ray]'
	@touch $@

$(VENV)/.wheels: $(VENV)/.python pyproject.toml
	@echo "installing a compiler for all platforms into $(VENV)" >&2
	$(PIP) install $$($(BIN)/python wheels/make.py --needs)
	@touch $@

$(VENV)/.gguf: $(VENV)/.dev $(PROJECTS)
	@echo "installing what converts planners into $(VENV)" >&2
	$(PIP) install --constraint constraints.txt --editable . --editable './export[gguf]'
	@touch $@
