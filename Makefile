# Needs make, git and a Python of 3.11 or newer; everything else goes into .venv.

# Which versions of the dependencies: locked (requirements/ci.txt), newest or oldest (that pyproject.toml allows).
VERSIONS ?= locked
VENV := .venv$(patsubst %,-%,$(filter-out locked,$(VERSIONS)))
BIN := $(VENV)/bin
# The client the recorded material was made with; any other: make test-realclient CLAUDE_VERSION=latest
CLAUDE_VERSION ?= 2.1.332
# What judges the pages in the browser (.ci/axe).
AXE_VERSION := 4.14.1
RECIPES := .venv-recipes
REVERIE_CLAUDE ?= $(CURDIR)/.realclient/node_modules/.bin/claude
# Two processes; tests of one group share one. -ra says why a test was skipped.
PYTEST := python -m pytest -n 2 --dist loadgroup -ra
# Those that need no more than Python; the others have targets of their own.
HERE := not realclient and not recipes and not browser and not postgres
# The tests sync thousands of small files: in memory, where the system has room for them.
IN_MEMORY = TMPDIR="$$(sh .ci/scratch)"

# Without compiled files every process of the tests would compile anew what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-whole test-recipes test-browser test-postgres test-postgres-whole screenshots sweeps check coverage format bench bench-full performance test-realclient picture client axe versions clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## A session becomes memories, with recorded model calls: no key
	@$(BIN)/reverie demo

test: $(VENV)/.installed  ## The tests, of long sweeps a share; without those that need the real client
	$(IN_MEMORY) $(BIN)/$(PYTEST) -m "$(HERE) and not whole"

test-whole: $(VENV)/.installed  ## The same with every case of every sweep
	$(IN_MEMORY) $(BIN)/$(PYTEST) -m "$(HERE)"

test-recipes: $(VENV)/.installed $(RECIPES)/.installed  ## jq, awk and pandas on exported traces; needs jq and awk
	REVERIE_RECIPES_PYTHON="$(CURDIR)/$(RECIPES)/bin/python" $(IN_MEMORY) \
		$(BIN)/python -m pytest -ra -m recipes tests/formats

test-browser: $(VENV)/.installed axe  ## The page in a real browser; needs chromium, chromium-driver and npm
	$(IN_MEMORY) $(BIN)/python -m pytest -ra -m browser tests/browser

screenshots: $(VENV)/.installed  ## Make the pictures of docs/page.md anew; needs chromium and chromium-driver
	$(IN_MEMORY) $(BIN)/python -m docs.screenshots

test-postgres: $(VENV)/.installed  ## A team's database, on a PostgreSQL server of its own; needs Debian's package postgresql
	$(IN_MEMORY) $(BIN)/python -m pytest -ra -m "postgres and not whole" tests/team

test-postgres-whole: $(VENV)/.installed  ## The same with twenty members of two hundred changes each: minutes
	$(IN_MEMORY) $(BIN)/python -m pytest -ra -m postgres tests/team

sweeps: $(VENV)/.installed  ## The rest of each sweep, which make test leaves out
	$(IN_MEMORY) $(BIN)/$(PYTEST) -m "$(HERE) and whole"

check: $(VENV)/.installed  ## ruff, and mypy over package, hooks, tests, bench and docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: $(VENV)/.installed  ## Which lines the tests run, those of the processes they start included
	rm -f .coverage .coverage.*
	$(IN_MEMORY) $(BIN)/coverage run -m pytest -n 2 --dist loadgroup -m "$(HERE) and not whole"
	$(BIN)/python .ci/combine
	$(BIN)/coverage report

format: $(VENV)/.installed  ## Rewrite the sources as ruff formats them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed  ## Measure speed, memory and tokens; fails where a row misses its target
	$(BIN)/python -m bench

bench-full: $(VENV)/.installed  ## The same with 1 GB of transcripts and 100,000 memories: over an hour
	$(BIN)/python -m bench --full

performance: $(VENV)/.installed  ## Measure all and write docs/performance.md anew; on a quiet machine
	$(BIN)/python -m bench --full --json docs/performance.json || [ $$? = 1 ]
	$(BIN)/python docs/build.py performance

test-realclient: $(VENV)/.installed client  ## Tests with the real Claude Code client in a box without network
	REVERIE_CLAUDE="$(REVERIE_CLAUDE)" $(BIN)/python -m tests.realclient.box \
		$(BIN)/python -m pytest -ra -m realclient tests/realclient

picture: $(VENV)/.installed client  ## Make the picture of the README anew, with the real client
	REVERIE_CLAUDE="$(REVERIE_CLAUDE)" $(BIN)/python -m tests.realclient.box $(BIN)/python -m docs.picture

client:
	@if [ "$(REVERIE_CLAUDE)" = "$(CURDIR)/.realclient/node_modules/.bin/claude" ] && \
		[ "$$(cat .realclient/version 2>/dev/null)" != "$(CLAUDE_VERSION)" ]; then \
		sh .ci/client "$(CLAUDE_VERSION)"; fi

axe:
	@[ "$$(cat .browser/version 2>/dev/null)" = "$(AXE_VERSION)" ] || sh .ci/axe "$(AXE_VERSION)"

versions:  ## Write the newest allowed versions into requirements/ci.txt
	rm -rf .venv-newest
	sh .ci/venv .venv-newest newest
	{ grep '^#' requirements/ci.txt; .venv-newest/bin/python -m pip freeze --exclude-editable; } >requirements/new.txt
	mv requirements/new.txt requirements/ci.txt

clean:  ## Remove what the targets above made
	rm -rf .venv .venv-newest .venv-oldest $(RECIPES) .realclient .browser .demo .coverage

$(VENV)/.installed: pyproject.toml requirements/ci.txt .ci/venv
	@sh .ci/venv $(VENV) $(VERSIONS)

$(RECIPES)/.installed: requirements/recipes.txt
	$(BIN)/python -m venv --clear $(RECIPES)
	$(RECIPES)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/recipes.txt
	touch $@
