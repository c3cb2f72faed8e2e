#!/usr/bin/env bash
# Runs the unit tests' properties on new random cases, with AVX-512 and without.
#
#   scripts/fuzz_properties.sh [ROUNDS] [TEST...]      default: 10 rounds of all tests that draw cases
#
# Prints each failure with the RC_PARAMS that repeat it, then the number of runs, the number of
# failed ones, and the seconds. Exit code 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=${1:-10}
shift || true
[[ $rounds =~ ^[0-9]+$ ]] || { echo "fuzz_properties.sh: ROUNDS is a number" >&2; exit 2; }
tests=("$@")
if ((${#tests[@]} == 0)); then
  mapfile -t tests < <(grep -rl --include='*_test.cpp' rapidcheck tests | xargs -n1 dirname | sort -u | xargs -n1 basename)
fi

scripts/build.sh release unit_tests >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
runs=0 failed=0
for ((round = 0; round < rounds; ++round)); do
  for test in "${tests[@]}"; do
    for isa in auto avx2; do
      runs=$((runs + 1))
      LOCKSTEP_MAX_ISA=$isa "build/release/bin/test_$test" --gtest_brief=1 >"$log" 2>&1 && continue
      failed=$((failed + 1))
      echo "test_$test, LOCKSTEP_MAX_ISA=$isa:"
      grep -E 'FAILED|Falsifiable|RC_PARAMS|seed=' "$log" || tail -n 20 "$log"
    done
  done
done
echo "$runs runs, $failed failed, $SECONDS s"
((failed == 0))
