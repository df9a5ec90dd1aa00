# The commands of this repository. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test check cross bench format clean bootstrap release

JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Builds that `make test` runs besides release; empty where clang-19 is not to be had.
SANITIZED ?= asan tsan
BUILDS := release $(SANITIZED)

help:
	@echo "make demo     train a small transformer on a text, then let it write (3 minutes)"
	@echo "make test     build and run all tests, sanitizers and fuzzing included"
	@echo "make check    format, layers, warnings of g++ and clang"
	@echo "make cross    link for Macs with Apple's chips, on Linux"
	@echo "make bench    measure, beside the peers"
	@echo "make format   format the sources"
	@echo "make clean    remove build/"

bootstrap:
	@scripts/bootstrap

release: bootstrap
	@cmake --preset release
	@cmake --build build/release -j $(JOBS) --target hearth hearth_tool

demo: release
	@scripts/demo

test: bootstrap
	@for build in $(BUILDS); do cmake --preset $$build && cmake --build build/$$build -j $(JOBS) || exit 1; done
	@scripts/run_tests.py -j $(JOBS) $(addprefix build/,$(BUILDS))

check: bootstrap
	@scripts/format --check
	@scripts/check_layers.py
	@cmake --preset release && cmake --build build/release -j $(JOBS)
	@scripts/check_clang.py -j $(JOBS) build/release

cross:
	@scripts/cross_macos -j $(JOBS)

bench: bootstrap release
	@scripts/bootstrap --bench
	@scripts/bench

format:
	@scripts/format

clean:
	rm -rf build
