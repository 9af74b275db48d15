# Needs make, git and a Python of 3.11 or newer; everything else goes into .venv.

VENV := .venv
BIN := $(VENV)/bin
# The client the recorded material was made with; any other: make test-realclient CLAUDE_VERSION=latest
CLAUDE_VERSION ?= 2.1.332
REVERIE_CLAUDE ?= $(CURDIR)/.realclient/node_modules/.bin/claude

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench test-realclient client clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## A session becomes memories, with recorded model calls: no network, no key
	@$(BIN)/reverie demo

test: $(VENV)/.installed  ## All tests but those that need the real client
	$(BIN)/python -m pytest -n 2 -m "not realclient"

check: $(VENV)/.installed  ## ruff, and mypy over package, hooks, tests, bench and docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed  ## Rewrite the sources as ruff formats them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed  ## Measure what bench/ measures
	$(BIN)/python -m bench

test-realclient: $(VENV)/.installed client  ## Tests with the real Claude Code client in a box without network
	REVERIE_CLAUDE="$(REVERIE_CLAUDE)" $(BIN)/python -m tests.realclient.box \
		$(BIN)/python -m pytest -m realclient tests/realclient

client:
	@if [ "$(REVERIE_CLAUDE)" = "$(CURDIR)/.realclient/node_modules/.bin/claude" ] && \
		[ "$$(cat .realclient/version 2>/dev/null)" != "$(CLAUDE_VERSION)" ]; then \
		sh .ci/client "$(CLAUDE_VERSION)"; fi

clean:  ## Remove what the targets above made
	rm -rf $(VENV) .realclient .demo

$(VENV)/.installed: pyproject.toml .ci/venv
	@sh .ci/venv
