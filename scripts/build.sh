#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json with all cores.
#
#   scripts/build.sh [PRESET] [TARGET...]     default: release, everything
#
# Runs fewer compilers at once if memory is short (JOBS=n sets their number).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
shift || true

# A compiler takes up to about 2 GB, for a batch of sources.
memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
cgroup_limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
if [[ $cgroup_limit =~ ^[0-9]+$ ]] && ((cgroup_limit / 1024 < memory_kb)); then
  memory_kb=$((cgroup_limit / 1024))
fi
jobs=$(nproc)
affordable=$((memory_kb / (2048 * 1024)))
((affordable >= jobs)) || jobs=$((affordable > 1 ? affordable : 1))
jobs=${JOBS:-$jobs}

# Objects are cached by paths relative to the source tree, so that a fresh clone uses those of
# another.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# ccache fails without a writable folder; the compiler does not.
if command -v ccache >/dev/null; then
  cache_dir=$(ccache --get-config cache_dir 2>/dev/null || true)
  if ! mkdir -p "$cache_dir/tmp" 2>/dev/null || [[ ! -w $cache_dir/tmp ]]; then
    export CCACHE_DISABLE=1
  fi
fi

# A build folder that was moved or copied together with its source tree cannot be reused.
fresh=()
cache=build/$preset/CMakeCache.txt
if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  fresh=(--fresh)
fi

# The configuration's output is short, and shown only if it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" "${fresh[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

targets=()
(($# == 0)) || targets=(--target "$@")

# On a terminal ninja uses one line; elsewhere each step is one short line.
export NINJA_STATUS='[%f/%t, %e s] '
shorten() {
  sed -u -E 's/Building (C|CXX) object (.*)CMakeFiles\/[^/]*\.dir\/(.*)\.o$/\2\3/; s/Linking CXX (executable|static library) /link /'
}
if [[ -t 1 ]]; then
  cmake --build "build/$preset" --parallel "$jobs" "${targets[@]}"
else
  cmake --build "build/$preset" --parallel "$jobs" "${targets[@]}" | shorten
fi
