#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests: everything in release, then the unit tests
# under the address and undefined-behaviour sanitizers.
#
#   scripts/test.sh            everything
#   scripts/test.sh --quick    the unit tests in release only
#
# The last line is "N passed, N failed"; the exit code is 0 if that is "some passed, 0 failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=false
case "${1:-}" in
  "") ;;
  --quick) quick=true ;;
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "test.sh: unknown argument '$1'" >&2; exit 2 ;;
esac

heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

results=()

# suite PRESET TARGET [ctest option...] builds and tests. A failing test or build is not fatal here:
# what did run is still counted, and what left no results counts as a failure.
suite() {
  local preset=$1 target=$2 result=$PWD/build/$1/test_results.xml
  shift 2
  rm -f "$result"
  results+=("$result")
  heading "build $preset"
  if scripts/build.sh "$preset" "$target"; then
    heading "tests in $preset"
    ctest --preset "$preset" --parallel "$(nproc)" --output-junit "$result" "$@" </dev/null || true
  fi
}

heading "packages"
scripts/install_deps.sh --tests
if $quick; then
  suite release all --label-regex '^unit$'
else
  suite release all --label-exclude '^campaign$'
  suite asan-ubsan unit_tests --label-regex '^unit$'
fi

echo
echo "seconds: $SECONDS"
python3 scripts/count_results.py "${results[@]}"
