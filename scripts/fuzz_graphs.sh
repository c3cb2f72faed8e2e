#!/usr/bin/env bash
# Compiles random graphs and compares every output with the result of the IR's definition.
#
#   scripts/fuzz_graphs.sh [GRAPHS] [SEED]      default: 5000 graphs, a seed from the clock
#
# Prints the smallest graph of each failure (five at most) with its seed, then the number of graphs
# that ran, the number of wrong ones and the seconds. Exit code 1 if one was wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

graphs=${1:-5000}
seed=${2:-$(date +%s)}
[[ $graphs =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ ]] || { echo "fuzz_graphs.sh: GRAPHS and SEED are numbers" >&2; exit 2; }

scripts/build.sh release test_differential >/dev/null
build/release/bin/test_differential --gtest_brief=1 --gtest_filter='*AreTheSameCompiledAndByTheirDefinition' \
  --graphs="$graphs" --seed="$seed"
