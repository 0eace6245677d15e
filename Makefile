# A short front to meson: `make`, `make demo`, `make test`, `make bench`, `make install`, `make format`, `make clean`.
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all demo test bench bench-deletes bench-orphans bench-expire bench-manifests bench-scenario bench-sorting bench-merging install format clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@scripts/install-deps.sh build
	@meson setup $(BUILD) --prefix $(PREFIX) -Dtests=false

# A small streaming-style table, compacted, with figures from before and after.
demo: all
	@$(BUILD)/src/cli/firn demo $(DIR)

# All that CI runs: the tree's own rules, unit tests with two compilers and the sanitizers, and the tests beside other engines.
# PARTS="checks unit" runs some of it.
test:
	@scripts/install-deps.sh test
	@python3 scripts/run-tests.py --build $(BUILD) $(PARTS)

bench: all
	@scripts/install-deps.sh test
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/bench.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-deletes: all
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/deletes.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-sorting: all
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/sorting.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-merging: all
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/merging.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-orphans: all
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/orphans.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-expire: all
	@ninja -C $(BUILD) bench/make_history
	@FIRN=$(abspath $(BUILD))/src/cli/firn MAKE_HISTORY=$(abspath $(BUILD))/bench/make_history "$$(scripts/interop-env.sh)/bin/python" bench/expire.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-scenario: all
	@FIRN=$(abspath $(BUILD))/src/cli/firn "$$(scripts/interop-env.sh)/bin/python" bench/scenario.py --cache $(abspath $(BUILD))/bench $(ARGS)

bench-manifests: all
	@ninja -C $(BUILD) bench/make_history
	@FIRN=$(abspath $(BUILD))/src/cli/firn MAKE_HISTORY=$(abspath $(BUILD))/bench/make_history "$$(scripts/interop-env.sh)/bin/python" bench/manifests.py --cache $(abspath $(BUILD))/bench $(ARGS)

install: all
	@meson install -C $(BUILD) --no-rebuild

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)
