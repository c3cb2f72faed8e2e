"""One hash: the final state has the same bits on any number of ranks, loader workers and device
threads, with any buckets, and after any sequence of kills and resumes."""
import itertools
import json
import re
import signal

import h5py

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, image_data, small_gpt, small_mlp

STEPS = 60  # the schedule ends with them
TINY_BUCKETS = "distributed.bucket_mb=0.01", "distributed.first_bucket_mb=0.005"
ENDLESS = "training.max_steps=1000000"  # of a run that is to be killed


def finish(test, run, config, *overrides, ranks=None):
    """Ends a run that was killed 20 steps after its last commit, as one that never was."""
    steps = f"training.max_steps={run.checkpoint_steps()[-1] + 20}"
    whole = Run(test.folder, "uninterrupted", config)
    whole.train(steps)
    run.train(steps, *overrides, ranks=ranks, resume="auto")
    test.assertEqual(run.checkpoint_steps()[-1], whole.checkpoint_steps()[-1])
    test.assertEqual(run.unfinished(), [])
    test.assertEqual(run.hash(), whole.hash())
    test.assertEqual(run.column("train/loss"), whole.column("train/loss"))


class OneHashOfGpt(EndToEndTest):
    """GPT with dropout, active clipping, a warm-up and 8 micro-batches a step: 2 of them on each of 4 ranks."""

    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = small_gpt(corpus(cls.folder), training__max_steps=STEPS)
        cls.reference = Run(cls.folder, "reference", cls.config)
        cls.reference.train()
        cls.hash = cls.reference.hash()
        cls.on_2_ranks = Run(cls.folder, "ranks_2", cls.config)
        cls.on_2_ranks.train(ranks=2)

    def run_of(self, name):
        return Run(self.folder, name, self.config)

    def assert_same(self, name, *overrides, ranks=None):
        run = self.run_of(name)
        run.train(*overrides, ranks=ranks)
        self.assert_is_reference(run)
        return run

    def assert_is_reference(self, run):
        self.assertEqual(run.checkpoint_steps()[-1], STEPS)
        self.assertEqual(run.hash(), self.hash)
        self.assertEqual(run.column("train/loss"), self.reference.column("train/loss"))

    def test_the_reference_is_worth_comparing(self):
        losses = self.reference.column("train/loss")
        self.assertEqual(self.reference.column("step"), list(range(1, STEPS + 1)))
        self.assertLess(sum(losses[-5:]) / 5, losses[0] - 0.8, "the loss does not fall")
        clip = self.config["training.gradient_clip_norm"]
        self.assertGreater(min(self.reference.column("grad_norm")), clip, "clipping is not active")
        untrained = self.run_of("untrained")
        untrained.train("training.max_steps=0")
        self.assertEqual(untrained.checkpoint_steps(), [0])
        other_seed = self.run_of("other_seed")
        other_seed.train("run.seed=7")
        without_dropout = self.run_of("without_dropout")
        without_dropout.train("model.dropout=0")
        hashes = {self.hash, untrained.hash(), other_seed.hash(), without_dropout.hash()}
        self.assertEqual(len(hashes), 4, "the hash does not tell states apart")

    def test_2_ranks(self):
        self.assert_is_reference(self.on_2_ranks)

    def test_1_rank_under_mpirun_with_4_loader_workers(self):
        self.assert_same("workers", "data.loader_workers=4", "data.loader_prefetch_size=3", ranks=1)

    def test_2_device_threads_and_a_deep_queue_with_tiny_buckets(self):
        self.assert_same("threads", "device.threads=2", "device.queue_depth=4",
                         "data.host_to_device_transfer_threads=2", *TINY_BUCKETS, ranks=2)

    def test_messages(self):
        self.assert_same("messages", "distributed.allreduce=mpi", *TINY_BUCKETS, ranks=2)

    def test_4_ranks_with_shared_memory_without_overlap(self):
        self.assert_same("memory", "distributed.allreduce=shm", "distributed.overlap=false", *TINY_BUCKETS, ranks=4)

    def test_blocks_that_are_computed_again_in_less_memory(self):
        again = "model.gradient_checkpointing=true"
        run = self.assert_same("again", again, ranks=2)
        foreseen = []
        for overrides in ([], [again]):
            outcome = Job([*run.words(overrides), "--dry-run"], self.folder, 2).wait()
            self.assertEqual(outcome.code, 0, outcome)
            foreseen.append(int(re.search(r"\n  total .*\((\d+) bytes\)\n", outcome.out)[1]))
        self.assertLess(foreseen[1], foreseen[0])
        self.assertEqual(max(run.column("memory/peak_bytes")), foreseen[1])
        self.assertEqual(max(self.on_2_ranks.column("memory/peak_bytes")), foreseen[0])

    def test_resumed_on_another_number_of_ranks(self):
        run = self.run_of("moved")
        for ranks, steps in ((2, 20), (4, 40), (1, STEPS)):
            run.train(f"training.max_steps={steps}", ranks=ranks, resume="auto")
        self.assertEqual(run.checkpoint_steps(), [20, 40, STEPS])
        self.assert_is_reference(run)

    def test_bf16(self):
        """The same in mixed precision; what is saved is f32."""
        reference = self.run_of("bf16_reference")
        reference.train("training.precision=bf16-mixed")
        self.assertNotEqual(reference.hash(), self.hash)
        moved = self.run_of("bf16_moved")
        for ranks, steps, overrides in ((4, 20, TINY_BUCKETS), (2, 40, ["device.threads=2"]), (None, STEPS, [])):
            moved.train("training.precision=bf16-mixed", f"training.max_steps={steps}", *overrides, ranks=ranks,
                        resume="auto")
        self.assertEqual(moved.hash(), reference.hash())
        self.assertEqual(moved.column("train/loss"), reference.column("train/loss"))

    def test_killed_and_resumed(self):
        run = self.run_of("killed")
        job = run.start(ENDLESS, "checkpoint.save_interval=-1", ranks=2, resume="auto")
        job.wait_until(lambda: len(run.metrics()) >= 2, "a step")
        self.kill(run, job, "rank 1")
        self.assertEqual(run.checkpoint_steps(), [], "meant to be before the first commit")
        self.kill_during_a_save(run)
        for victim in ("rank 0", "mpirun"):  # rank 1: OneHashOfAverages
            before = run.checkpoint_steps()
            job = run.start(ENDLESS, "checkpoint.save_interval=5", ranks=2, resume="auto")
            job.wait_until(lambda: run.checkpoint_steps() > before, "a commit")
            self.kill(run, job, victim)
            self.assertNotEqual(run.checkpoint_steps(), [], "meant to be after a commit")
        finish(self, run, self.config, "checkpoint.save_interval=5", ranks=2)

    def kill_during_a_save(self, run):
        """A few attempts, since a save of this model takes some milliseconds only."""
        for _ in range(5):
            job = run.start(ENDLESS, "checkpoint.save_interval=5", ranks=2, resume="auto")
            job.wait_until(run.unfinished, "a save")
            self.kill(run, job, "rank 0")
            if run.unfinished():
                return
        self.fail("no kill hit a save")

    def kill(self, run, job, victim):
        if victim == "mpirun":
            job.kill_launcher()
            expected = -signal.SIGKILL
        else:
            job.signal_rank(int(victim[-1]), signal.SIGKILL)
            expected = 128 + signal.SIGKILL
        self.assertEqual(job.wait().code, expected)
        commits = run.checkpoint_steps()
        phase = f"after the commit of step {commits[-1]}" if commits else "before the first commit"
        saving = ", during a save" if run.unfinished() else ""
        print(f"    killed {victim} {phase}{saving}; {len(run.metrics())} steps logged")


