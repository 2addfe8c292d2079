# Every target builds what it needs from nothing: Python >= 3.11, gcc and pip are enough.
PYTHON ?= python3
BIN := .venv/bin
DIRS := packages/reticent packages/reticent-serve packages/reticent-devices packages/reticent-lab packages/reticent-papers experimental/two-servers
PARTS := $(DIRS:%=-e %)
nothing :=
WITH_TESTS := PYTHONPATH=$(subst $(nothing) $(nothing),:,$(DIRS:%=$(CURDIR)/%/tests))
export OPENBLAS_NUM_THREADS := 1

.PHONY: env demo serve serve-postgres demo-roles demo-two browser test test-full test-two test-ray check docs bench plan-judge generated expected kept kept-status dist packed js node lock clean

env: .venv/.ready

.venv/.ready: requirements.lock $(DIRS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("Expected Python 3.11 or later, got %d.%d: make PYTHON=python3.11 ..." % \
	  sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "Making .venv from locked versions, once: some 35 seconds of CPU time beside the downloads, and 1.8 GB on disk."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(PARTS)
	touch $@

.venv/.bench: .venv/.ready requirements-bench.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	touch $@

.venv/.docs: .venv/.ready requirements-docs.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	touch $@

.venv/.node: .venv/.ready requirements-node.lock
	{ command -v node && command -v npm; } >/dev/null || \
	  $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-node.lock
	touch $@

demo: .venv/.ready        ## a private bandit beside a non-private one: a table, a picture and a certificate
	$(BIN)/python examples/demo.py

serve: .venv/.ready       ## a server with made-up people, on SQLite in this folder
	$(BIN)/reticent serve --demo

serve-postgres: .venv/.ready  ## two servers with made-up people on one PostgreSQL, which comes with the tools
	$(BIN)/python examples/serve_postgres.py

demo-roles: .venv/.ready  ## shuffler, analyzer and local server as processes, 10 000 devices, and what each role sees
	$(BIN)/python examples/roles.py

demo-two: .venv/.ready    ## two servers as processes, neither trusted alone, 10 000 devices, and what each party sees
	$(BIN)/python experimental/two-servers/demo.py

browser: .venv/.ready     ## a browser for the dashboard's tests: Debian's chromium, if none is found
	$(WITH_TESTS) $(BIN)/python -m serve_tests.browser || { \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -q && $$as apt-get install -q -y --no-install-recommends chromium; }

node: .venv/.node         ## node and npm for the tests of js/, from the package of that name, if none are found

test: .venv/.node        ## everything from nothing to green, in minutes; installs a browser where it may without asking
	@$(WITH_TESTS) $(BIN)/python -m serve_tests.browser || { [ "$$(id -u)" = 0 ] || sudo -n true; } 2>/dev/null && $(MAKE) browser || true
	$(BIN)/python -m pytest -n 3 --dist loadfile

test-full: .venv/.node test-ray test-two dist  ## the heavier statistical runs as well, and each package in a clean environment
	$(BIN)/python -m pytest -n 3 --dist loadfile -m "not ray"
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.cache/boundscheck $(BIN)/python -m pytest -n 3 --dist loadfile \
	  packages/reticent/tests/core_tests/kernels/test_kernels.py packages/reticent-lab/tests/lab_tests/environments/test_kernels.py packages/reticent-papers/tests/papers_tests/test_baselines.py

test-two: .venv/.node      ## the experiment with two servers
	$(BIN)/python -m pytest -n 3 --dist loadfile -m "not ray" experimental/two-servers/tests

test-ray: .cache/ray/.ready  ## logs and sweeps on Ray, in an environment of their own: Ray is large
	.cache/ray/bin/python -m pytest -m ray packages/reticent-lab/tests/lab_tests/logs/test_ray.py packages/reticent-lab/tests/lab_tests/experiments/test_ray_sweeps.py packages/reticent-papers/tests/papers_tests/test_on_ray.py

.cache/ray/.ready: requirements.lock requirements-ray.lock
	$(PYTHON) -m venv .cache/ray
	.cache/ray/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	.cache/ray/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-ray.lock
	.cache/ray/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(PARTS)
	touch $@

check: docs               ## style, types, the import rules that carry the privacy argument, and the site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(WITH_TESTS) $(BIN)/lint-imports
	$(BIN)/python tests/version.py

docs: .venv/.docs         ## the documentation as a site in site/, to be read without a network; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # --quiet would hide warnings from --strict
	$(BIN)/python tests/site.py site

bench: .venv/.bench       ## noise of each mechanism, and microseconds a round beside other libraries
	$(BIN)/reticent bench noise
	$(BIN)/reticent bench speed

plan-judge: .venv/.ready  ## how far off `reticent plan --schema` is in random worlds, written anew
	$(BIN)/python -m tools.plan.judge

generated: .venv/.ready   ## what follows from the code: links for JavaScript, names for type checkers, pictures of the layers
	$(BIN)/python -m tools.generated

expected: .venv/.ready    ## what every reproduction finds on a small scale, written anew; look at the difference
	$(WITH_TESTS) $(BIN)/python -m papers_tests.reproductions.expected

SCALE ?= --quick
kept: .venv/.ready        ## results that the docs keep: docs/kept, pictures, a table; SCALE= for the full scale, in hours
	$(BIN)/reticent reproduce all $(SCALE)
	$(WITH_TESTS) $(BIN)/python -m papers_tests.reproductions.keep out

kept-status: .venv/.ready ## which kept results are of the code as it is, and which are older
	$(WITH_TESTS) $(BIN)/python -m papers_tests.reproductions.keep status

dist: .venv/.node         ## wheels and sdists, the JavaScript device, a bill of materials; each extra and package is tried in a clean environment
	$(MAKE) packed
	wheel="$$(ls dist/reticent-*.whl)"; devices="$$(ls dist/reticent_devices-*.whl)"; \
	for package in packages/reticent dist/reticent-*.tar.gz "$$wheel" "$$wheel[logs]" "$$wheel[composition]" dist/reticent_serve-*.whl \
	  dist/reticent_devices-*.tar.gz "$$devices" "$$devices[servers]" dist/reticent_lab-*.whl dist/reticent_papers-*.whl \
	  dist/reticent_two_servers-*.whl; do \
	  rm -rf .cache/clean && $(PYTHON) -m venv .cache/clean && \
	  .cache/clean/bin/pip install --quiet --disable-pip-version-check --find-links dist "$$package" && \
	  .cache/clean/bin/python -I tests/smoke.py "$$package" || exit 1; done
	cd dist && sha256sum *

# The time of all that is packed is that of the commit.
dist packed js: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1580601600)

packed: .venv/.node       ## the same files in dist/, not tried; from the same commit the same bytes
	rm -rf dist && mkdir -p .cache dist
	for part in $(DIRS); do (cd $$part && "$(CURDIR)/$(BIN)/hatchling" build -d "$(CURDIR)/dist") || exit 1; done
	$(BIN)/python -m tools.sbom dist/reticent-*.whl dist/reticent_serve-*.whl dist/reticent_devices-*.whl requirements.lock > .cache/bill.json
	mv .cache/bill.json "$$(ls dist/reticent-*.whl | sed s/-py3-none-any.whl/.cdx.json/)"
	$(MAKE) js

js: .venv/.node           ## the device in JavaScript as a package in dist/
	rm -rf .cache/js && mkdir -p .cache dist && cp -r packages/reticent-devices/js .cache/js && cp LICENSE .cache/js && chmod -R u=rwX,go=rX .cache/js
	umask 022 && cd .cache/js && export PATH="$(CURDIR)/$(BIN):$$PATH" && npm pack --silent --pack-destination ../../dist

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url
OURS := $(foreach name,reticent reticent-serve reticent-devices reticent-lab reticent-papers,--no-emit-package $(name))
ALL := $(DIRS:%=%/pyproject.toml) --extra logs --extra composition --extra servers

lock: packed              ## renew the locked versions; packages find one another in dist
	$(LOCK) --find-links dist $(OURS) $(ALL) --group dev -o requirements.lock
	$(LOCK) --find-links dist $(OURS) $(ALL) --group dev --group bench -o requirements-bench.lock
	$(LOCK) --constraint requirements.lock --group docs -o requirements-docs.lock
	$(LOCK) --group node -o requirements-node.lock
	$(LOCK) --find-links dist $(OURS) --constraint requirements.lock packages/reticent-lab/pyproject.toml --extra ray -o requirements-ray.lock

clean:
	rm -rf .venv .cache dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
