# Out of Rank: every command of the project. `make` alone lists them.
#
# Each target first brings .venv up to date (.ci/environment); when nothing changed that takes a moment.
# Another interpreter: PYTHON=python3.12 make book

PYTHON ?= python3
PORT ?= 8000
python := .venv/bin/python
export PYTHON

# Where something is drawn, it is drawn without a display on Linux; a choice that you made yourself stands. Numerical
# targets leave the variable alone: MuJoCo told to use a library that is not there cannot even be imported.
ifeq ($(shell uname -s),Linux)
graphics book test lab: export MUJOCO_GL ?= egl
endif

.DEFAULT_GOAL := help
.PHONY: help environment graphics book test lab serve results bench clean

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

environment:
	@bash .ci/environment packages

graphics: environment
	@bash .ci/environment graphics

book: graphics  ## build the book, with its live pages, into _build/html (warnings are errors)
	@$(python) .ci/build_book.py

test: graphics  ## ruff, mypy, the package's tests, the chapters, the build and its links, the pages in a browser
	@bash .ci/environment browser
	@$(python) .ci/live_pages.py --packages
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy
	@PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=.ci $(python) -m pytest -q -n 2 --dist loadfile --nbval -p kernels --ignore tests/book --ignore tests/browser tests book
	@$(python) .ci/build_book.py
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(python) -m pytest -q -n 2 tests/book tests/browser

lab: graphics  ## open the chapters in Jupyter
	@$(python) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) book

serve: book  ## serve the built book on this machine (PORT=8000)
	@echo "The book is at http://127.0.0.1:$(PORT)/ (Ctrl-C stops)"
	@$(python) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT) >/dev/null 2>&1

results: environment  ## recompute every file in results/
	@$(python) -m ikcourse results

bench: environment  ## time a control step against a bare rollout, and what a widget's reader waits
	@$(python) -m ikcourse bench
	@$(python) benchmarks/widgets.py

clean:  ## remove what was built (.venv and book/live/node_modules stay; delete them to renew them)
	@rm -rf _build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find ikcourse tests book .ci -name node_modules -prune -o -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