class OneHashOfImages(EndToEndTest):
    kill_after_s = 0

    def moved(self, name, config, least, *overrides):
        """A run that is killed on 2 ranks with 4 loader workers and goes on with 4 ranks, then with the overrides alone
        until step `least` at least, is what it is alone: the run alone, and its steps."""
        moved, whole = (Run(self.folder, f"{name}_{which}", config) for which in ("moved", "whole"))
        interval = config["checkpoint.save_interval"]
        steps = moved.kill_a_rank("data.loader_workers=4")
        for ranks, more in ((4, ()), (None, overrides)):
            steps = steps + interval if ranks else max(steps + interval, least)
            moved.train(f"training.max_steps={steps}", *more, ranks=ranks, resume="auto")
        whole.train(f"training.max_steps={steps}")
        self.assertEqual(moved.checkpoint_steps()[-1], steps)
        self.assertEqual(moved.unfinished(), [])
        self.assertEqual(moved.hash(), whole.hash())
        self.assertEqual(len(whole.column("train/loss")), steps)
        self.assertEqual(moved.column("train/loss"), whole.column("train/loss"))
        return whole, steps


class OneHashOfLenet(OneHashOfImages):
    """Convolutions and pooling; SGD with momentum."""

    CONFIG = {
        "model.name": "lenet",
        "training.global_batch_size": 32, "training.micro_batch_size": 4,
        "training.gradient_clip_norm": 0.5,
        "optimizer.name": "sgd", "optimizer.momentum": 0.9, "optimizer.learning_rate": 0.04,
        "checkpoint.save_interval": 10, "checkpoint.keep_last": 100_000,
        "logging.interval": 1, "logging.tensorboard": False,
    }

    def test_ranks_threads_workers_kill_and_seed(self):
        config = self.CONFIG | image_data(self.folder)
        whole, steps = self.moved("lenet", config, 50, "device.threads=2", "distributed.bucket_mb=0.01")
        losses = whole.column("train/loss")[:50]
        # 0.81 to 0.91 of the first, over 4 seeds.
        self.assertLess(sum(losses[-10:]) / 10, 0.95 * losses[0], "the loss does not fall")
        self.assertGreater(sum(norm > 0.5 for norm in whole.column("grad_norm")[:50]), 5)
        self.assertNotEqual(whole.hash(), whole.hash(10))
        other_seed = Run(self.folder, "other_seed", config)
        other_seed.train(f"training.max_steps={steps}", "run.seed=7")
        self.assertNotEqual(other_seed.hash(), whole.hash())


