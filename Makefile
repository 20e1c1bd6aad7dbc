# `make demo` and `make test` set up everything they need in .venv, once, from the locks in
# requirements/: the same versions today and in a year, all of them wheels. A C++20 compiler builds
# the compiled search and network; where there is none they say so in one line and do without, and
# PyTorch runs the network.
PYTHON ?= python3
BIN := .venv/bin
# What the compiled search is built from.
NATIVE := $(wildcard $(foreach folder,. network judge,src/spacevrp/native/$(folder)/*.[hc]pp))
# The demo needs little; development needs all of it.
DEMO_PACKAGES := .venv/.demo-packages
TEST_PACKAGES := .venv/.test-packages
SOLVES := .venv/.solves
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-slow coverage style lint format native sanitize perf-smoke docs \
	figures lock clean

help:
	@echo "make demo       solve a bundled instance"
	@echo "make test       lint, type check, the quick tests (at most 5 minutes on two cores)"
	@echo "make test-core  what an installation without PyTorch can do, tested without it"
	@echo "make test-slow  the other tests: kernels, documentation, fuzzing, larger sizes"
	@echo "                (at most 12 minutes)"
	@echo "make coverage   the quick tests once more, traced, and the coverage floor"
	@echo "make lint       lint and type check only"
	@echo "make format     format and fix what can be fixed"
	@echo "make native     build the compiled search, every warning an error"
	@echo "make sanitize   its tests under the address and undefined-behaviour sanitizers"
	@echo "make perf-smoke fast paths against slow ones, as ratios within one run (a minute)"
	@echo "make docs       build the documentation site in site/"
	@echo "make figures    write the tables and drawings of README, docs and records"
	@echo "make lock       renew the locks of all packages in requirements/"
	@echo "make clean      remove .venv, caches and build products"

# $(1): the lock.
define fetch
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else \
	"expected Python 3.11 to 3.13, received %d.%d: name another, as in make PYTHON=python3.13" % v)'
	@echo "==> Creating the virtual environment .venv"
	@$(PYTHON) -m venv .venv
	@echo "==> Fetching about $$(grep -c == $(1)) packages of $(1) into .venv (once)"
	@if grep -q ^torch== $(1); then echo "    This takes some minutes: PyTorch is 200 MB for CPUs," \
		"some GB where it comes with CUDA"; fi
	@$(BIN)/python -m pip install --disable-pip-version-check --only-binary :all: -r $(1)
endef

# The package itself comes last, built by the setuptools and the pybind11 of the lock, so that nothing
# is fetched that is not in it; `pip check` notices a dependency that the lock does not have. $(1): the
# files that say it is done. Without the compiled search it is not: the next call tries again.
define install
	@echo "==> Installing spacevrp into .venv and compiling its search (a minute or so)"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet \
		--no-deps --no-build-isolation -e .
	@$(BIN)/python -m pip check --disable-pip-version-check
	@$(BIN)/python -c 'import sys; from spacevrp import native; \
	sys.exit(None if native.available() else "==> Note: " + native.MISSING)' && touch $(1) || true
endef

$(DEMO_PACKAGES): requirements/demo.txt
	$(call fetch,requirements/demo.txt)
	@touch $@

$(TEST_PACKAGES): requirements/test.txt requirements/cuda.txt
	$(call fetch,requirements/test.txt)
	@touch $(DEMO_PACKAGES) $@

# Without the compiled network the demo needs PyTorch.
$(SOLVES): $(DEMO_PACKAGES) pyproject.toml setup.py $(NATIVE)
	$(call install,$@)
	@$(BIN)/python -c 'import sys; from spacevrp import native; sys.exit(native.network is None)' || \
		{ echo "==> Fetching PyTorch to run the network (once, some minutes: 200 MB for CPUs," && \
		echo "    some GB where it comes with CUDA)" && $(BIN)/python -m pip install --quiet \
		--disable-pip-version-check --only-binary :all: -r requirements/torch.txt; }

$(READY): $(TEST_PACKAGES) pyproject.toml setup.py $(NATIVE)
	$(call install,$(SOLVES) $@)

demo: $(SOLVES)
	@echo "==> Solving a bundled instance"
	@$(BIN)/spacevrp demo

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)

lint: style
	$(BIN)/mypy

# Two workers with one thread each: more threads would only wait for each other.
test test-core test-slow coverage: export OMP_NUM_THREADS = 1
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

# Types are checked beside the tests, for there are moments when a worker waits; what mypy says comes
# at the end, and either failure is one.
TYPES := .venv/.types.txt
test: style
	@$(BIN)/mypy >$(TYPES) 2>&1 & types=$$!; \
	echo '$(PYTEST) -m "not slow"'; $(PYTEST) -m "not slow"; tests=$$?; \
	wait $$types; types=$$?; echo "$(BIN)/mypy"; cat $(TYPES); \
	exit $$((tests != 0 ? tests : types))

# PyTorch cannot be imported there; modules of tests that need it are skipped.
CORE := $(addprefix tests/,arrays cli formats plots search test_without_torch.py)
test-core: $(READY)
	SPACEVRP_TEST_WITHOUT_TORCH=1 $(PYTEST) -m "not slow" $(CORE)

test-slow: $(READY)
	$(PYTEST) -m slow

# Tracing doubles the time of a test (not so from Python 3.12 on, with COVERAGE_CORE=sysmon), so that
# the other two go without; the workflow of the repository runs this.
coverage: $(READY)
	$(PYTEST) -m "not slow" --cov --cov-report=term

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(NATIVE)

# In place, where the installation has it.
native: $(TEST_PACKAGES)
	$(BIN)/python setup.py --quiet build_ext --strict --inplace \
		--build-temp build/native --build-lib build/native/lib

# A second copy of the package, so that the one in use stays as it is. Python itself is not built for
# the sanitizers: GCC's library of them comes before it (and libstdc++, to let them see exceptions),
# and what Python never frees is no leak of ours.
SANITIZED := $(CURDIR)/build/sanitize/lib
sanitize: export CXX := $(CXX)
sanitize: export OMP_NUM_THREADS = 1
sanitize: $(TEST_PACKAGES)
	rm -rf $(SANITIZED)
	$(BIN)/python setup.py --quiet build_ext --sanitize build --build-base build/sanitize \
		--build-lib $(SANITIZED)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=$(SANITIZED) \
		$(BIN)/python -m pytest -p no:cacheprovider --ignore tests/native/test_build.py \
		$(wildcard tests/native tests/search tests/decode/test_native_*.py)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Needs nothing but Python.
figures:
	$(PYTHON) docs/figures.py
	$(PYTHON) docs/drawings.py

perf-smoke: export OMP_NUM_THREADS = 1
perf-smoke: $(READY)
	$(BIN)/python .ci/perf_smoke.py

# uv lives in an environment of its own: nothing but this needs it.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --only-binary :all: 'uv>=0.13,<0.14'
	requirements/lock.sh .venv-lock/bin/uv

clean:
	rm -rf .venv .venv-lock build dist site src/*.egg-info .coverage .coverage.* htmlcov \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis src/spacevrp/native/_*.so
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
