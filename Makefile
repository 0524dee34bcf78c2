# muster: every target is one idea; `make help` lists them.

GO      ?= go
BIN     := bin/muster
PKGS    := ./...
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
CGO     := $(or $(CGO_ENABLED),$(shell command -v cc >/dev/null 2>&1 && echo 1 || echo 0))
# Without cgo a program for Linux checks the limits on memory at its entry.
ENTRY   := $(if $(filter 0-linux-amd64 0-linux-arm64,$(CGO)-$(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)),-E github.com/muster-run/muster/internal/ulimit.entry)
LDFLAGS := -s -w -X main.version=$(VERSION) $(ENTRY)

.DEFAULT_GOAL := help

build: hosts ## build bin/muster, with the programs for hosts inside
	CGO_ENABLED=$(CGO) $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/muster

hosts: ## build what muster puts on hosts, for linux/amd64 and linux/arm64
	$(GO) run ./cmd/muster-host/pack providers/ssh/bin

release: hosts ## build the programs for Linux and macOS, amd64 and arm64, into dist, with SHA256SUMS
	GO='$(GO)' VERSION='$(VERSION)' ./.ci/release dist

demo: build ## plan and apply a real teacher/student campaign on this machine
	./examples/distill/demo.sh $(abspath $(BIN))

# Tests wait more than they compute: with few cores, four packages at once, and six tests of each.
ATONCE := $(shell [ "$$(nproc 2>/dev/null || echo 4)" -ge 4 ] || echo -p=4 -parallel=6)

test: ## every hermetic test (under 4 minutes)
	$(GO) test $(ATONCE) -vet=off -ldflags=-w -skip '^Test(System|Nightly)' -timeout 20m $(PKGS)

race: ## packages with goroutines under the race detector, the long tests shortened
	ATONCE='$(ATONCE)' ./.ci/race

test-system: $(if $(BUILT),,build) ## bring up the real components and run the system tests (PARTS="slurm others")
	./.ci/system $(PARTS)

nightly: build ## what takes hours: storms of kills, random users, long fuzzing, all tests under the race detector
	./.ci/nightly

bench: build ## print plan speed, memory and job throughput
	./.ci/bench

fuzz: ## fuzz each target for a few seconds
	./.ci/fuzz

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
lint: ## gofmt, vet, staticcheck, and the types on the other platforms
	@files=$$(gofmt -l $$(git ls-files '*.go' | grep -v '\.pb\.go$$')); test -z "$$files" || { echo "gofmt would change:"; echo "$$files"; exit 1; }
	$(GO) vet $(PKGS)
	GOGC=400 $(GO) tool staticcheck $(PKGS)
	$(GO) run ./internal/typecheck $(filter-out $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH),$(PLATFORMS))

cross: ## compile and vet every program for Linux and macOS, amd64 and arm64
	@set -e; for p in $(PLATFORMS); do echo "vet for $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./cmd/...; done

generate: build ## generated code and reference pages
	./providers/protocol/generate.sh
	$(BIN) docs docs/reference/cli

clean: ## remove what was built
	rm -rf bin dist
	find providers/ssh/bin -type f ! -name README.md -delete
	rm -f providers/host/gpu/bin/*/muster-nvml

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build release hosts demo test race test-system nightly bench fuzz lint cross generate clean help
