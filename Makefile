# The commands of this repository. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo demo-model test fuzz check style messages burn burn-crates corpus cross bench \
  format clean bootstrap release

JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Builds that `make test` runs besides release; empty where clang-19 is not to be had. On macOS the
# compiler is Apple's, and clang 19 is Homebrew's: it parses kernels and formats.
ifeq ($(shell uname -s),Darwin)
SANITIZED ?=
LLVM := $(shell brew --prefix llvm@19 2>/dev/null)
HEARTH_CLANG ?= $(LLVM)/bin/clang++
CLANG ?= $(HEARTH_CLANG)
CLANG_FORMAT ?= $(LLVM)/bin/clang-format
export HEARTH_CLANG CLANG CLANG_FORMAT
endif
SANITIZED ?= asan tsan
BUILDS := release $(SANITIZED)
# What `make bench` measures, and the file that gets the results of a GPU as JSON.
DEVICE ?= cpu
JSON ?=
# The version of Burn that `make burn` tests, 0.21 or 0.22; both where none is named.
BURN ?=
# How often `make fuzz` runs each target, and which; all where none is named.
RUNS ?= 1000000
TARGETS ?=

help:
	@echo "make demo     train a small transformer on a text, then let it write (3 minutes beside the"
	@echo "              first build)"
	@echo "make demo-model  fetch Gemma 3 270M (227 MiB), let it write, talk, and answer a client"
	@echo "make release  install what is missing; build the library and the hearth command"
	@echo "make test     build and run all tests, sanitizers and fuzzing included"
	@echo "make fuzz     run each fuzz target for a long time (RUNS=1000000, TARGETS=\"gguf grammar\")"
	@echo "make check    format, style, layers, warnings of g++ and clang"
	@echo "make style    of these, what takes no compiler"
	@echo "make messages compare the messages to Metal with public bindings (Cargo fetches them)"
	@echo "make burn     run Burn's own tests on Hearth (Cargo fetches what they need)"
	@echo "make burn-crates  of these, the tests of Hearth's own crates"
	@echo "make corpus   compile other projects' Metal kernels for host and CUDA (fetches them)"
	@echo "make cross    link for Macs with Apple's chips, on Linux; run kernels for ARM in QEMU"
	@echo "make bench    measure, beside the peers; a GPU with DEVICE=cuda or DEVICE=metal"
	@echo "make format   format the sources"
	@echo "make clean    remove build/"

bootstrap:
	@scripts/bootstrap

release: bootstrap
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target hearth hearth_tool

demo: release
	@scripts/demo

demo-model: release
	@.venv/bin/python scripts/demo_model.py

test: bootstrap
	@for build in $(BUILDS); do cmake --preset $$build && \
	  scripts/timed "build $$build" cmake --build build/$$build -j $(JOBS) || exit 1; done
	@scripts/timed tests scripts/run_tests.py -j $(JOBS) $(addprefix build/,$(BUILDS))

fuzz: bootstrap
	@cmake --preset fuzz
	@scripts/timed "build fuzz" cmake --build build/fuzz -j $(JOBS) --target fuzz_targets
	@scripts/fuzz --runs $(RUNS) build/fuzz $(TARGETS)

style: bootstrap
	@scripts/format --check
	@scripts/check_style.py
	@scripts/check_layers.py
	@scripts/check_docs.py

check: style
	@cmake --preset release && cmake --build build/release -j $(JOBS)
	@scripts/timed "check clang" scripts/check_clang.py -j $(JOBS) \
	  $(addprefix --compiled build/,$(SANITIZED)) build/release

messages:
	@scripts/timed messages scripts/check_messages.py

corpus: release
	@.venv/bin/python scripts/metal_corpus.py -j $(JOBS)

burn: release
	@scripts/timed burn scripts/burn_tests $(if $(BURN),--burn $(BURN))

burn-crates: release
	@scripts/timed burn scripts/burn_tests --crates $(if $(BURN),--burn $(BURN))

cross:
	@scripts/timed cross scripts/cross_macos -j $(JOBS)
	@scripts/timed neon scripts/check_neon -j $(JOBS)

bench: bootstrap release
ifeq ($(DEVICE),cpu)
	@scripts/bootstrap --bench
	@scripts/bench
else
	@scripts/gpu_check --device $(DEVICE) --no-tests $(if $(JSON),--json $(JSON))
endif

format:
	@scripts/format

clean:
	rm -rf build
