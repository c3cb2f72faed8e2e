"""Lets runs blow up in many ways and looks at what is left: 3 models x 8 learning rates x save intervals of 1 and 10,
each once from the beginning with a warm-up (so that it goes wrong slowly, at once, or not at all) and once after 20
good steps that are resumed with the learning rate. One newest checkpoint is kept, which is the hardest.

What is good is measured without the rule under test: a run of the same bits that is evaluated after every step. The
best is the lowest such loss of a state that the run saves or begins with; a state is good within 1.1 times of it; the
run blew up after the last good one. A finding is a run of which no good checkpoint is left, whose newest good one is
older than two save intervals before the blow-up, that keeps more than two files besides, or that ended with 5 and does
not go on well with a lower learning rate and --resume. All 96 take some minutes: --seconds 3600."""
import re
import statistics

from campaign import Campaign
from lockstep_runs import Job, Run, corpus, image_data

STEPS, GOOD_STEPS = 60, 20
RATES = (1e-3, 1e-2, 0.1, 1, 10, 1e3, 1e4, 1e6)
GOOD = 1.1  # times the best loss
COMMON = {"training.max_steps": STEPS, "training.global_batch_size": 64, "training.micro_batch_size": 32,
          "scheduler.name": "constant", "scheduler.warmup_steps": 40, "eval.batch_size": 64, "eval.max_batches": 4,
          "checkpoint.keep_last": 1, "logging.interval": 1, "logging.tensorboard": False}
EVALUATED = ("eval.interval=1", "checkpoint.save_interval=-1")


def models(folder):
    """Name, config and a learning rate at which it learns."""
    text = {"tokenizer.type": "char", "data.type": "text", "data.path": str(corpus(folder, 60_000)), "data.stride": 1,
            "data.shuffle": True}
    digits = {**image_data(folder, 1200), "data.train_range": [0, 900], "data.val_range": [900, 1200],
              "data.shuffle": True}
    yield "lenet", {**COMMON, **digits, "model.name": "lenet", "model.n_classes": 10, "optimizer.name": "sgd",
                    "optimizer.momentum": 0.9}, 0.02
    yield "gpt2", {**COMMON, **text, "model.name": "gpt2", "model.n_layer": 2, "model.n_head": 2, "model.n_embd": 32,
                   "model.block_size": 16, "optimizer.name": "adamw"}, 3e-3
    yield "llama", {**COMMON, **text, "model.name": "llama", "model.hidden_size": 32, "model.intermediate_size": 64,
                    "model.num_hidden_layers": 2, "model.num_attention_heads": 2, "model.num_key_value_heads": 1,
                    "model.max_position_embeddings": 16, "optimizer.name": "adamw",
                    "training.gradient_clip_norm": 1.0}, 3e-3


class Case:
    """One model, learning rate and way to begin; its runs have the same bits."""

    def __init__(self, folder, model, rate, resumed):
        self.name, config, self.good_rate = model
        self.name += f"{'-resumed' if resumed else ''}-{rate:g}"
        self.folder, self.first = folder, GOOD_STEPS if resumed else 0
        self.overrides = [f"optimizer.learning_rate={rate:g}"]
        good = [f"optimizer.learning_rate={self.good_rate:g}", "scheduler.warmup_steps=0"]
        begin = Run(folder, f"begin-{self.name}", config)
        begin.train(*good, f"training.max_steps={self.first}")
        self.begin = begin.checkpoint(self.first)
        self.resume = self.begin if resumed else None
        self.config = {**config, "scheduler.warmup_steps": 0} if resumed else config
        self.losses = {self.first: self.evaluate(self.begin)}
        reference = Run(folder, f"reference-{self.name}", self.config)
        self.code = reference.start(*self.overrides, *EVALUATED, resume=self.resume).wait().code
        for record in reference.metrics():
            if record["step"] > self.first and "eval/loss" in record:
                loss = record["eval/loss"]
                self.losses[record["step"]] = float("inf") if loss is None else loss

    def evaluate(self, path):
        outcome = Job(["eval", path], self.folder).wait()
        found = re.search(r"eval/loss: (\S+?),", outcome.out)
        if found is None:
            raise AssertionError(str(outcome))
        return float(found[1])

    def problems(self, interval):
        """What is wrong after a run that saves so often; and what there is to count."""
        saved = {step: loss for step, loss in self.losses.items()
                 if step in (self.first, STEPS) or step % interval == 0}
        best = min(saved.values())
        last_good = max(step for step, loss in saved.items() if loss <= GOOD * best)
        later = [step for step in self.losses if step > last_good]
        blow_up = min(later) if later else max(self.losses)
        run = Run(self.folder, f"run-{self.name}-{interval}", self.config)
        if self.resume:  # a resumed run has the checkpoint in its own folder
            run.train(f"optimizer.learning_rate={self.good_rate:g}", f"training.max_steps={self.first}")
        outcome = run.start(*self.overrides, f"checkpoint.save_interval={interval}",
                            resume="auto" if self.resume else None).wait()
        if outcome.code != self.code and not (outcome.code == 5 and self.code == 0):  # suspect at the end
            yield f"ended with {outcome.code}, the reference with {self.code}: {outcome.err[-300:]}"
        left = run.checkpoint_steps()
        good = [step for step in left if self.losses.get(step, float("inf")) <= GOOD * best]
        if not good:
            yield f"no good checkpoint is left: {left}; the last good was {last_good} of {blow_up}"
            return
        loss = self.evaluate(run.checkpoint(good[-1]))
        self.age, self.ratio = (blow_up - good[-1]) / interval, loss / best
        if loss > GOOD * best:
            yield f"step {good[-1]} has loss {loss}, the best is {best}"
        if self.age > 2:
            yield f"the newest good checkpoint is {good[-1]}, the run blew up at {blow_up}"
        if len(left) > 3:
            yield f"too many checkpoints are left: {left}"
        if outcome.code == 5:
            more = run.start(f"optimizer.learning_rate={self.good_rate:g}", "scheduler.warmup_steps=0",
                             f"training.max_steps={left[-1] + 5}", resume="auto").wait()
            begun = re.search(r"resuming from .* at step (\d+)", more.out)
            if more.code != 0 or begun is None:
                yield f"--resume ended with {more.code}: {more.text[-300:]}"
            elif int(begun[1]) not in good:
                yield f"--resume went on from step {begun[1]}, not from {good}"
            elif (loss := self.evaluate(run.path)) > GOOD * best:
                yield f"after --resume from step {begun[1]} the loss is {loss}, the best was {best}"


def main():
    campaign = Campaign(__doc__, seconds=25)
    cases = [(model, rate, resumed) for rate in RATES for resumed in (True, False) for model in models(campaign.folder)]
    # Those that go wrong at once, slowly and not at all take turns.
    cases = [case for first in range(5) for case in cases[first::5]]
    runs, ages, ratios, blown = 0, [], [], 0
    for _ in campaign.rounds(len(cases)):
        case = Case(campaign.folder, *cases[campaign.number])
        blown += case.code == 5
        for interval in (1, 10):
            case.age = case.ratio = None
            for problem in case.problems(interval):
                campaign.finding(f"{case.name}, save_interval {interval}: {problem}")
            runs += 1
            if case.age is not None:
                ages.append(case.age)
                ratios.append(case.ratio)
    campaign.end(f"{runs} runs ({2 * blown} ended with 5), {len(campaign.findings)} findings; the newest good checkpoint "
                 f"is at most {max(ages):.1f} save intervals older than the blow-up (median {statistics.median(ages):.1f}) "
                 f"and evaluates at most {max(ratios):.3f} times the best")


main()