class OneHashOfOptimizers(EndToEndTest):
    """Every optimizer and every schedule, with averages, or with frozen parameters and groups: of 1, 2 and 4 ranks, and
    killed behind a save and resumed on another number of them."""

    kill_after_s = 0

    STEPS = 8
    AVERAGES = {"training.ema": 0.8}
    GROUPS = {"model.freeze": ["layers.0.weight"],
              "optimizer.groups": [{"match": "*.bias", "learning_rate": 0.01, "weight_decay": 0}]}
    DECAY = {"scheduler.warmup_steps": 2, "scheduler.decay_steps": STEPS}
    CASES = [
        {"optimizer.name": "adamw", "scheduler.name": "linear", **DECAY},
        {"optimizer.name": "adam", "scheduler.name": "one_cycle", "scheduler.decay_steps": STEPS, **AVERAGES},
        {"optimizer.name": "sgd", "optimizer.momentum": 0.9, "scheduler.name": "inverse_sqrt",
         "scheduler.warmup_steps": 2, **GROUPS},
        {"optimizer.name": "sgd", "optimizer.momentum": 0.9, "optimizer.nesterov": True, "scheduler.name": "step",
         "scheduler.milestones": [3, 6], **AVERAGES},
        {"optimizer.name": "lion", "scheduler.name": "wsd", "scheduler.cooldown_steps": 4, **DECAY, **GROUPS},
        {"optimizer.name": "lamb", "scheduler.name": "polynomial", "scheduler.power": 2, **DECAY, **AVERAGES},
    ]
    #: Of the tests of this file that kill GPTs, LeNet and averages.
    SCHEDULES_ELSEWHERE = {"cosine", "constant", "plateau"}

    def test_all_are_here(self):
        outcome = self.lockstep("reference")
        self.assertEqual(outcome.code, 0, outcome)
        choices = {key["path"]: set(key["type"].removeprefix("one of ").split(", "))
                   for key in json.loads(outcome.out)["config"]}
        self.assertEqual({case["optimizer.name"] for case in self.CASES}, choices["optimizer.name"])
        self.assertEqual({case["scheduler.name"] for case in self.CASES} | self.SCHEDULES_ELSEWHERE,
                         choices["scheduler.name"])

    def test_ranks_and_kills(self):
        hashes = set()
        for number, case in enumerate(self.CASES):
            with self.subTest(**case):
                config = small_mlp(optimizer__weight_decay=0.1, training__max_steps=self.STEPS,
                                   checkpoint__save_interval=3, checkpoint__keep_last=100) | case
                alone = Run(self.folder, f"alone_{number}", config)
                alone.train()
                hashes.add(alone.hash())
                # In each case 1, 2 and 4 ranks have a part in the result.
                whole, before, behind = ((2, None, 4), (4, 2, None))[number % 2]
                other = Run(self.folder, f"whole_{number}", config)
                other.train(ranks=whole)
                self.assertEqual(other.hash(self.STEPS), alone.hash())
                self.assertEqual(other.column("lr"), alone.column("lr"))
                killed = Run(self.folder, f"killed_{number}", config)
                self.kill_behind_the_first_save(killed, before)
                resumed = killed.train(ranks=behind, resume="auto")
                self.assertIn("at step 3", resumed.out)
                self.assertEqual(killed.hash(self.STEPS), alone.hash())
        self.assertEqual(len(hashes), len(self.CASES))

    def kill_behind_the_first_save(self, run, ranks):
        job = run.start(ENDLESS, ranks=ranks)
        job.wait_until(run.checkpoint_steps, "a commit")
        if ranks is None:
            job.process.kill()
        else:
            job.signal_rank(1, signal.SIGKILL)
        self.assertIn(job.wait().code, (-signal.SIGKILL, 128 + signal.SIGKILL))
        for step in run.checkpoint_steps()[1:]:  # it may have gone on for a while
            run.checkpoint(step).unlink()


