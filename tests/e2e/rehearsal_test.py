"""What a job can rehearse in virtual time: slow links, ranks that share a device, and deaths, from which `lockstep
launch` restarts it. Training keeps its bits."""
import json

from lockstep_runs import EndToEndTest, Run, corpus, main, small_gpt

DEVICE = "a100-sxm4-80gb"
STEP_MS = 2  # of the host: all else of a step hides behind it


def config(folder, **changes):
    return small_gpt(corpus(folder), **{"device__profile": DEVICE, "device__host__time": "stated",
                                        "training__max_steps": 20, **changes})


class Links(EndToEndTest):
    together = True

    def run_of(self, name, *words, ranks=4, **changes):
        run = Run(self.folder, name, config(self.folder, training__max_steps=6, checkpoint__save_interval=-1, **changes))
        run.train(*words, ranks=ranks)
        return run

    def test_a_slow_link_slows_the_rings_over_links_of_its_kind(self):
        words = ["distributed.simulated_nodes=2"]
        plain = self.run_of("plain", *words)
        within = self.run_of("within", *words, 'device.simulate=["link=0,1 bandwidth=0.01 steps=3:4"]')
        between = self.run_of("between", *words, 'device.simulate=["link=1,2 bandwidth=0.01 steps=3:4"]')
        steps = {run.name: run.column("sim/step_ms") for run in (plain, within, between)}
        for name in ("within", "between"):
            self.assertEqual([steps[name][i] > steps["plain"][i] for i in (1, 2, 3, 4, 5)], [False, False, True, True, False], name)
            self.assertEqual(steps[name][3], steps[name][4])
        # The network is slower than links within a node, so that a hundredth of it takes longer.
        self.assertGreater(steps["between"][3], steps["within"][3])

    def test_ranks_can_share_a_device(self):
        alone = self.run_of("alone", ranks=2)
        shared = self.run_of("two_a_device", "distributed.simulated_ranks_per_device=2", ranks=2)
        ratio = shared.column("sim/step_ms")[-1] / alone.column("sim/step_ms")[-1]
        # Twice the commands, and no all-reduce over a link.
        self.assertTrue(1.2 < ratio < 2, ratio)
        outcome = self.lockstep("train", shared.yaml, "distributed.simulated_ranks_per_device=2", "--dry-run")
        self.assertEqual(outcome.code, 2)
        self.assertIn("1 ranks cannot stand for devices on 1 nodes, 2 a device", outcome.err)


class Deaths(EndToEndTest):
    together = True
    WORDS = ["checkpoint.save_interval=5", f"device.host.step_ms={STEP_MS}", "device.host.save_ms=5"]

    def launch(self, run, *words, ranks=2, restarts=3):
        return self.lockstep("launch", "-n", ranks, "--max-restarts", restarts, "--",
                             *run.words([*self.WORDS, *words]))

    def events(self, run):
        return json.loads((run.path / "virtual_time.json").read_text())["events"]

    def test_a_job_dies_and_trains_on(self):
        plain = Run(self.folder, "plain", config(self.folder))
        plain.train("checkpoint.save_interval=5")
        run = Run(self.folder, "dies", config(self.folder))
        outcome = self.launch(run, 'device.simulate=["rank=1 dies_at_step=8", "rank=0 dies_at_step=17", '
                                   '"detection_s=0.004 restart_s=0.006"]')
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(run.hash(), plain.hash())
        self.assertIn("restart 2 of 3, from the last checkpoint", outcome.text)
        # A step takes 2 ms. The save of step 5 is written before the death at step 8, that of step 15, 5 ms
        # behind it, is not by step 17: the job goes back to step 10.
        events = self.events(run)
        self.assertEqual([(e["event"], e["step"]) for e in events],
                         [("began", 0), ("saved", 5), ("died", 8), ("began", 5), ("saved", 10), ("died", 17),
                          ("began", 10), ("saved", 15), ("saved", 20), ("ended", 20)])
        self.assertIn("not written by the time of the death: set aside", outcome.text)
        for died, began in ((2, 3), (5, 6)):
            self.assertEqual(events[began]["at_ns"] - events[died]["at_ns"], 10_000_000)
        self.assertAlmostEqual(events[2]["at_ns"], 8 * STEP_MS * 1e6, delta=2e6)
        # Lost is what came behind the states of steps 5 and 10, the pauses for their copies included.
        total = events[-1]["at_ns"]
        lost = sum(events[died]["at_ns"] - events[saved]["state_ns"] for saved, died in ((1, 2), (4, 5)))
        pauses = sum(e["pause_ns"] for e in events if e["event"] == "saved" and e["step"] in (15, 20))
        kept = total - lost - pauses - 20_000_000
        self.assertRegex(outcome.out, rf"virtual time of the job, with 2 deaths: .*steps that were kept {100 * kept / total:.1f} % "
                                      rf"\(goodput\), .*steps done again {100 * lost / total:.1f} %")
        # Replayed from the same words, all happens at the same time.
        again = Run(self.folder, "again", config(self.folder))
        self.launch(again, 'device.simulate=["rank=1 dies_at_step=8", "rank=0 dies_at_step=17", '
                           '"detection_s=0.004 restart_s=0.006"]')
        self.assertEqual(self.events(again), events)

    def test_a_death_before_the_first_save_begins_anew(self):
        run = Run(self.folder, "early", config(self.folder))
        outcome = self.launch(run, 'device.simulate=["rank=1 dies_at_step=2"]', "training.max_steps=6")
        self.assertEqual(outcome.code, 0, outcome)
        events = self.events(run)
        self.assertEqual([(e["event"], e["step"]) for e in events[:3]], [("began", 0), ("died", 2), ("began", 0)])
        self.assertEqual(events[2]["at_ns"], events[1]["at_ns"])
        self.assertEqual(events[-1]["event"], "ended")

    def test_a_death_that_never_comes_is_said(self):
        run = Run(self.folder, "never", config(self.folder))
        outcome = run.train('device.simulate=["rank=0 dies_at_step=50"]', "training.max_steps=3")
        self.assertIn("rank 0 was to die before step 50, and the run ended after step 3", outcome.text)

    def test_a_damaged_journal_is_refused(self):
        run = Run(self.folder, "damaged", config(self.folder))
        words = ['device.simulate=["rank=0 dies_at_step=50"]', "training.max_steps=3"]
        run.train(*words)
        (run.path / "virtual_time.json").write_text('{"format": "lockstep virtual time", "version": 1, "events": [{"event": "flew"}]}')
        outcome = run.train(*words, "training.max_steps=5", resume="auto", expect=2)
        self.assertIn("there is no event 'flew'", outcome.err)

    def test_foresee_knows_no_deaths(self):
        run = Run(self.folder, "asked", config(self.folder))
        outcome = self.lockstep("foresee", run.yaml, "--device", DEVICE, "--simulate", "rank=0 dies_at_step=5")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("--simulate knows no deaths", outcome.err)


if __name__ == "__main__":
    main()
