# The front door. Every target does the set-up that it needs and is safe to repeat.
#
#   make test          lint, tidy and all tests, those of the web page in a browser too
#   make run           build with the web page, then `everflame up`: a live flame graph at the address that it prints
#   make fixtures      start a server, push the recorded fixtures, show a flame graph in the terminal
#   make ui            build the web page into ui/dist/app, from where cargo takes it
#   make e2e           the tests of the web page in a browser alone; make screenshots takes pictures of it
#   make docs-pictures takes those of docs/ui anew
#   make bench         one line per figure; make bench ONLY=decode runs one
#   make bench-ui      the same for the web page, in a browser
#   make bench-server  the release binary under load (needs ../shared and Go)
#   make lint | fmt    check or repair formatting; clippy with warnings as errors
#   make fuzz          coverage-guided fuzzing where cargo-fuzz can be had; FUZZ_SECONDS=60 for each decoder

SHELL := /bin/bash
export PATH := $(CURDIR)/.tools/bin:$(PATH)
# Take the Go that is there; never let it fetch another one.
export GOTOOLCHAIN := local
FUZZ_SECONDS ?= 60
ONLY ?=
LISTEN ?=
DATA_DIR ?=

target_dir := $(abspath $(or $(CARGO_TARGET_DIR),target))

.PHONY: all setup test run fixtures ui ui-check e2e screenshots docs-pictures bench bench-ui bench-server lint fmt fuzz clean

all: test

setup:
	@scripts/setup

# The page is built before cargo, which puts it into the program, and tested in a browser on that program.
test: setup ui-check lint
	cargo test --locked --workspace
	@$(MAKE) --no-print-directory e2e EVERFLAME_PROGRAM=$(target_dir)/debug/everflame

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo xtask tidy

fmt:
	cargo fmt --all

# Built anew only when a file of it changed: whatever cargo embeds it into is built anew then as well.
ui_files := $(shell find ui -type f -not -path '*/node_modules/*' -not -path 'ui/dist/*' -not -path 'ui/e2e/*')
ui_packages := ui/node_modules/.package-lock.json

$(ui_packages): ui/package-lock.json ui/package.json
	@scripts/setup node
	cd ui && npm ci --no-audit --no-fund
	@touch $@

ui/dist/app/BUILD: $(ui_files) $(ui_packages)
	@scripts/setup node
	cd ui && npm run build

ui: ui/dist/app/BUILD

ui-check: $(ui_packages)
	cd ui && npm run lint && npm run check && npm test
	@$(MAKE) --no-print-directory ui
	cd ui && npm run size

# After the tests the program is there (one build for all tests); EVERFLAME_PROGRAM and CHROMIUM name others.
EVERFLAME_PROGRAM ?=
e2e screenshots: ui
	@scripts/setup base node chromium
	$(if $(EVERFLAME_PROGRAM),,cargo build --locked --package cli)
	cd ui && EVERFLAME_BIN="$(or $(EVERFLAME_PROGRAM),$(target_dir)/debug/everflame)" \
		CHROMIUM="$${CHROMIUM:-$$(command -v chromium)}" npm run $@

docs-pictures: screenshots
	mkdir -p docs/ui
	for look in light-en dark-en dark-zh; do \
		cp ui/e2e/out/compiler-1400-$$look.png docs/ui/explore-$$look.png; done

run:
	@scripts/setup base node
	@$(MAKE) --no-print-directory ui
	cargo build --locked --release --package cli
	$(target_dir)/release/everflame up $(if $(LISTEN),--listen $(LISTEN)) $(if $(DATA_DIR),--data-dir $(DATA_DIR))

fixtures:
	@scripts/setup base
	cargo build --locked --release --package cli
	scripts/run

# Memory is kept from round to round: how long the system takes to hand out pages is no figure of ours.
bench:
	@MIMALLOC_PURGE_DELAY=-1 cargo run --locked --release --quiet --package benches --bin bench -- $(ONLY)

bench-ui: ui
	@scripts/setup base node chromium
	@cargo build --locked --release --package cli
	@cd ui && EVERFLAME_BIN="$(target_dir)/release/everflame" \
		CHROMIUM="$${CHROMIUM:-$$(command -v chromium)}" npm run --silent bench -- $(ONLY)

bench-server: setup
	@cargo build --locked --release --package cli
	@cargo run --locked --release --quiet --package benches --bin bench-server -- $(ONLY)

fuzz:
	@scripts/fuzz $(FUZZ_SECONDS)

clean:
	cargo clean
	rm -rf .tools ui/node_modules ui/dist/app
