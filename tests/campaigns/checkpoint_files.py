"""Checkpoint files for campaigns: a small run that made some, and commands whose results are judged."""
import subprocess

import lockstep_runs
from lockstep_runs import Run, corpus, small_gpt

HANG_S = 60  # far above what any command on these files takes


def small_run(folder, **changes):
    """A config on a tiny GPT; every step's state is saved."""
    config = small_gpt(corpus(folder, 20_000), model__n_layer=1, model__n_embd=16, model__block_size=8,
                       training__max_steps=3, training__global_batch_size=4, scheduler__warmup_steps=1,
                       scheduler__decay_steps=10, checkpoint__save_interval=1, eval__interval=100,
                       eval__max_batches=1, **changes)
    return Run(folder, "run", config)


class End:
    """How a command ended."""

    def __init__(self, words, code, text):
        self.words, self.code, self.text = [str(word) for word in words], code, text

    def problem(self, codes, named):
        """What is wrong with it: a code that is none of `codes`, a process that lost control, an error 4 that does not
        say `named`. None if all is well."""
        command = " ".join(self.words)
        if self.code not in codes:
            return f"{command}: exit code {self.code}, not {codes}: {self.text[-600:]}"
        for words in lockstep_runs.LAST_WORDS:
            if words in self.text:
                return f"{command}: {words}: {self.text[-600:]}"
        if self.code == 4 and str(named) not in self.text:
            return f"{command}: the error does not name {named}: {self.text[-600:]}"
        return None


def run_lockstep(lockstep, words, **options):
    """Runs a command to its end, of which a hang is one: code "hangs"."""
    try:
        done = subprocess.run([lockstep, *map(str, words)], capture_output=True, timeout=HANG_S,
                              stdin=subprocess.DEVNULL, check=False, **options)
    except subprocess.TimeoutExpired:
        return End(words, "hangs", "")
    return End(words, done.returncode, (done.stdout + done.stderr).decode(errors="replace"))
