"""Virtual time: a run on simulated devices keeps its bits, and its steps take what `foresee` says, to the nanosecond,
whatever the ranks, threads and instruction set are."""
import json
import re

from lockstep_runs import EndToEndTest, Job, Run, main
from perfetto_decoder import Trace

DEVICE = "a100-sxm4-80gb"
IMAGES = {"model.image_size": 28, "model.num_channels": 1}
MODELS = {
    "gpt2": {"model.n_layer": 2, "model.n_head": 2, "model.n_embd": 48, "model.block_size": 32, "model.vocab_size": 61},
    "bert": {"model.hidden_size": 32, "model.num_hidden_layers": 2, "model.num_attention_heads": 2,
             "model.intermediate_size": 64, "model.max_position_embeddings": 32, "model.vocab_size": 61},
    "vit": {**IMAGES, "model.patch_size": 7, "model.num_labels": 10, "model.hidden_size": 16,
            "model.num_hidden_layers": 2, "model.num_attention_heads": 2, "model.intermediate_size": 24},
    "resnet": {**IMAGES, "model.n_classes": 10, "model.width": 8, "model.depths": [1, 1, 1], "model.stem": "cifar"},
    "vit_gpt2": {"model.encoder.image_size": 28, "model.encoder.patch_size": 7, "model.encoder.num_channels": 1,
                 "model.encoder.hidden_size": 24, "model.encoder.num_hidden_layers": 2,
                 "model.encoder.num_attention_heads": 2, "model.encoder.intermediate_size": 40,
                 "model.decoder.n_layer": 2, "model.decoder.n_head": 2, "model.decoder.n_embd": 32,
                 "model.decoder.n_positions": 16, "model.decoder.vocab_size": 61},
}