class OneHashOfThreads(EndToEndTest):
    """More threads than there are cores: a product is divided by its sizes, whoever computes its parts."""

    kill_after_s = 0

    def test_as_many_threads_as_asked(self):
        # Wide enough that products, reductions and elementwise work are divided among threads.
        config = small_gpt(corpus(self.folder, 30_000), model__n_layer=1, model__n_embd=128, model__n_head=4,
                           model__block_size=64, training__micro_batch_size=4, training__max_steps=4)
        hashes = {}
        for threads, ranks in ((1, None), (2, None), (16, None), (64, None), (16, 2)):
            run = Run(self.folder, f"threads_{threads}_{ranks}", config)
            run.train(f"device.threads={threads}", ranks=ranks)
            life, = json.loads((run.path / "history.json").read_text())["lives"]
            self.assertEqual(life["threads"], threads, "as many as asked, whatever cores there are")
            hashes[threads, ranks] = run.hash()
        self.assertEqual(len(set(hashes.values())), 1, hashes)


class OneHashOfAverages(EndToEndTest):
    """Averages of weights, groups, and a learning rate that follows evaluations of the averages."""

    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = small_gpt(corpus(cls.folder), model__n_layer=1, model__n_embd=16, model__block_size=16,
                           training__max_steps=20, training__ema=0.9, optimizer__learning_rate=0.03)
        cls.config = {key: value for key, value in config.items() if not key.startswith("scheduler.")} | {
            "optimizer.groups": [{"match": ["*.bias", "*.ln_[12].*"], "learning_rate": 0.01},
                                 {"match": "wte.*", "weight_decay": 0.5}],
            "scheduler.name": "plateau", "scheduler.warmup_steps": 5, "scheduler.patience": 0,
            "scheduler.factor": 0.5, "scheduler.threshold": 0.3,
            "eval.interval": 4, "eval.max_batches": 2, "checkpoint.save_interval": 2}
        cls.reference = Run(cls.folder, "reference", cls.config)
        cls.reference.train()

    def test_ranks_kill_and_resume(self):
        self.assertGreater(len(set(self.reference.column("lr"))), 6, "the rate does not fall")
        moved, whole = (Run(self.folder, name, self.config) for name in ("moved", "whole"))
        steps = moved.kill_a_rank() // 4 * 4  # of 2
        for count in (4, None):
            steps += 4  # behind an evaluation, as each end of a run is
            moved.train(f"training.max_steps={steps}", ranks=count, resume="auto")
        whole.train(f"training.max_steps={steps}")
        self.assertEqual(moved.unfinished(), [])
        for key in ("train/loss", "lr", "eval/loss"):
            self.assertEqual(moved.column(key), whole.column(key))
        self.assertGreaterEqual(len(whole.column("eval/loss")), 2)
        self.assertEqual(moved.hash(steps), whole.hash(steps))

    def test_commands_take_the_averages(self):
        def evaluated(*options):
            outcome = self.lockstep("eval", self.reference.path, *options)
            self.assertEqual(outcome.code, 0, outcome)
            return float(re.search(r"eval/loss: ([0-9.]+)", outcome.out)[1])

        last = self.reference.column("eval/loss")[-1]
        self.assertAlmostEqual(evaluated("--ema"), last, places=6)
        self.assertGreater(abs(evaluated() - last), 1e-4)
        for options, name in (([], "model"), (["--ema"], "optimizer/ema")):
            target = self.folder / f"exported{len(options)}"
            self.assertEqual(self.lockstep("export", self.reference.path, "--to", target, *options).code, 0)
            with h5py.File(self.reference.checkpoint(20)) as file:
                value = file[name]["wte.weight"][()].tobytes()
            self.assertIn(value, (target / "model.safetensors").read_bytes())
        generated = self.lockstep("generate", self.reference.path, "--prompt", "a", "--max-new-tokens", "3", "--ema")
        self.assertEqual(generated.code, 0, generated)
        plain = Run(self.folder, "plain", small_mlp(training__max_steps=0))
        plain.train()
        refused = self.lockstep("eval", plain.path, "--ema")
        self.assertEqual(refused.code, 2, refused)
        self.assertIn("--ema takes averaged weights, which this run did not keep (training.ema)", refused.text)

    def test_memory_is_foreseen(self):
        in_bf16 = Run(self.folder, "bf16", self.config | {"training.precision": "bf16-mixed"})
        in_bf16.train("training.max_steps=8")
        for run in (self.reference, in_bf16):
            with self.subTest(run=run.name):
                outcome = self.lockstep(*run.words(), "--dry-run")
                self.assertEqual(outcome.code, 0, outcome)
                foreseen = int(re.search(r"\n  total .*\((\d+) bytes\)\n", outcome.out)[1])
                self.assertEqual(max(run.column("memory/peak_bytes")), foreseen)


