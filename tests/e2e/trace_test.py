"""profile.trace.steps writes one file of all ranks that a decoder of Perfetto's public format reads: device commands as
in the ledger, nested spans, named tracks, flows that end, counters. A decoder of lockstep's own makes JSON of it."""
import collections
import json

import lockstep_runs
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt
from perfetto_decoder import Trace, fields

STEPS = "profile.trace.steps=[1,10]"
GAPS = ("idle", "checkpoint", "evaluation")


class TraceFile(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.traced = Run(cls.folder, "traced", small_gpt(
            corpus(cls.folder), profile__ledger=True, distributed__bucket_mb=0.05,
            distributed__first_bucket_mb=0.01, device__threads=1, training__max_steps=11))
        cls.outcome = cls.traced.train(STEPS, ranks=2)
        cls.path = cls.traced.path / "trace.perfetto-trace"
        cls.data = cls.path.read_bytes()
        cls.trace = Trace(cls.data)
        cls.ledger = json.loads((cls.traced.path / "profile" / "rank-0.json").read_text())

    @classmethod
    def tearDownClass(cls):
        lockstep_runs.stop_jobs()
        super().tearDownClass()

    def device(self, rank=0):
        return self.trace.on(f"{self.processes()[rank]}", "device")

    def processes(self):
        return sorted(track.name for track in self.trace.tracks.values() if track.is_process)

    def test_the_run_says_where_it_is(self):
        self.assertIn(f"trace of steps 1 to 10: {self.path} (2 ranks", self.outcome.out)

    def test_each_rank_has_a_sequence_and_named_tracks_of_its_own(self):
        self.assertEqual([name.split(" on ")[0] for name in self.processes()], ["rank 0", "rank 1"])
        self.assertEqual(len(self.trace.sequences), 2)
        for process in self.processes():
            names = {event.track.name for event in self.trace.events if self.trace.process_of(event) == process}
            self.assertLessEqual({"host", "device", "communication", "loader", "transfer", "device memory",
                                  "queue depth", "prefetched batches"}, names)

    def test_ranks_can_be_read_alone_and_in_another_order(self):
        packets = {1: b"", 2: b""}
        for packet in fields(self.data)[1]:
            sequence = fields(packet)[10][0]
            size, head = len(packet), b""
            while size >= 0x80:
                head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
            packets[sequence] += b"\x0a" + head + bytes([size]) + packet
        self.assertEqual(len(Trace(packets[2] + packets[1]).events), len(self.trace.events))
        self.assertEqual(len(Trace(packets[1]).events) + len(Trace(packets[2]).events), len(self.trace.events))

    def test_spans_nest(self):
        for track in self.trace.tracks.values():
            ends = []
            for event in (e for e in self.trace.events if e.track is track and e.value is None):
                del ends[event.depth:]
                self.assertTrue(not ends or event.end <= ends[-1], (track.name, event.name))
                ends.append(event.end)

    def test_buckets_on_their_way_at_once_have_tracks_of_their_own(self):
        for track in self.trace.tracks.values():
            if not track.name.startswith("communication"):
                continue
            events = [event for event in self.trace.events if event.track is track]
            self.assertTrue(all(event.name == "all_reduce" and event.depth == 0 for event in events))
        buckets = collections.Counter(event.arguments["step"] for event in self.trace.events
                                      if event.name == "all_reduce" and self.trace.process_of(event) == self.processes()[0])
        self.assertEqual(set(buckets), set(range(1, 11)))
        self.assertEqual(len(set(buckets.values())), 1)
        self.assertGreater(buckets[1], 3)

    def test_device_spans_cover_the_time_of_the_ledger(self):
        top = [event for event in self.device() if event.depth == 0 and event.arguments.get("step", -1) >= 0]
        covered = sum(event.ns for event in top) * 1e-6
        wall = sum(self.ledger["step_ms"])
        self.assertEqual(self.ledger["steps"], 10)  # the ledger leaves the first one out
        self.assertAlmostEqual(covered / wall, 1, delta=0.01)
        executions = [event for event in top if event.name.startswith("execute")]
        inside = [event for event in self.device() if event.depth == 1]
        self.assertEqual(len(executions), 10)
        of_executions = [event for event in inside
                         if any(e.begin <= event.begin and event.end <= e.end for e in executions)]
        parts = sum(event.ns for event in of_executions) * 1e-6
        whole = sum(event.ns for event in executions) * 1e-6
        other = next(row["ms"] for row in self.ledger["rows"] if row["work"] == "other") * 10
        self.assertAlmostEqual((whole - parts) / wall, other / wall, delta=0.01)

    def test_every_command_of_the_ledger_is_there(self):
        """As often, and as long."""
        count, ms = collections.Counter(), collections.Counter()
        for event in self.device():
            if "shapes" not in event.arguments:
                continue
            shapes = event.arguments["shapes"]
            count[event.category, shapes] += 1
            ms[event.category, shapes] += event.ns * 1e-6
        expected_count, expected_ms = collections.Counter(), collections.Counter()
        for row in self.ledger["rows"]:
            if row["program"] == "step":
                continue
            expected_count[row["work"], row["op"]] += round(row["commands"] * 10)
            expected_ms[row["work"], row["op"]] += row["ms"] * 10
        self.assertEqual((count - expected_count, expected_count - count), ({}, {}))
        for key, value in expected_ms.items():
            self.assertAlmostEqual(ms[key], value, delta=1e-6 + 1e-4 * value, msg=key)

    def test_commands_say_what_they_are(self):
        dots = [event for event in self.device() if event.category == "dot"]
        self.assertTrue(any("h.1.attn" in event.name for event in dots), {event.name for event in dots})
        for event in dots:
            self.assertIn("f32[", event.arguments["shapes"])
            self.assertIn(".cpp:", event.line)
            self.assertGreater(event.arguments["GB/s"], 0)
            self.assertAlmostEqual(event.arguments["GFLOP/s"] * event.ns / event.arguments["FLOPs"], 1, places=6)

    def test_flows_lead_from_recording_to_execution_to_all_reduce_and_end(self):
        flows = collections.defaultdict(list)
        for event in self.trace.events:
            for flow in event.flows:
                flows[flow].append((event, False))
            for flow in event.ending_flows:
                flows[flow].append((event, True))
        steps = collections.Counter()
        for events in flows.values():
            events.sort(key=lambda entry: entry[0].begin)
            self.assertGreater(len(events), 1)
            self.assertEqual([ends for _, ends in events], [False] * (len(events) - 1) + [True])
            self.assertEqual(len({self.trace.process_of(event) for event, _ in events}), 1)
            names = [event.name.split(":")[0] for event, _ in events]
            if names[:3] == ["trace", "cut", "execute"]:
                self.assertEqual(set(names[3:]), {"all_reduce"})
                steps[self.trace.process_of(events[0][0])] += 1
        self.assertEqual(dict(steps), {process: 10 for process in self.processes()})

    def test_counters_have_units_and_plausible_values(self):
        levels = collections.defaultdict(list)
        for event in self.trace.events:
            if event.value is not None:
                levels[event.track.name, event.track.unit].append(event.value)
        self.assertEqual(set(levels), {("device memory", 3), ("queue depth", 2), ("prefetched batches", 2)})
        self.assertGreater(min(levels["device memory", 3]), 100_000)
        self.assertLessEqual(max(levels["queue depth", 2]), 2)
        self.assertGreaterEqual(len(levels["device memory", 3]), 20)  # one for each execution

    def test_one_host_has_one_clock(self):
        clocks = [event for event in self.trace.events if event.name == "clock"]
        self.assertEqual([event.arguments for event in clocks],
                         2 * [{"offset_ns at begin": 0, "offset_ns at end": 0, "uncertainty_ns": 0, "dropped events": 0}])
        # A bucket's sum is there when the last rank has sent its part, and not before.
        ends = [max(e.end for e in self.trace.events if e.name == "all_reduce" and e.arguments["step"] == 5 and
                    self.trace.process_of(e) == process) for process in self.processes()]
        begins = [min(e.begin for e in self.trace.events if e.name == "all_reduce" and e.arguments["step"] == 5 and
                      self.trace.process_of(e) == process) for process in self.processes()]
        self.assertGreater(min(ends), max(begins))

    def test_an_event_takes_80_bytes_at_most(self):
        print(f"{len(self.data) / len(self.trace.events):.1f} bytes an event ", end="")
        self.assertLessEqual(len(self.data) / len(self.trace.events), 80)

    def test_json_has_the_same_events(self):
        path = self.folder / "trace.json"
        outcome = self.lockstep("trace", self.traced.path, f"--json={path}")
        self.assertEqual(outcome.code, 0, str(outcome))
        events = json.loads(path.read_text())["traceEvents"]
        kinds = collections.Counter(event["ph"] for event in events)
        self.assertEqual(kinds["X"], sum(e.value is None and e.name != "clock" for e in self.trace.events))
        self.assertEqual(kinds["C"], sum(event.value is not None for event in self.trace.events))
        self.assertEqual(collections.Counter(event["name"] for event in events if event["ph"] == "X"),
                         collections.Counter(e.name for e in self.trace.events if e.value is None and e.name != "clock"))
        self.assertAlmostEqual(sum(event["dur"] for event in events if event["ph"] == "X"),
                               sum(event.ns for event in self.trace.events) * 1e-3, delta=1)
        self.assertEqual(kinds["s"], kinds["f"])

    def test_the_command_lists_the_tracks(self):
        outcome = self.lockstep("trace", self.path)
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertRegex(outcome.out, r"rank 1.* device +\d+ events +\d+\.\d+ ms")


class Windows(EndToEndTest):
    def run_of(self, name, **changes):
        return Run(self.folder, name, small_gpt(corpus(self.folder), training__max_steps=8, **changes))

    def steps_in(self, run):
        trace = Trace((run.path / "trace.perfetto-trace").read_bytes())
        return sorted(event.arguments["step"] for event in trace.events if event.name == "execute: step end")

    def test_a_run_learns_the_same_while_it_is_traced(self):
        run, plain = self.run_of("first"), self.run_of("plain")
        run.train("profile.trace.steps=[0,3]", ranks=2)
        plain.train()
        self.assertEqual(self.steps_in(run), 2 * [0] + 2 * [1] + 2 * [2] + 2 * [3])
        self.assertEqual(run.hash(), plain.hash())

    def test_a_run_that_ends_within_the_window_keeps_what_there_was(self):
        run = self.run_of("short")
        self.assertIn("trace of steps 6 to 7:", run.train("profile.trace.steps=[6,20]").out)
        self.assertEqual(self.steps_in(run), [6, 7])

    def test_a_run_that_fails_within_the_window_keeps_its_masters(self):
        run = self.run_of("failed", optimizer__learning_rate=1e30, training__gradient_clip_norm=0,
                          optimizer__name="sgd", optimizer__weight_decay=0)
        outcome = run.train("profile.trace.steps=[0,100]", ranks=2, expect=5)
        self.assertIn("this rank alone, as the run failed", outcome.text)
        self.assertIn(0, self.steps_in(run))

    def test_a_window_that_never_comes_is_told(self):
        late = self.run_of("late")
        self.assertIn("profile.trace.steps: the run ended after step 7, before [100, 110]: there is no trace",
                      late.train("profile.trace.steps=[100,110]").text)
        self.assertFalse((late.path / "trace.perfetto-trace").exists())
        past = self.run_of("past")
        past.train("training.max_steps=5")
        self.assertIn("profile.trace.steps: the run resumes at step 5, after [1, 2]: there is no trace",
                      past.train("profile.trace.steps=[1,2]", resume="auto").text)

    def test_a_dry_run_traces_nothing(self):
        run = self.run_of("dry")
        outcome = self.lockstep(*run.words(["profile.trace.steps=[0,3]"]), "--dry-run")
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertNotIn("trace", outcome.text)

    def test_what_is_no_trace_is_refused(self):
        path = self.folder / "other.perfetto-trace"
        path.write_bytes(b"something else")
        outcome = self.lockstep("trace", path)
        self.assertEqual(outcome.code, 3, str(outcome))
        self.assertIn("is not a trace of lockstep", outcome.err)
        plain = self.run_of("untraced")
        plain.train()
        self.assertIn("has no trace: train it with profile.trace.steps", self.lockstep("trace", plain.path).err)


if __name__ == "__main__":
    lockstep_runs.main()
