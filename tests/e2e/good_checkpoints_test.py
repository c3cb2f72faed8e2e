"""Good checkpoints stay good: the files and the end of a run that goes wrong."""
import os
import re
import resource
import shutil
import signal
import struct

from lockstep_runs import EndToEndTest, Job, Run, _programs, corpus, main, small_gpt

ENDLESS = 1_000_000
#: Parameters explode in the first step; every later one is not finite.
EXPLODES = {"optimizer__learning_rate": 1e30, "training__on_nonfinite": "skip"}
#: What LOCKSTEP_DEBUG=2 says of a parameter, and of its mean of squares: how many elements lie where.
PLACE = re.compile(r"state: wpe\.weight has (\d+) f32 at 0x([0-9a-f]+)$", re.MULTILINE)
PLACE_OF_SQUARES = re.compile(r"state: exp_avg_sq\.wpe\.weight has (\d+) f32 at 0x([0-9a-f]+)$", re.MULTILINE)


def flip_bit(pid, place):
    """Of the first element that is not tiny: its highest bit below the exponent, which no update rounds away."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        count, address = int(place[1]), int(place[2], 16)
        memory.seek(address)
        values = memory.read(4 * count)
        element = next(i for i in range(count) if values[4 * i + 3] & 0x7F >= 0x3B)
        memory.seek(address + 4 * element + 2)
        memory.write(bytes([values[4 * element + 2] ^ 0x40]))


def flip_sign(pid, place):
    """Of the largest element."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        count, address = int(place[1]), int(place[2], 16)
        memory.seek(address)
        values = struct.unpack(f"<{count}f", memory.read(4 * count))
        element = max(range(count), key=values.__getitem__)
        memory.seek(address + 4 * element)
        memory.write(struct.pack("<f", -values[element]))