class OneHashOfAugmentedImages(OneHashOfImages):
    """A ViT with dropout, and a ResNet with its running statistics, on images that are shifted and mixed."""

    CONFIG = {
        "training.global_batch_size": 16, "training.micro_batch_size": 4,
        "training.gradient_clip_norm": 1.0, "optimizer.learning_rate": 0.01,
        "checkpoint.save_interval": 5, "checkpoint.keep_last": 100_000,
        "data.shift": 2, "data.mixup": 0.2, "data.label_smoothing": 0.1,
        "logging.interval": 1, "logging.tensorboard": False,
    }

    def check(self, model, statistics, *equal):
        """`equal`: of the model, what must not change a bit."""
        config = self.CONFIG | model | image_data(self.folder)
        name = model["model.name"]
        whole, steps = self.moved(name, config, 20, "device.threads=2", *equal)
        self.assertNotEqual(whole.hash(), whole.hash(5))
        with h5py.File(whole.checkpoint(steps)) as file:
            self.assertEqual([int(file[f"model/{name}"][()]) for name in statistics], [steps] * len(statistics))
        plain = Run(self.folder, f"{name}_plain", config)
        plain.train(f"training.max_steps={steps}", "data.shift=0")
        self.assertNotEqual(plain.hash(), whole.hash())

    def test_vit(self):
        self.check({"model.name": "vit", "model.image_size": 28, "model.patch_size": 7, "model.num_channels": 1,
                    "model.num_labels": 10, "model.hidden_size": 16, "model.num_hidden_layers": 2,
                    "model.num_attention_heads": 2, "model.intermediate_size": 24, "model.dropout": 0.1}, [],
                   "model.gradient_checkpointing=true")

    def test_resnet(self):
        self.check({"model.name": "resnet", "model.image_size": 28, "model.num_channels": 1, "model.n_classes": 10,
                    "model.width": 8, "model.depths": [1, 1, 1], "model.stem": "cifar", "optimizer.name": "sgd",
                    "optimizer.momentum": 0.9, "optimizer.weight_decay": 1e-4}, ["bn1.num_batches_tracked"])


if __name__ == "__main__":
    lockstep_runs.main()
