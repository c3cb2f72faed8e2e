#!/usr/bin/env bash
# Makes a Debian package of the release build.
#
#   scripts/package.sh [FOLDER]   builds, and writes FOLDER/lockstep_VERSION_ARCHITECTURE.deb; default build/packages
#
# Install it with `apt-get install ./lockstep_*.deb`, which brings Open MPI and the libraries.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 0
fi
folder=${1:-build/packages}
scripts/build.sh release all
mkdir -p "$folder"
cpack --config build/release/CPackConfig.cmake -B "$folder"
rm -rf "$folder/_CPack_Packages"  # what the package was made of