class GoodCheckpoints(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder, 20_000)

    def test_skipping_has_a_limit(self):
        run = Run(self.folder, "skips", small_gpt(self.text, **EXPLODES))
        for ranks in (None, 2):
            outcome = run.start("training.max_skipped_steps=7", ranks=ranks).wait()
            self.assert_fails(outcome, 5)
            for error in outcome.errors:
                self.assertRegex(
                    error, r"^(rank 1: )?step 7: loss nan and gradient norm -?nan are not finite; the "
                    r"update was left out: 7 steps in a row were skipped "
                    r"\(training\.max_skipped_steps: 7\), so the run no longer trains, and stops; ")

    def test_a_run_that_blows_up_keeps_its_good_checkpoint(self):
        run = Run(self.folder, "blown", small_gpt(self.text, checkpoint__keep_last=1))
        run.train("training.max_steps=10")
        good = run.hash(10)
        outcome = run.train("training.max_steps=20", "optimizer.learning_rate=1e30",
                            "training.on_nonfinite=skip", "training.max_skipped_steps=0",
                            "checkpoint.save_interval=2", ranks=2, resume="auto", expect=5)
        self.assertRegex(outcome.errors[0], r"^(rank 1: )?step 20: the largest parameter is "
                         r"\S+e\+\d\d, in the last good state it was \S+: the state was saved as "
                         r"\S+/step-00000020\.suspect\.h5 and is not a checkpoint; ")
        self.assertEqual(run.checkpoint_steps(), [10])
        self.assertEqual(run.hash(10), good)
        suspects = [path.name for path in (run.path / "checkpoints").glob("*.suspect.h5")]
        self.assertEqual(suspects, ["step-00000020.suspect.h5"], "one, outside the rotation")
        run.train("training.max_steps=12", resume="auto")
        self.assertEqual(run.checkpoint_steps(), [10, 12], "no step has shown yet that 12 is good")
        run.train("training.max_steps=14", "checkpoint.save_interval=1", resume="auto")
        self.assertEqual(run.checkpoint_steps(), [13, 14], "the run goes on from the good one")

    def test_the_last_good_checkpoint_outlives_a_blow_up_of_any_kind(self):
        """Learning rates of which the largest parameter is below 10,000, at the end at most; and above. One newest
        checkpoint is kept, and each save is in doubt."""
        begun = Run(self.folder, "begun", small_gpt(self.text))
        begun.train("training.max_steps=10")
        at_10 = shutil.copytree(begun.path, self.folder / "at_10")
        begun.train("training.max_steps=12", resume=begun.checkpoint(10))
        undisturbed = {step: begun.hash(step) for step in (10, 12)}

        def check(case):
            rate, interval, ranks = case
            run = Run(self.folder, f"rate{rate}-{interval}", small_gpt(self.text, checkpoint__keep_last=1))
            shutil.copytree(at_10, run.path)
            good = run.hash(10)
            self.assertEqual(good, undisturbed[10])
            outcome = run.start("training.max_steps=31", f"optimizer.learning_rate={rate}",
                                "training.gradient_clip_norm=0", f"checkpoint.save_interval={interval}", ranks=ranks,
                                resume="auto").wait()
            self.assertIn(outcome.code, (0, 5) if rate < 100 else (5,), str(outcome))
            steps = run.checkpoint_steps()
            self.assertEqual(steps[0], 10, f"of a learning rate of {rate}")
            self.assertEqual(run.hash(10), good)
            self.assertLessEqual(len(steps), 2)
            if rate == 3:
                self.assertIn("the state of step 10 is the newest that is known to be good, and its checkpoint is kept",
                              outcome.out)
            if outcome.code == 5:
                self.assertEqual(steps, [10])
                self.assertIn("; step 10 is the newest state that is known to be good, and --resume continues from it",
                              outcome.errors[0])
                more = run.train("training.max_steps=12", resume="auto")
                self.assertIn(f"resuming from {run.checkpoint(10)} at step 10", more.out)
                if interval == 1:  # else nothing was saved
                    self.assertRegex(more.out, r"ignored \S+\.suspect\.h5, which was set aside; --resume=")
            else:
                more = run.train("training.max_steps=12", resume=run.checkpoint(10))
                self.assertIn("the run goes back to step 10: set aside ", more.out)
            self.assertEqual(run.hash(12), undisturbed[12], "as if nothing had happened")

        self.at_once(check, (3, 1, None), (1000, 1, 2), (1000, 10, None))

    def test_a_run_that_is_bad_from_its_first_step_keeps_where_it_began(self):
        run = Run(self.folder, "first", small_gpt(self.text, scheduler__warmup_steps=0, checkpoint__keep_last=1))
        run.train("training.max_steps=0")
        untrained = run.hash(0)
        outcome = run.start("optimizer.learning_rate=1000", "checkpoint.save_interval=1").wait()
        self.assert_fails(outcome, 5)
        self.assertEqual(run.checkpoint_steps(), [0])
        self.assertEqual(run.hash(0), untrained)
        run.train("training.max_steps=3", resume="auto")
        # Begun elsewhere, it gets a copy of that.
        other = Run(self.folder, "elsewhere", small_gpt(self.text, checkpoint__keep_last=1))
        outcome = other.start("optimizer.learning_rate=1000", "checkpoint.save_interval=1",
                              resume=run.checkpoint(3)).wait()
        self.assert_fails(outcome, 5)
        self.assertEqual(other.checkpoint_steps(), [3])
        self.assertEqual(other.hash(3), run.hash(3))

    def test_parameters_that_are_not_finite_are_never_saved(self):
        # The update itself overflows: gradients and loss before it are finite.
        config = small_gpt(self.text, optimizer__learning_rate=3e38, optimizer__weight_decay=0,
                           scheduler__name="constant", training__on_nonfinite="skip",
                           checkpoint__save_interval=1)
        del config["scheduler.warmup_steps"], config["scheduler.decay_steps"]
        run = Run(self.folder, "overflow", config)
        outcome = run.start(ranks=2).wait()
        self.assert_fails(outcome, 5)
        for error in outcome.errors:
            self.assertRegex(error, r"^(rank 1: )?step 0: the update made a parameter that is not "
                             r"finite \(loss [\d.]+ and gradient norm [\d.]+\), and the run stops; ")
        self.assertEqual(run.checkpoint_steps(), [])

    def test_the_first_value_that_is_not_finite_is_named(self):
        run = Run(self.folder, "named", small_gpt(self.text, optimizer__learning_rate=1e30))
        errors = set()
        for ranks in (None, 4):
            outcome = run.start(ranks=ranks).wait()
            self.assert_fails(outcome, 5)
            errors |= {error.partition("step 1: ")[2].partition(";")[0]
                       for error in outcome.errors}
        self.assertEqual(len(errors), 1, "all ranks of all jobs say the same")
        self.assertRegex(errors.pop(), r"^first non-finite value: %h\.0\.ln_1 multiply "
                         r"f32\[2,32,48\] \(gpt2_decoder\.cpp:\d+\), micro-batch 0$")

    def test_only_the_master_needs_the_checkpoint(self):
        run = Run(self.folder, "master", small_gpt(self.text, training__max_steps=20))
        run.train()
        once = run.hash(20)
        homes = [self.folder / f"home{rank}" for rank in range(2)]
        for home in homes:
            home.mkdir()
        words = ["train", run.yaml, "run.dir=runs"]
        Job([*words, "training.max_steps=10"], self.folder, cwd=homes[0]).wait()
        both = [*words, "--resume"]
        outcome = Job([*both, ":", "-np", "1", "-wdir", homes[1], _programs["lockstep"], *both],
                      self.folder, ranks=1, cwd=homes[0]).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("resuming from runs/master/checkpoints/step-00000010.h5", outcome.out)
        self.assertEqual(run.hash(homes[0] / "runs/master/checkpoints/step-00000020.h5"), once)
        self.assertFalse((homes[1] / "runs/master/checkpoints").exists())
        evaluation = ["eval", "runs/master"]
        outcome = Job([*evaluation, ":", "-np", "1", "-wdir", homes[1], _programs["lockstep"],
                       *evaluation], self.folder, ranks=1, cwd=homes[0]).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("step: 20, eval/loss: ", outcome.out)

    def test_a_bit_flipped_before_a_save_is_never_sealed(self):
        config = small_gpt(self.text, checkpoint__save_interval=1, distributed__check_interval=10_000,
                           training__max_steps=ENDLESS, checkpoint__keep_last=100_000)
        runs = {}

        def check(damaged):
            run = Run(self.folder, f"flipped{damaged}", config)
            job = Job(run.words(), self.folder, 2, launcher=["-x", "LOCKSTEP_DEBUG=2"])
            log = run.path / f"logs/rank-{damaged}.log"
            job.wait_until(lambda: len(run.checkpoint_steps()) > 5 and log.exists(), "a few saves")
            pid = job.rank_pids()[damaged]
            os.kill(pid, signal.SIGSTOP)
            flip_bit(pid, PLACE.search(log.read_text()))
            os.kill(pid, signal.SIGCONT)
            outcome = job.wait()
            self.assert_fails(outcome, 7)
            self.assertRegex(outcome.err, "the ranks' states differ at step ")
            runs[damaged] = run

        self.at_once(check, 0, 1)
        good = Run(self.folder, "good", config)
        good.train(f"training.max_steps={max(run.checkpoint_steps()[-1] for run in runs.values())}")
        self.assertEqual(set(runs), {0, 1})
        for damaged, run in runs.items():
            steps = run.checkpoint_steps()
            for step in steps[-3:]:
                self.assertEqual(run.hash(step), good.hash(step), f"rank {damaged}, step {step} of {steps}")

    def test_a_parameter_that_is_not_finite_on_one_rank_before_an_evaluation(self):
        """The root of a negative mean of squares. No header of a next step tells the other rank."""
        config = small_gpt(self.text, training__max_steps=ENDLESS, eval__interval=1, eval__max_batches=1,
                           distributed__check_interval=10_000)
        run = Run(self.folder, "negative", config)
        job = Job(run.words(), self.folder, 2, launcher=["-x", "LOCKSTEP_DEBUG=2"])
        log = run.path / "logs/rank-1.log"
        job.wait_until(lambda: len(run.metrics()) > 5 and log.exists(), "a few steps")
        pid = job.rank_pids()[1]
        os.kill(pid, signal.SIGSTOP)
        flip_sign(pid, PLACE_OF_SQUARES.search(log.read_text()))
        os.kill(pid, signal.SIGCONT)
        outcome = job.wait()
        self.assert_fails(outcome, 7)
        for error in outcome.errors:
            self.assertRegex(error, "the ranks' states differ at step ")

    def test_a_kill_during_a_write_loses_nothing(self):
        run = Run(self.folder, "killed", small_gpt(self.text, checkpoint__save_interval=5))
        run.train()
        whole = run.hash(60)
        for kill, ranks in ((0, 2), (3, None)):
            job = run.start(f"training.max_steps={ENDLESS}", ranks=2)  # anew: the run before is moved aside
            job.wait_until(lambda: len(run.checkpoint_steps()) > kill and run.unfinished(),
                           "a write")
            job.signal_rank(0, signal.SIGKILL)
            job.wait()
            steps = run.checkpoint_steps()
            self.assertTrue(steps, "a committed checkpoint stays")
            run.train(ranks=ranks, resume="auto")
            self.assertEqual(run.hash(60), whole)
            self.assertEqual(run.unfinished(), [])

    def test_saves_on_the_way_change_no_bit(self):
        run = Run(self.folder, "bits", small_gpt(self.text, eval__interval=10,
                                                 checkpoint__keep_best=True, training__max_steps=20))
        run.train()
        once = run.hash(20)
        outcome = run.train("checkpoint.save_interval=1", ranks=2)
        self.assertEqual(run.hash(20), once)
        self.assertEqual(len(run.checkpoint_steps()), 20)
        self.assertEqual(outcome.out.count("saved "), 20)
        self.assertTrue(run.column("perf/checkpoint_stall_ms"))


class FailedSaves(EndToEndTest):
    def test_a_save_that_fails_in_the_background_ends_all_ranks(self):
        text = corpus(self.folder, 20_000)

        def check(ranks):
            run = Run(self.folder, f"fails{ranks}", small_gpt(text, checkpoint__save_interval=50,
                                                              training__max_steps=ENDLESS))
            job = run.start(ranks=ranks)
            job.wait_until(lambda: run.checkpoint_steps() == [50], "the first save")
            resource.prlimit(job.rank_pids()[0], resource.RLIMIT_FSIZE, (200_000, 200_000))
            outcome = job.wait()
            self.assert_fails(outcome, 4)
            steps = run.checkpoint_steps()
            message = (f"step {steps[-1] + 50}: cannot save the checkpoint "
                       rf"{re.escape(str(run.checkpoint(steps[-1] + 50)))}: cannot write ")
            self.assertRegex(outcome.errors[0], f"^(rank 1: )?{message}")
            self.assertEqual(len(re.findall(message, outcome.err)), ranks or 1, "every rank says it")
            self.assertEqual(run.unfinished(), [])
            self.assertEqual(self.lockstep("ckpt", "verify", run.path).code, 0)

        self.at_once(check, None, 2)


if __name__ == "__main__":
    main()
