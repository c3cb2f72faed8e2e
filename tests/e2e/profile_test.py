"""lockstep profile reads only a run's folder and prints on one screen the recompilations with their remedies, the late
rank, and the shares of the time, by class, op, module and line."""
import csv
import io
import json
import re

from lockstep_runs import EndToEndTest, Job, Run, corpus, main, small_gpt

SCREEN = 50  # lines


class Profile(EndToEndTest):
    def run_of(self, what, steps, *words, ranks=None):
        folder = self.folder / self._testMethodName
        folder.mkdir(exist_ok=True)
        outcome = Job([what, steps, *words], self.folder, ranks, cwd=folder, program="bin/recompiling").wait()
        self.assertEqual(outcome.code, 0, outcome)
        return folder / "run"

    def profile(self, run, *words, code=0):
        outcome = Job(["profile", run, *words], self.folder).wait()
        self.assertEqual(outcome.code, code, outcome)
        return outcome

    def test_a_run_that_recompiles_leads_to_line_and_remedy_in_one_screen(self):
        run = self.run_of("constant", 8)
        lines = self.profile(run).out.splitlines()
        self.assertLess(len(lines), SCREEN)
        self.assertRegex(lines[0], r"^recompilations: 7 of \d+ programs were versions of others")
        self.assertRegex(lines[2], r"constant +7 +0 .* constant f32\[\] recompiling.cpp:\d+ had 8 values")
        self.assertIn("give the number as a tensor, x.context().scalar(", lines[3])
        self.assertEqual(lines[-1], "no times: a run with profile.ledger=true writes them when it ends")
        told = json.loads(self.profile(run, "--json").out)
        self.assertEqual(told["compilations"][0]["cause"], "constant")
        self.assertRegex(told["compilations"][0]["line"], r"^recompiling.cpp:\d+$")
        self.assertIn("scalar()", told["compilations"][0]["remedy"])
        self.assertEqual(told["compilations"][0]["with"], [], "nothing else changed")

    def test_a_run_without_either_says_so(self):
        lines = self.profile(self.run_of("steady", 4)).out.splitlines()
        self.assertEqual(lines, ["nothing was recompiled: 2 programs compiled or loaded",
                                 "no read of a value stopped a step",
                                 "no times: a run with profile.ledger=true writes them when it ends"])

    def test_idle_cores_of_the_last_job_are_told_with_what_would_use_them(self):
        run = self.run_of("steady", 40)
        path = run / "metrics.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        of_steps = [record for record in records if "perf/step_ms" in record]
        self.assertGreater(len(of_steps), 2)
        for i, record in enumerate(of_steps):
            self.assertLessEqual(record["perf/core_use"], 1, record)
            # The record of one step may be written before its program has ended: that counts in the next one.
            (self.assertGreaterEqual if i == 0 else self.assertGreater)(record["perf/core_use"], 0, record)
            record |= {"perf/core_use": 0.5, "perf/step_ms": 100, "perf/exposed_gap_ms": 40, "perf/input_wait_ms": 30}
        path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
        self.assertIn("cores: 50 % of their time computed, 40 % waited for data: more data.loader_workers may help\n",
                      self.profile(run).out)

    def test_the_late_rank_is_named_with_what_makes_it_late(self):
        run = self.run_of("late", 20, "profile.ledger=true", ranks=2)
        text = self.profile(run).out
        self.assertLess(len(text.splitlines()), SCREEN)
        self.assertRegex(text, r"rank 1 on \S+ is late: its own work takes .* most of it gradient host call: \d")
        row = next(line for line in text.splitlines() if "host call" in line and line.startswith("  gradient"))
        self.assertRegex(row, r" r1$")
        told = json.loads(self.profile(run, "--json", "--by", "op").out)
        self.assertEqual(told["late"]["rank"], 1)
        self.assertGreater(told["late"]["most_ms"], 15)  # of 20 ms asleep
        (call,) = [row for row in told["rows"] if row["work"] == "host call"]
        self.assertIn("host_call wait", call["op"])
        self.assertRegex(call["line"], r"^recompiling.cpp:\d+$")
        self.assertLess(call["rank_ms"][0], call["rank_ms"][1])

    def test_rows_sum_to_the_step_by_any_grouping_and_on_each_rank(self):
        run = self.run_of("steady", 20, "profile.ledger=true", ranks=2)
        for by in ("class", "op", "module", "line"):
            for rank in ([], ["--rank", "0"], ["--rank", "1"]):
                told = json.loads(self.profile(run, "--json", "--by", by, *rank).out)
                self.assertAlmostEqual(sum(row["ms"] for row in told["rows"]), told["mean_step_ms"], places=6)
                self.assertAlmostEqual(sum(told["shares"].values()), told["mean_step_ms"], places=6)
                self.assertEqual([each["rank"] for each in told["ranks"]], [int(rank[1])] if rank else [0, 1])
        rows = list(csv.DictReader(io.StringIO(self.profile(run, "--csv", "--by", "op").out)))
        self.assertAlmostEqual(sum(float(row["share"]) for row in rows), 1, places=6)
        self.assertTrue(any(row["op"].startswith("dot_general f32[2,2] (f32[2,8]") for row in rows), rows)
        self.assertIn("rank_1_ms", rows[0])
        modules = {row["module"] for row in json.loads(self.profile(run, "--json", "--by", "module").out)["rows"]}
        self.assertLessEqual({"embedding", "out"}, modules)

    def test_the_files_tell_steps_buckets_memory_and_passes(self):
        run = Run(self.folder, "recorded", small_gpt(
            corpus(self.folder), profile__ledger=True, training__max_steps=40, training__micro_batch_size=4,
            eval__interval=15, eval__max_batches=30, checkpoint__save_interval=30, distributed__first_bucket_mb=0.01))
        run.train(ranks=2)
        ranks = [json.loads((run.path / "profile" / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank["step_numbers"], list(range(1, 40)), "all but the first")
            self.assertEqual(len(rank["step_ms"]), 39)
            odd = {step["step"]: step for step in rank["odd_steps"]}
            self.assertTrue(odd[0]["first_of_program"])
            self.assertFalse(any(step["first_of_program"] for number, step in odd.items() if number > 0))
            # A pause is a part of the step after it. The first evaluation compiles: it alone is beyond the mean for
            # certain.
            self.assertIn("evaluation", odd[15]["beyond_mean_ms"])
            self.assertEqual([number for number, step in odd.items() if "checkpoint" in step["beyond_mean_ms"]], [30])
            buckets = rank["buckets"]
            self.assertEqual(buckets["steps"], 39)
            self.assertGreater(len(buckets["times"]), 1)
            for number, bucket in enumerate(buckets["times"]):
                self.assertEqual(bucket["bucket"], number)
                self.assertGreater(bucket["bytes"], 0)
                self.assertLess(0, bucket["begin_ms"])
                self.assertLess(bucket["begin_ms"], bucket["end_ms"])
                self.assertLessEqual(bucket["end_ms"], buckets["update_begin_ms"])
                self.assertLessEqual(bucket["exposed_ms"], bucket["end_ms"] - bucket["begin_ms"])
            self.assertLess(buckets["gradient_end_ms"], buckets["update_begin_ms"])
            self.assertLess(buckets["update_begin_ms"], rank["mean_step_ms"])
        self.check_program(run, ranks[0])
        events = [json.loads(line) for line in (run.path / "compilations.jsonl").read_text().splitlines()]
        compiled = [event for event in events if event["event"] == "compiled"]
        self.assertTrue(compiled)
        for event in compiled:
            self.assertLessEqual({"canonicalize", "fuse", "schedule", "kernels"}, set(event["passes"]))
            self.assertLessEqual(sum(event["passes"].values()), 1e3 * event["seconds"])
        self.assertFalse(any("passes" in event for event in events if event["event"] == "loaded"))

    def check_program(self, run, profile):
        program = json.loads((run.path / "profile" / "program.json").read_text())
        self.assertEqual([each["name"] for each in program["programs"]], ["gradient", "update"])
        for each in program["programs"]:
            rows = [row["ms"] for row in profile["rows"] if row["program"] == each["name"]]
            self.assertAlmostEqual(sum(command["ms"] for command in each["commands"]), sum(rows), places=6)
            self.assertEqual(len(each["live_bytes"]), len(each["commands"]))
            self.assertLessEqual(max(each["live_bytes"]), each["arena_bytes"] + each["output_bytes"])
            self.assertEqual(each["values"], sorted(each["values"], key=lambda value: -value["bytes"]))
        self.assertEqual(sum(part["bytes"] for part in program["memory"]), program["peak_bytes"])
        last = json.loads((run.path / "metrics.jsonl").read_text().splitlines()[-1])
        self.assertEqual(program["peak_bytes"], last["memory/peak_bytes"])

    def test_the_parts_of_memory_are_those_that_the_dry_run_foresees(self):
        run = Run(self.folder, "foreseen", small_gpt(corpus(self.folder), profile__ledger=True, training__max_steps=3))
        run.train()
        memory = {part["kind"]: part["bytes"] for part in
                  json.loads((run.path / "profile" / "program.json").read_text())["memory"]}
        self.assertNotIn("other", memory, "nothing but the step takes memory")
        foreseen = Job(["train", run.yaml, "--dry-run"], self.folder).wait().out
        self.assertIn(f"({sum(memory.values())} bytes)", foreseen)

    def test_a_resumed_run_on_fewer_ranks_has_no_old_profile(self):
        run = self.run_of("steady", 6, "profile.ledger=true", ranks=2)
        self.assertEqual(sorted(file.name for file in (run / "profile").iterdir()),
                         ["program.json", "rank-0.json", "rank-1.json"])
        run = self.run_of("steady", 6, "profile.ledger=true")
        self.assertEqual(sorted(file.name for file in (run / "profile").iterdir()), ["program.json", "rank-0.json"])

    def test_what_cannot_be_is_refused(self):
        run = self.run_of("steady", 4, "profile.ledger=true")
        for words, said in ((["--by", "layer"], "--by must be class, op, module or line, not 'layer'"),
                            (["--json", "--csv"], "--json or --csv, not both"),
                            (["--rank", "-1"], "--rank must be an integer from 0")):
            self.assertIn(said, self.profile(run, *words, code=2).err)
        self.assertIn("there is no such run", self.profile(run / "nowhere", code=2).err)
        self.assertIn("is a file: RUN is the folder of a run", self.profile(run / "cuts.json", code=2).err)
        self.assertIn("is not a run's folder", self.profile(self.folder, code=2).err)
        self.assertIn("there is no profile of rank 5", self.profile(run, "--rank", "5").out)
        file = run / "profile" / "rank-0.json"
        file.write_text(file.read_text()[:500])
        self.assertRegex(self.profile(run, code=2).err, re.escape(f"{file}:") + r"\d+:\d+: not valid JSON")


if __name__ == "__main__":
    main()
