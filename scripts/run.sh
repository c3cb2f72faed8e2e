#!/usr/bin/env bash
# Installs missing packages, builds, trains a small GPT on text for about a minute, prints a sample
# of its text, and resumes the run for a few more steps.
#
#   scripts/run.sh [TEXT_FILE] [key.path=value ...]
#
# Without TEXT_FILE the corpus is the licence texts that every Debian has. Each call starts a new
# run under runs/. RANKS=n sets the number of processes (2); key.path=value overrides a key of
# configs/gpt_quick.yaml, such as training.max_steps=100.
set -euo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }

fail() {
  echo "run.sh: $1" >&2
  exit "${2:-2}"
}

text=
overrides=()
for argument in "$@"; do
  case "$argument" in
    -h | --help) usage; exit 0 ;;
    [a-z]*.*=*) if [[ -e $argument ]]; then text=$argument; else overrides+=("$argument"); fi ;;
    *) [[ -z $text ]] || fail "one text file at a time, please: '$text' or '$argument'?"
       [[ -n $argument ]] || fail "the name of the text file is empty"
       text=$argument ;;
  esac
done
if [[ -n $text ]]; then
  [[ -e $text ]] || fail "text file '$text' does not exist" 3
  [[ ! -d $text ]] || fail "'$text' is a folder, not a text file" 3
  [[ -r $text ]] || fail "text file '$text' cannot be read by $(id -un)" 3
  [[ ! -f $text || -s $text ]] || fail "text file '$text' is empty" 3
  [[ $text == /* ]] || text=$PWD/$text
fi

ranks=${RANKS:-2}
[[ $ranks =~ ^[1-9][0-9]{0,3}$ ]] || fail "RANKS='$ranks' must be a number of processes, 1 or more"

cd "$(dirname "${BASH_SOURCE[0]}")/.."
lockstep=build/release/lockstep
corpus=runs/corpus.txt
start=$SECONDS

heading() { printf '\n== %s (%d s)\n' "$1" "$((SECONDS - start))"; }

prepare_corpus() {
  mkdir -p runs
  local sources=() file
  if [[ -n $text ]]; then
    sources=("$text")
  else
    for file in /usr/share/common-licenses/*; do  # the links among them are duplicates
      if [[ -f $file && ! -L $file ]]; then sources+=("$file"); fi
    done
    ((${#sources[@]} > 0)) || fail "no texts in /usr/share/common-licenses; name a text file" 3
  fi
  cat -- "${sources[@]}" >"$corpus.new"
  [[ -s $corpus.new ]] || fail "text file '$text' is empty" 3
  mv "$corpus.new" "$corpus"
  echo "$corpus: $(wc -c <"$corpus") bytes from ${#sources[@]} file(s)"
}

# A name that no earlier run has, so that every call trains from the beginning.
new_run_name() {
  local base name n=2
  base=quick-$(date +%Y%m%d-%H%M%S)
  name=$base
  while ! mkdir "runs/$name.lock" 2>/dev/null || [[ -e runs/$name ]]; do
    rmdir "runs/$name.lock" 2>/dev/null || true
    name=$base-$((n++))
  done
  rmdir "runs/$name.lock"
  echo "$name"
}

# OpenMPI counts physical cores, and refuses more ranks than that without --oversubscribe. By
# default it also pins all threads of a rank to one core, and does not start as root.
launch() {
  local options=(--bind-to none) cores
  cores=$(lscpu -p=CORE,SOCKET | grep -v '^#' | sort -u | wc -l)
  if ((ranks > cores || ranks > $(nproc))); then options+=(--oversubscribe); fi
  if [[ $(id -u) -eq 0 ]]; then options+=(--allow-run-as-root); fi
  mpirun -np "$ranks" "${options[@]}" "$@" </dev/null
}

train() {
  launch "$lockstep" train configs/gpt_quick.yaml "data.path=$corpus" run.dir=runs "run.name=$run" \
    "${overrides[@]}" "$@"
}

# The first word of the corpus: the tokenizer always has its characters.
first_word() {
  local LC_ALL=C.UTF-8 word
  read -r word _ < <(head -c 4096 "$corpus" | grep -a -m 1 '[^[:space:]]')
  printf '%s' "${word:0:20}"
}

last_step() {
  local newest
  newest=$(find "runs/$run/checkpoints" -name 'step-*.h5' | sort | tail -n 1)
  newest=${newest##*/step-}
  newest=${newest%.h5}
  [[ $newest =~ ^[0-9]+$ ]] || fail "the training left no checkpoint in runs/$run/checkpoints" 1
  echo $((10#$newest))
}

heading "packages"
scripts/install_deps.sh
heading "build"
scripts/build.sh release lockstep
heading "corpus"
prepare_corpus
run=$(new_run_name)
heading "training runs/$run with $ranks rank(s)"
train
heading "sample"
"$lockstep" generate "runs/$run" --prompt="$(first_word)"
more=$(($(last_step) + 50))
heading "resuming up to step $more"
train "training.max_steps=$more" --resume
heading "done"
cat <<TEXT
Go on with:
  $lockstep generate runs/$run --prompt "$(first_word)"
  $lockstep ckpt ls runs/$run
TEXT
