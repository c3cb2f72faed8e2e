"""Parity of beam search with one in Python by the rules of Hugging Face's BeamSearchScorer, which computes
everything again for each token in PyTorch, from the same trained weights: the same tokens and scores.

    python3 -B torch_beam_search_test.py LOCKSTEP MPIRUN; exit code 77: no PyTorch here
"""
import itertools
import json
import math
import sys
from pathlib import Path

try:
    import h5py
    import torch
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

from torch_generate_test import BLOCK, HEADS, LAYERS, WIDTH, gpt2_logits
from torch_text_parity_test import Llama, LENGTH

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Job, Run, corpus  # noqa: E402

STEPS, PROMPTS, NEW_TOKENS = 400, 12, 18
#: Where the reference decides by less, rounding may decide otherwise.
CLOSE_SCORES, CLOSE_CANDIDATES = 1e-4, 1e-5


class Reference:
    """`next_logits(tokens)` [V] of a list of tokens."""

    def __init__(self, next_logits):
        self.next_logits, self.known = next_logits, {}

    def log_probs(self, tokens):
        if tokens not in self.known:
            self.known[tokens] = self.next_logits(list(tokens)).float().log_softmax(-1)
        return self.known[tokens]

    def search(self, prompt, num_beams, length_penalty, early_stopping, max_new_tokens, end):
        """(score, new tokens, whether they ended) of the num_beams best, and the closest choice."""
        beams = [(0.0 if i == 0 else -1e9, ()) for i in range(num_beams)]
        finished, done, closest = [], False, math.inf

        def keep(total, tokens, length, ended):
            finished.append((total / length**length_penalty, tokens, ended))
            if len(finished) > num_beams:
                finished.remove(min(finished, key=lambda one: one[0]))

        for length in range(1, max_new_tokens + 1):
            scores = torch.stack([self.log_probs((*prompt, *tokens)) + total for total, tokens in beams])
            top = scores.flatten().topk(2 * num_beams + 1)
            candidates = [(total, *divmod(place, scores.shape[1]))
                          for total, place in zip(top.values.tolist(), top.indices.tolist())]
            real = [total for total, _, _ in candidates if total > -1e8]
            closest = min([closest, *(a - b for a, b in itertools.pairwise(real))])
            following = []
            for rank, (total, beam, token) in enumerate(candidates[:-1]):
                if token != end:
                    following.append((total, (*beams[beam][1], token)))
                elif rank < num_beams:
                    keep(total, beams[beam][1], length, True)
                if len(following) == num_beams:
                    break
            beams = following
            if len(finished) == num_beams:
                worst = min(score for score, _, _ in finished)
                done = early_stopping or worst >= candidates[0][0] / length**length_penalty
            if done:
                break
        if not done:
            for total, tokens in beams:
                keep(total, tokens, max_new_tokens, False)
        return sorted(finished, key=lambda one: -one[0]), closest


class TorchBeamSearch(EndToEndTest):
    def setUp(self):
        self.text = corpus(self.folder)
        self.alphabet = sorted(set(self.text.read_text()))

    def train(self, model):
        run = Run(self.folder, model["model.name"], {
            **model, "tokenizer.type": "char", "data.type": "text", "data.path": str(self.text),
            "training.global_batch_size": 8, "training.micro_batch_size": 8,
            "training.max_steps": STEPS, "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
            "logging.tensorboard": False,
        })
        run.train()
        with h5py.File(run.checkpoint(STEPS)) as file:
            return run, {name: torch.tensor(data[()]) for name, data in file["model"].items()}

    def queries(self):
        """All prompts of one length, which lockstep searches at once; a space ends a text, or nothing does."""
        text = self.text.read_text()
        prompts = [[self.alphabet.index(c) for c in text[place:place + 4]]
                   for place in range(1000, 1000 + 997 * PROMPTS, 997)]
        return [{"prompts": prompts, "num_beams": beams, "length_penalty": penalty,
                 "early_stopping": early_stopping, "max_new_tokens": NEW_TOKENS,
                 "vocab_size": len(self.alphabet), "end": end}
                for end in (self.alphabet.index(" "), self.alphabet.index("e"), None)
                for beams in (2, 4, 5)
                for penalty in (0.0, 1.0, 2.0, -1.0)
                for early_stopping in (False, True)]

    def compare(self, run, next_logits):
        queries = self.queries()
        file = self.folder / "queries.json"
        file.write_text(json.dumps(queries))
        outcome = Job([run.path, file], self.folder, program="bin/beam_search_command").wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        reference = Reference(next_logits)
        same, left_out, lengths = 0, 0, set()
        for query, answer in zip(queries, json.loads(outcome.out), strict=True):
            options = {name: query[name] for name in ("num_beams", "length_penalty", "early_stopping",
                                                      "max_new_tokens", "end")}
            for prompt, found in zip(query["prompts"], answer, strict=True):
                want, closest = reference.search(prompt, **options)
                if closest < CLOSE_CANDIDATES or want[0][0] - want[1][0] < CLOSE_SCORES:
                    left_out += 1
                    continue
                same += 1
                what = f"{options} after {prompt}"
                self.assertEqual((found[0]["tokens"], found[0]["ended"]), (list(want[0][1]), want[0][2]), what)
                for one, (score, _, _) in zip(found, want, strict=True):
                    self.assertAlmostEqual(one["score"], score, delta=1e-4 * max(1, abs(score)), msg=what)
                lengths.add(len(want[0][1]))
        print(f"\n    {same} searches, of which the best text had {min(lengths)} to {max(lengths)} tokens; "
              f"{left_out} left out")
        self.assertGreater(same, 9 * left_out)
        self.assertGreater(len(lengths), 8)

    def generated(self, run, prompt, *options):
        outcome = Job(["generate", run.path, "--prompt", prompt, *options], self.folder).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome

    def test_of_gpt2(self):
        run, weights = self.train({"model.name": "gpt2", "model.n_layer": LAYERS, "model.n_head": HEADS,
                                   "model.n_embd": WIDTH, "model.block_size": BLOCK, "model.dropout": 0.0})

        def next_logits(tokens):
            return gpt2_logits(weights, tokens)

        self.compare(run, next_logits)
        # The command prints the same texts, and ends where the context is full.
        prompt = [self.alphabet.index(c) for c in "the "]
        best, _ = Reference(next_logits).search(prompt, 3, 1.0, False, BLOCK - 4, None)
        texts = ["the " + "".join(self.alphabet[token] for token in tokens) for _, tokens, _ in best]
        outcome = self.generated(run, "the ", "--num-beams", "3")
        self.assertEqual((outcome.out, outcome.err), (
            texts[0] + "\n", "lockstep: warning: the model's context is full after 60 of 200 new tokens, where "
            "beam search ends\n"))
        outcome = self.generated(run, "the ", "--num-beams", "3", "--num-samples", "2", "--max-new-tokens", "60")
        self.assertEqual((outcome.out, outcome.err), (
            f"--- sample 1 of 2\n{texts[0]}\n--- sample 2 of 2\n{texts[1]}\n", ""))

    def test_of_llama(self):
        """With fewer heads of keys and values than of queries."""
        llama = Llama(len(self.alphabet), tied=False)
        run, weights = self.train(llama.config)

        def next_logits(tokens):
            batch = {"tokens": torch.tensor([tokens]), "attention_mask": torch.ones(1, len(tokens))}
            return llama.logits(weights, batch)[0, -1]

        self.assertGreaterEqual(LENGTH, 4 + NEW_TOKENS)
        self.compare(run, next_logits)


if __name__ == "__main__":
    lockstep_runs.main()
