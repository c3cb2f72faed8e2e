#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests of the release build.
#
#   scripts/test.sh                  all of them
#   scripts/test.sh --quick          only the unit tests
#   scripts/test.sh --all [FILE...]  also the campaigns, the unit tests under the address and
#                                    undefined-behaviour sanitizers, and clang-tidy over what holds
#                                    the FILEs, those that changed; what continuous integration runs
#
# The last line is "N passed, N failed"; the exit code is 0 if that is "some passed, 0 failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extent=suite
changed=()
case "${1:-}" in
  "") ;;
  --quick) extent=quick ;;
  --all) extent=all changed=("${@:2}") ;;
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "test.sh: unknown argument '$1'" >&2; exit 2 ;;
esac

heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

results=()

# suite PRESET TARGET [ctest option...] builds and tests. A failing test or build does not end the
# script: the results of finished tests still count, and a suite without results counts as a
# failure.
suite() {
  local preset=$1 target=$2 result=$PWD/build/$1/test_results.xml
  shift 2
  rm -f "$result"
  results+=("$result")
  heading "build $preset"
  if scripts/build.sh "$preset" "$target"; then
    heading "tests in $preset"
    # One line per test, as it ends, and all output of a failing one.
    ctest --preset "$preset" --parallel "$(nproc)" --no-label-summary --output-junit "$result" "$@" \
      </dev/null 2>&1 | grep --line-buffered -vE '^( *Start +[0-9]+: |Test project )' || true
  fi
}

# clang-tidy over the sources that changed, at most 40: these take up to about 4 minutes on 2 cores. It counts as
# one test.
tidy() {
  local result=$PWD/build/release/clang_tidy_results.xml
  heading "clang-tidy"
  if ((${#changed[@]} == 0)); then
    echo "left out: no changed file is named"
    return
  fi
  rm -f "$result"
  results+=("$result")
  python3 -B scripts/clang_tidy.py --at-most 40 --junit "$result" "${changed[@]}" || true
}

heading "packages"
scripts/install_deps.sh --tests
case $extent in
  quick) suite release all --label-regex '^unit$' ;;
  suite) suite release all --label-exclude '^campaign$' ;;
  all)
    export LOCKSTEP_ALL_TESTS=1  # tests/e2e/skipped.py: what is there is not skipped
    suite release all
    tidy
    suite asan-ubsan unit_tests --label-regex '^unit$'
    ;;
esac

echo
echo "seconds: $SECONDS"
python3 scripts/count_results.py "${results[@]}"
