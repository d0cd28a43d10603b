# Two commands do everything: `make demo` and `make test`. Each makes .venv itself, from the lock, with hashes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Of an empty cache each worker would rewrite the asserts of all tests, which takes longer than importing them.
REWRITTEN := $(VENV)/.rewritten

# Without bytecode each worker rewrites the asserts of all tests, and each process that a test starts compiles bot/.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all lint fuzz mutation bench bench-peers schema lock lock-check docs extras clean

demo: $(STAMP)
	@$(BIN)/slash-agent demo

# Tests, in parallel. A test of a whole run waits as much as it computes, and a worker computes ten seconds before its first.
# So there are two workers a core for the slow ones, and one more than cores for the others. WORKERS=1 for one.
# Their 40,000 folders are removed in the background; pytest would take ten seconds to remove those of an earlier run.
pytest = @folder=$$(mktemp -d) && \
  $(BIN)/python -m pytest -n $(or $(WORKERS),$(shell expr $(1))) --dist worksteal --basetemp=$$folder/tests \
  $(2) || { echo "What the tests left is in $$folder."; exit 1; }; \
  rm -rf $$folder >/dev/null 2>&1 &

test: $(STAMP) $(REWRITTEN)
	$(call pytest,1 + $$(nproc),-m "not slow" tests)

# The slow ones: every fault at every point (docs/reliability.md), the further rows of tables of whole runs, whole runs that
# cover no branch of their own, and whatever needs npm, act or Chromium. Only files that may have one are collected.
test-all: $(STAMP)
	$(call pytest,2 \* $$(nproc),-m slow \
	  $(shell grep -rlE --include='test_*.py' 'mark\.(slow|act|node|chromium|site)|pytestmark = worlds|^from tests\.support\.(worlds|stage)|\b(attack|begin|bench|cli|scene|stage|world): ' tests | sort))

lint: $(STAMP)
	$(BIN)/ruff check bot slash_forge tests benchmarks skills
	$(BIN)/ruff format --check bot slash_forge tests benchmarks skills
	$(BIN)/mypy
	$(BIN)/lint-imports

# EXAMPLES=100000 for more of them; TARGETS="redact or sanitize" for some tests.
fuzz: $(STAMP)
	SLASH_AGENT_TEST_RANDOM=1 SLASH_AGENT_TEST_EXAMPLES=$(or $(EXAMPLES),10000) \
	$(BIN)/python -m pytest -q --durations=0 -m hypothesis -k "$(TARGETS)" tests/fuzz tests/events/test_sanitize.py \
	  tests/events/test_read_event.py tests/gate/test_redact.py tests/policy/test_load.py tests/policy/test_shell_truth.py \
	  tests/toolhost/test_host_text.py

# Changes of the gate, the policy and the sandbox that no test notices: a part after the other, for hours; no part of CI. In a
# copy of HEAD, with the tests that start no process. Of bot/workspace these reach next to nothing: name its tests. One module:
# FILES=bot/policy/decide.py TESTS="tests/policy/test_decide.py tests/policy/test_writes.py".
UNFIT = subprocess|Popen|bubblewrap|landlock|Bench|Workspace|workspace\.|Inside|fix_with|Cli\b
mutation:
	@test -x .cache/mutation/bin/mutmut || ( $(PYTHON) -m venv .cache/mutation && \
	  .cache/mutation/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements.lock && \
	  .cache/mutation/bin/python -m pip install --quiet mutmut==3.8.1 )
	@folder=$$(mktemp -d) && git archive HEAD | tar x -C $$folder && tool=$$(realpath .cache/mutation/bin) && cd $$folder && \
	for part in $(or $(FILES),bot/gate bot/policy bot/workspace); do \
	  tests=$${TESTS:-$$(grep -rLE --include='test_*.py' '$(UNFIT)' tests/$${part#bot/})}; \
	  { printf '[mutmut]\nsource_paths=%s\npytest_add_cli_args_test_selection=\n' $$part; printf '    %s\n' $$tests; \
	    printf 'also_copy=\n'; ls -A | grep -vE '^(mutants|setup.cfg)$$' | sed 's/^/    /'; } > setup.cfg; \
	  $$tool/mutmut run $(MUTANTS); $$tool/mutmut results; rm -rf mutants; \
	done; rm -rf $$folder

bench: $(STAMP)
	$(BIN)/python -m benchmarks

bench-peers: $(STAMP)
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.peers.cold
	$(BIN)/python -m benchmarks.peers.equal_steps

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("slash-agent needs Python 3.11.5 to 3.14; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if not (3, 11, 5) <= sys.version_info[:3] < (3, 15) else 0'
	@echo "Installing into $(VENV) from requirements.lock, once; this takes a minute or so."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q -x sample bot slash_forge
	@touch $@

$(REWRITTEN): | $(STAMP)
	@echo "Rewriting the asserts of the tests, once; this takes some ten seconds."
	@find tests -name 'test_*.py' -print0 | xargs -0 -P $$(nproc) -n 100 $(BIN)/python -m pytest -q --collect-only >/dev/null || true
	@touch $@

# Everything the tests can use beyond Python: bubblewrap, Node.js, Chromium, nektos/act.
extras:
	bash .ci/extras

schema: $(STAMP)
	$(BIN)/python .ci/write_schema.py

compile = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --only-binary :all:
lock: $(STAMP)
	$(compile) --all-extras pyproject.toml -o requirements.lock
	echo 'zensical>=0.0.73,<1' | $(compile) --python-version 3.11.5 - -o .ci/docs.txt

lock-check: $(STAMP)
	$(BIN)/python .ci/lock_check.py

# The site of docs/, into site/. Strict: a broken link ends it, and so does a page that the navigation lacks or makes up.
# Its generator is no part of the program and has a place of its own.
docs: .cache/docs/.installed
	@! { ls docs/*.md; grep -o '"[a-z0-9-]*[.]md"' zensical.toml | tr -d '"' | sed 's,^,docs/,'; } | sort | uniq -u | grep . || \
	  { echo "These are in docs/ or in the navigation of zensical.toml, and not in both."; exit 1; }
	@rm -rf site
	.cache/docs/bin/zensical build --strict

.cache/docs/.installed: .ci/docs.txt
	@$(PYTHON) -m venv .cache/docs
	@.cache/docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r .ci/docs.txt
	@touch $@

clean:
	rm -rf $(VENV) site .cache build dist *.egg-info
