#!/usr/bin/env bash
# Trains on real data and prints how well the model learned: the figures at the top of
# configs/*.yaml.
#
#   scripts/learning.sh [--text FILE] [--digits IMAGES LABELS] [key.path=value ...]
#
# --text: configs/gpt_char.yaml, a character-level GPT (the published figure is for tinyshakespeare).
# --digits: configs/mnist_*.yaml, once each, on IDX files of 10,000 images (MNIST's test files); it
# runs bench/digits.py, which has more options. RANKS=n sets the number of processes for a text (2);
# key.path=value overrides a key, such as training.precision=bf16-mixed. It is not a part of the
# tests, which make their own data.
set -euo pipefail

usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }

fail() {
  echo "learning.sh: $1" >&2
  exit 2
}

text= images= labels= overrides=()
while (($# > 0)); do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --text) (($# > 1)) || fail "--text needs a file"; text=$(realpath -- "$2"); shift ;;
    --digits)
      (($# > 2)) || fail "--digits needs two files: images and labels"
      images=$(realpath -- "$2") labels=$(realpath -- "$3")
      shift 2
      ;;
    *.*=*) overrides+=("$1") ;;
    *) fail "unknown argument '$1'" ;;
  esac
  shift
done
[[ -n $text || -n $images ]] || { usage >&2; exit 2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/build.sh release lockstep >/dev/null
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

# learn CONFIG KEY [override...]: the values of KEY at the evaluations of the run.
learn() {
  local name=$1 key=$2 start=$SECONDS values
  shift 2
  mpirun -np "${RANKS:-2}" --bind-to none --oversubscribe --allow-run-as-root \
    build/release/lockstep train "configs/$name.yaml" "run.dir=$runs" "run.name=$name" "$@" "${overrides[@]}" \
    </dev/null >"$runs/$name.log" 2>&1 || { cat "$runs/$name.log" >&2; exit 1; }
  values=$(grep -oP "\"$key\": *\K[0-9.e-]+" "$runs/$name/metrics.jsonl" | tr '\n' ' ')
  echo "$name: $key ${values% } ($((SECONDS - start)) s)"
}

if [[ -n $text ]]; then learn gpt_char eval/loss "data.path=$text"; fi
if [[ -n $images ]]; then
  bench/digits.py "$images" "$labels" --models lenet,mlp,resnet20,vit --seeds 1 "${overrides[@]/#/--set=}"
fi