class VirtualTime(EndToEndTest):
    together = True

    def config(self, model="gpt2", **changes):
        config = {
            "model.name": model, **MODELS[model],
            "data.type": "synthetic", "data.num_samples": 64,
            "training.max_steps": 6, "training.global_batch_size": 16, "training.micro_batch_size": 2,
            "optimizer.learning_rate": 1e-3, "checkpoint.save_interval": -1,
            "device.profile": DEVICE, "device.host.time": "none",
            "logging.interval": 1, "logging.tensorboard": False,
        }
        config.update({key.replace("__", "."): value for key, value in changes.items()})
        return config

    def foreseen(self, run, devices, nodes=1):
        outcome = self.lockstep("foresee", run.yaml, "--device", DEVICE, "--devices-per-node", devices // nodes,
                                "--nodes", nodes, "--json")
        self.assertEqual(outcome.code, 0, outcome)
        (device,) = json.loads(outcome.out)["devices"]
        self.assertEqual(device["devices"], devices)
        return device["step_ns"]

    def step_ns(self, run):
        """Of each step."""
        return [round(1e6 * ms) for ms in run.column("sim/step_ms")]

    def assert_steady(self, run, devices, nodes=1):
        steps = self.step_ns(run)
        self.assertEqual(len(steps), 6)
        # The first step waits for the copy of its batch.
        self.assertEqual(steps[1:], [self.foreseen(run, devices, nodes)] * 5, run.name)

    def check_model(self, model, counts=(None, 2), **changes):
        for ranks in counts:
            run = self.trained(f"{model}_{ranks}", ranks=ranks, model=model, **changes)
            self.assert_steady(run, ranks or 1)

    def test_gpt2(self):
        self.check_model("gpt2", (None, 2, 4), training__precision="bf16-mixed")

    def test_bert(self):
        self.check_model("bert")

    def test_vit(self):
        self.check_model("vit")

    def test_resnet(self):
        self.check_model("resnet", optimizer__name="sgd")

    def test_captioner(self):
        self.check_model("vit_gpt2")

    def test_nodes_are_simulated(self):
        run = self.trained("nodes", ranks=4, distributed__simulated_nodes=2)
        self.assert_steady(run, 4, nodes=2)
        self.assertGreater(self.step_ns(run)[-1], self.foreseen(run, 4))  # of one node, as a run's on 4 ranks: test_gpt2

    def test_without_overlap(self):
        run = self.trained("after", ranks=2, distributed__overlap=False)
        self.assert_steady(run, 2)

    def test_it_depends_on_the_config_alone(self):
        plain = self.trained("plain", checkpoint__save_interval=0)
        bare = Run(self.folder, "bare", {key: value for key, value in self.config(checkpoint__save_interval=0).items()
                                         if not key.startswith("device.")})
        bare.train()
        self.assertNotIn("sim/step_ms", bare.metrics()[-1])
        self.assertEqual(plain.hash(), bare.hash())
        for name, override in (("threads", "device.threads=2"), ("avx2", "device.max_isa=avx2"),
                               ("uncached", "device.compile_cache=off")):
            run = self.trained(name, override)
            for key in ("sim/step_ms", "sim/exposed_comm_ms", "sim/exposed_gap_ms", "sim/input_wait_ms", "sim/mfu"):
                self.assertEqual(run.column(key), plain.column(key), (name, key))

    def profile(self, run, *words):
        outcome = self.lockstep("profile", run.path, *words)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.out

    def test_the_ledger_says_what_takes_virtual_time(self):
        run = self.trained("ledger", "profile.ledger=true", ranks=2)
        mean_ms = sum(run.column("sim/step_ms")[1:]) / 5  # both leave out the first step
        for by in ("class", "op", "module", "line"):
            told = json.loads(self.profile(run, "--json", "--by", by))
            self.assertEqual(told["simulated"]["device"], DEVICE)
            self.assertEqual(told["simulated"]["steps"], 5)
            self.assertAlmostEqual(told["simulated"]["mean_step_ms"], mean_ms, places=9)
            self.assertAlmostEqual(sum(row["sim_ms"] for row in told["rows"]), mean_ms, places=9)
            for row in told["rows"]:
                self.assertLessEqual(row.get("sim_of_limit", 0), 1, row)
        outcome = self.lockstep("foresee", run.yaml, "--device", DEVICE, "--devices-per-node", 2, "--json")
        parts = {part["part"]: part["ms"] for part in json.loads(outcome.out)["devices"][0]["parts"]}
        classes = {row["work"]: row for row in json.loads(self.profile(run, "--json", "--by", "class"))["rows"]}
        for work, part in (("dot", "dots"), ("attention", "attention"), ("all-reduce", "exposed communication"),
                           ("other", "waits for the slowest")):
            self.assertAlmostEqual(classes[work]["sim_ms"], parts[part], delta=2e-6, msg=work)
        self.assertAlmostEqual(classes["dispatch"]["sim_ms"], parts["gaps between kernels"] + parts["dispatch"],
                               delta=2e-6)
        self.assertGreater(classes["dot"]["sim_of_limit"], 0)
        self.assertNotIn("sim_of_limit", classes["dispatch"])
        text = self.profile(run)
        self.assertRegex(text, rf"\n  sim: virtual time on {DEVICE}, 5 steps of ")
        header = next(line for line in text.splitlines() if line.startswith("  program"))
        self.assertRegex(header, "limit +sim ms +sim limit")
        self.assertLessEqual(len(header), 115)
        csv = self.profile(run, "--csv").splitlines()
        self.assertIn(",sim_ms,sim_of_limit,", csv[0])

    def test_ranks_that_share_a_device_are_as_far_from_its_limit(self):
        told = []
        for sharing in (1, 2):
            run = self.trained(f"ranks_of_a_device_{sharing}", "profile.ledger=true", ranks=2,
                               distributed__simulated_ranks_per_device=sharing)
            rows = json.loads(self.profile(run, "--json", "--by", "class"))["rows"]
            told.append({row["work"]: row for row in rows if row["program"] == "gradient"})
        whole, shared = told
        self.assertAlmostEqual(shared["dot"]["sim_ms"], 2 * whole["dot"]["sim_ms"], delta=2e-6)
        self.assertAlmostEqual(shared["dot"]["sim_of_limit"], whole["dot"]["sim_of_limit"], places=3)

    def test_the_ledger_of_a_slow_rank_sums_to_its_steps(self):
        run = self.trained("slow_ledger", "profile.ledger=true", 'device.simulate=["rank=0 slow=3 steps=2:3"]', ranks=2)
        told = json.loads(self.profile(run, "--json", "--rank", "0"))
        self.assertAlmostEqual(sum(row["sim_ms"] for row in told["rows"]), sum(run.column("sim/step_ms")[1:]) / 5,
                               places=9)

    def test_a_ledger_without_a_device_has_no_virtual_time(self):
        config = self.config(profile__ledger=True)
        run = Run(self.folder, "unsimulated",
                  {key: value for key, value in config.items() if not key.startswith("device.")})
        run.train()
        for words in ([], ["--json"], ["--csv"]):
            self.assertNotIn("sim", self.profile(run, *words), words)
        self.assertNotIn("sim", (run.path / "profile" / "rank-0.json").read_text())

    def test_a_slow_rank_is_waited_for(self):
        run = self.trained("slow", 'device.simulate=["rank=1 slow=3 steps=2:3"]', ranks=2, training__max_steps=7)
        steps = self.step_ns(run)
        self.assertEqual(steps[1], steps[5])  # steps 1 and 5, from 0
        self.assertGreater(steps[2], 1.5 * steps[1])
        self.assertGreater(steps[3], steps[2])  # by then the slow rank has also begun later
        waits = run.column("sim/exposed_comm_ms")
        self.assertGreater(waits[3], waits[1])

    def test_jitter_comes_again_from_the_seed(self):
        first, second = (self.trained(name, 'device.simulate=["jitter=0.1"]', ranks=2) for name in ("one", "two"))
        self.assertEqual(self.step_ns(first), self.step_ns(second))
        self.assertGreater(len(set(self.step_ns(first))), 4)

    def test_the_host_hides_behind_longer_steps_only(self):
        device_ms = self.foreseen(self.run_of("asked"), 1) * 1e-6
        for name, host_ms in (("hidden", device_ms / 2), ("exposed", 2 * device_ms)):
            run = self.trained(name, f"device.host.step_ms={host_ms:.6f}", device__host__time="stated")
            self.assertAlmostEqual(run.column("sim/step_ms")[-1], max(host_ms, device_ms), delta=1e-5)
            self.assertAlmostEqual(run.column("sim/exposed_gap_ms")[-1], max(host_ms - device_ms, 0), delta=1e-5)

    def test_a_slow_loader_is_a_wait_for_input(self):
        run = self.trained("loader", "device.host.sample_ms=1", "data.loader_workers=2", "training.max_steps=20",
                           device__host__time="stated")
        self.assertRegex(self.outcome.text, r"on this device a step waits [67]\.\d+ ms for input: use more data.loader_workers")
        # 16 samples of 1 ms by two workers: a batch each 8 ms, and two come at once.
        last = run.column("sim/step_ms")[-4:]
        self.assertAlmostEqual(sum(last) / 4, 8, delta=0.01)
        self.assertGreater(sum(run.column("sim/input_wait_ms")[-4:]), 0.9 * (sum(last) - 4 * run.column("sim/step_ms")[1]))

    def test_a_recompilation_in_each_step_dominates(self):
        waits = {}
        for what in ("steady", "constant"):
            folder = self.folder / what
            folder.mkdir()
            outcome = Job([what, "12", f"device.profile={DEVICE}", "device.host.time=stated",
                           "device.host.compile_ms=50"], self.folder, ranks=2, cwd=folder,
                          program="bin/recompiling").wait()
            self.assertEqual(outcome.code, 0, outcome)
            self.assertRegex(outcome.text, rf"virtual time of {DEVICE}: 2 simulated devices on 1 node")
            found = re.search(r"11 steps of (\S+) ms: .* waiting for the host (\S+) %", outcome.text)
            waits[what] = float(found[1]), float(found[2])
        self.assertEqual(waits["steady"][1], 0)
        self.assertAlmostEqual(waits["constant"][0], 50, delta=0.1)
        self.assertGreater(waits["constant"][1], 99)

    def test_foresee_simulates_all_devices(self):
        run = self.run_of("large", data__num_samples=1024, training__global_batch_size=1024)
        words = ["foresee", run.yaml, "--device", DEVICE, "--devices-per-node", 8, "--nodes", 64]
        outcome = self.lockstep(*words, "--json", "--simulate", "rank=511 slow=30", "--mtbf-hours", 50000,
                                "--save-seconds", 20, "--restart-seconds", 300)
        self.assertEqual(outcome.code, 0, outcome)
        (device,) = json.loads(outcome.out)["devices"]
        disturbed, saves = device["disturbed"], device["saves"]
        self.assertEqual(disturbed["steps"], 200)
        self.assertGreater(disturbed["mean_ms"], 1.2 * device["step_ms"])
        self.assertAlmostEqual(saves["hours_between_failures"], 50000 / 512)
        self.assertAlmostEqual(saves["interval_steps"] * disturbed["mean_ms"] / 1e3,
                               (2 * 20 * 50000 / 512 * 3600)**0.5, delta=disturbed["mean_ms"] / 1e3)
        self.assertTrue(0.9 < saves["goodput"] < 1)
        for more, message in ((["--simulate", "jitter=none"], "device.simulate: 'jitter=none': jitter 'none' is not a number"),
                              (["--simulate", "jitter=0.1", "--sweep", "model.n_layer=1,2"], "are of one config"),
                              (["--mtbf-hours", 5], "--mtbf-hours and --save-seconds belong together"),
                              (["--simulate", "jitter=0.1", "--parallelism", "fsdp"], "--simulate knows dp and zero1, not fsdp")):
            refused = self.lockstep(*words, *more)
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(message, refused.err)

    def test_measured_host_work_takes_time(self):
        run = self.trained("measured", "device.host.factor=1000", device__host__time="measured")
        self.assertGreater(run.column("sim/exposed_gap_ms")[-1], 1)

    def test_the_trace_obeys_every_dependency(self):
        """An independent reader finds each span behind what it depends on, and all time of the device in spans."""
        run = self.trained("traced", 'device.simulate=["rank=1 slow=1.5 steps=3:4"]', "device.host.step_ms=0.05",
                           "device.host.sample_ms=0.004", "profile.trace.steps=[1,6]", "profile.trace.clock=virtual",
                           "distributed.simulated_nodes=2", ranks=2, device__host__time="stated",
                           training__max_steps=8, distributed__first_bucket_mb=0.01, distributed__bucket_mb=0.05,
                           checkpoint__save_interval=0)
        self.assertIn("trace of steps 1 to 6 in virtual time", self.outcome.out)
        self.assertEqual(run.hash(), self.trained("untraced", ranks=2, training__max_steps=8, checkpoint__save_interval=0).hash())
        trace = Trace((run.path / "trace.perfetto-trace").read_bytes())
        spans = {}  # by process, name and step
        for event in trace.events:
            spans.setdefault((trace.process_of(event), event.name.split(":")[0], event.arguments.get("step")),
                             []).append(event)
        ranks = sorted({process for process, _, _ in spans})
        self.assertEqual(len(ranks), 2)

        def of(rank, name, step):
            return sorted(spans.get((rank, name, step), []), key=lambda event: event.begin)

        for step in range(1, 7):
            links = [[(e.begin, e.end) for e in of(rank, "all_reduce", step)] for rank in ranks]
            self.assertEqual(*links)  # all ranks see one link
            self.assertGreater(len(links[0]), 2)
            for before, after in zip(links[0], links[0][1:]):
                self.assertLessEqual(before[1], after[0])
            for rank in ranks:
                (execution,), calls = of(rank, "execute", step), of(rank, "gradient program", step)
                self.assertEqual(len(calls), 4)
                self.assertLessEqual(of(rank, "fetch", step)[-1].end, of(rank, "transfer to device", step)[0].begin)
                self.assertLessEqual(of(rank, "transfer to device", step)[-1].end, execution.begin)
                self.assertLessEqual(of(rank, "trace", step)[-1].end, execution.begin)
                self.assertEqual(execution.begin, calls[0].begin)
                for before, after in zip(calls, calls[1:]):
                    self.assertLessEqual(before.end, after.begin)
                self.assertGreaterEqual(links[0][0][0], calls[-1].begin)  # no bucket is complete before
                (update,) = of(rank, "update program", step)
                self.assertGreaterEqual(update.begin, max(calls[-1].end, links[0][-1][1]))
                inside = [event for name in ("gradient program", "gradient sums", "all-reduce", "update program")
                          for event in of(rank, name, step)]
                self.assertEqual(sum(event.ns for event in inside), execution.ns)
                if step > 1:
                    (last,) = of(rank, "execute", step - 1)
                    self.assertEqual(last.end + sum(event.ns for event in of(rank, "idle", step)), execution.begin)
                if step > 2:  # the host hands over when fewer than two commands wait
                    self.assertGreaterEqual(of(rank, "trace", step)[-1].end, of(rank, "execute", step - 2)[0].begin)
        slow = [of(ranks[1], "gradient program", step)[0].ns for step in (2, 3)]
        self.assertAlmostEqual(slow[1], 1.5 * slow[0], delta=1)
        self.assertEqual(self.step_ns(run)[1:7],
                         [sum(e.ns for name in ("idle", "execute") for e in of(ranks[0], name, s)) for s in range(1, 7)])

    def test_the_memory_is_the_profiles(self):
        outcome = self.lockstep("train", self.run_of("dry").yaml, "--dry-run")
        self.assertIn("fits device.memory_gb 80", outcome.out)

    def test_bad_input(self):
        run = self.run_of("bad")
        for words, message in (
                (["device.profile=a100-sxm4-80g"], "there is no device 'a100-sxm4-80g'; did you mean 'a100-sxm4-80gb'?"),
                (["device.profile=k80", "training.precision=bf16-mixed"], "has no bf16"),
                (['device.simulate=["rank=7 slow=2"]'], "there is no rank 7: the job has 1"),
                (['device.simulate=["rank=0 slow=2 rank=1"]'], "'rank' is given twice"),
                (['device.simulate=["rank=0 fast=2"]'], "'fast=2' is none of rank=N"),
                (['device.simulate=["rank=0 slow=2 steps=9:3"]'], "end no earlier"),
                (["distributed.simulated_nodes=2"], "1 ranks cannot stand for devices on 2 nodes"),
                (["device.profile=", "device.host.time=measured", "distributed.simulated_nodes=2"],
                 "'distributed.simulated_nodes' has no effect without 'device.profile'"),
                (["device.profile=", "device.host.time=measured", "profile.trace.clock=virtual", "profile.trace.steps=[0,1]"],
                 "'profile.trace.clock' has no effect without 'device.profile'"),
                (["profile.trace.clock=virtual"], "'profile.trace.clock' has no effect without 'profile.trace.steps'"),
                (["device.host.step_ms=9"], "'device.host.step_ms' has an effect only with 'device.host.time: stated'")):
            outcome = run.train(*words, expect=2)
            self.assertIn(message, outcome.err)
            self.assert_fails(outcome, 2)


if __name__ == "__main__":
    main()
