#!/usr/bin/env bash
# Installs the Debian 12 packages that lockstep needs.
#
#   scripts/install_deps.sh           packages for building and running
#   scripts/install_deps.sh --tests   also packages for tests only
#   scripts/install_deps.sh --list    print the package names instead (combines with --tests)
#
# Uses neither apt nor the network if everything is already installed.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build ccache pkg-config python3
  openmpi-bin libopenmpi-dev
  libdnnl-dev llvm-19-dev
  libboost-dev libboost-program-options-dev libboost-context-dev
  libhdf5-dev libprotobuf-dev protobuf-compiler libyaml-cpp-dev nlohmann-json3-dev
  libspdlog-dev libfmt-dev
  librandom123-dev libxxhash-dev libssl-dev zlib1g-dev libpcre2-dev libicu-dev
  libpng-dev libjpeg62-turbo-dev
  libhwloc-dev
  node-d3  # draws reports
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
)
test_packages=(
  python3-torch libopenblas0-openmp python3-nltk  # peers for numerical parity
  chromium chromium-driver python3-selenium  # a browser for reports
  python3-numpy python3-h5py hdf5-tools  # independent readers of lockstep's files
  python3-simgrid  # a peer for simulated networks
  python3-scipy  # fits the constants of the cost model
  python3-pil  # another reader of images
  iproute2 mount  # hosts of tests that span nodes
  slurm-wlm munge  # their scheduler
  doxygen  # the C++ reference
  mmdebstrap dpkg-dev  # a fresh Debian for the package
  man-db groff zsh  # read man pages and completions
  procps git clang-format clang-tidy-19
)

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }

fail() {
  echo "install_deps.sh: $1" >&2
  exit 1
}

list=false
packages=("${build_packages[@]}")
for argument in "$@"; do
  case "$argument" in
    --tests) packages+=("${test_packages[@]}") ;;
    --list) list=true ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install_deps.sh: unknown argument '$argument'" >&2; usage >&2; exit 2 ;;
  esac
done

if $list; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

os_release=${LOCKSTEP_OS_RELEASE:-/etc/os-release}  # overridden by tests
os_id=$(. "$os_release" 2>/dev/null && echo "${ID:-unknown}") || os_id=unknown
os_version=$(. "$os_release" 2>/dev/null && echo "${VERSION_ID:-}") || os_version=
if [[ $os_id != debian ]] || ! command -v dpkg-query >/dev/null; then
  fail "lockstep supports Debian 12; this system is '$os_id $os_version'.
Install the counterparts of these packages yourself, then build with
\`cmake --preset release && cmake --build --preset release\`:
  ${packages[*]}"
fi

missing=()
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "all ${#packages[@]} packages are installed"
  exit 0
fi

if [[ $os_version != 12 ]]; then
  echo "install_deps.sh: warning: lockstep is built on Debian 12; this is Debian ${os_version:-unstable}" >&2
fi

as_root=(env)
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || fail "these packages are missing, and installing them needs root or sudo:
  ${missing[*]}"
  sudo true || fail "sudo was refused; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo env)
fi

apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
    apt-get -y -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" </dev/null
}

# `apt-get update` does not wait for the lock of another apt process that updates its lists.
update() {
  local attempt
  for attempt in 1 2 3 4 5 6; do
    apt update && return 0
    echo "install_deps.sh: apt-get update failed (attempt $attempt of 6)" >&2
    sleep 10
  done
  return 1
}

echo "installing: ${missing[*]}"
update || fail "apt-get update failed; see its messages above"
apt install --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed; see its messages above. Wanted: ${missing[*]}"
