# The front door. Every target does the set-up that it needs and is safe to repeat.
#
#   make test          lint, tidy and all tests
#   make run           start a server, push the recorded fixtures, show a flame graph
#   make bench         one line per figure; make bench ONLY=decode runs one
#   make bench-server  the release binary under load (needs ../shared and Go)
#   make lint | fmt    check or repair formatting; clippy with warnings as errors
#   make fuzz          coverage-guided fuzzing where cargo-fuzz can be had; FUZZ_SECONDS=60 for each decoder

SHELL := /bin/bash
export PATH := $(CURDIR)/.tools/bin:$(PATH)
# Take the Go that is there; never let it fetch another one.
export GOTOOLCHAIN := local
FUZZ_SECONDS ?= 60
ONLY ?=

.PHONY: all setup test run bench bench-server lint fmt fuzz clean

all: test

setup:
	@scripts/setup

test: setup lint
	cargo test --locked --workspace

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo xtask tidy

fmt:
	cargo fmt --all

run: setup
	cargo build --locked --release --package cli
	scripts/run

# Memory is kept from round to round: how long the system takes to hand out pages is no figure of ours.
bench:
	@MIMALLOC_PURGE_DELAY=-1 cargo run --locked --release --quiet --package benches --bin bench -- $(ONLY)

bench-server: setup
	@cargo build --locked --release --package cli
	@cargo run --locked --release --quiet --package benches --bin bench-server -- $(ONLY)

fuzz:
	@scripts/fuzz $(FUZZ_SECONDS)

clean:
	cargo clean
	rm -rf .tools
