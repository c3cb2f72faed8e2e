"""examples/dynamic_step: three ways to write a step that depends on values learn the same; the errors of two of them
are reported with their lines, and none of the third. Its README shows the actual program."""
import importlib.util
import json
import re
from pathlib import Path

from lockstep_runs import EndToEndTest, Job, main, program

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/dynamic_step"
SOURCE = (EXAMPLE / "main.cpp").read_text()
STEPS = 14


def line_of(text):
    """The line of the program that holds the text."""
    (number,) = [number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line]
    return f"main.cpp:{number}"


def body_of(function):
    """Its lines, from the name of the result on."""
    return re.search(rf"^StepResult {function}\(.*?^}}$", SOURCE, re.M | re.S).group()


READ = line_of("match_pairs(cost.to_host())")
PADDED_READ = line_of("match_boxes(cost.to_host())")
MADE = line_of("return select(broadcast_in_dim(greater_equal(labels")
STEP = f"main.cpp:{SOURCE[:SOURCE.index('  return trainer.step(', SOURCE.index('step_by_reading('))].count(chr(10)) + 1}"
USE = line_of("gather(all.boxes, boxes, 0)")
FETCH = line_of("step.loss().value()")


def load_measure():
    spec = importlib.util.spec_from_file_location("measure", EXAMPLE / "measure.py")
    out = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(out)
    return out


class DynamicStep(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.known = {}

    def run_of(self, *words, ranks=None):
        """What the console said, the losses, and the run's folder; each run is made once."""
        key = (words, ranks)
        if key not in self.known:
            folder = self.folder / f"run_{len(self.known)}"
            outcome = Job([*words, f"steps={STEPS}", f"run={folder}", "device.compile_cache=off"], self.folder, ranks,
                          program="bin/dynamic_step").wait()
            self.assertEqual(outcome.code, 0, outcome)
            losses = re.findall(r"^step (\d+) loss (\S+)$", outcome.out, re.M)
            self.assertEqual([int(step) for step, _ in losses], list(range(1, STEPS + 1)), outcome)
            self.known[key] = outcome.text, [float(loss) for _, loss in losses], folder
        return self.known[key]

    def compilations(self, folder, rank=0):
        records = [json.loads(line) for line in (folder / "compilations.jsonl").read_text().splitlines()]
        return [record for record in records if record["rank"] == rank]

    def reads(self, folder):
        return [row for row in json.loads((folder / "cuts.json").read_text()) if row["reason"] == "value read"]

    def assert_close(self, losses, others):
        """The first: sums of fewer than 4096 terms >= 0, which are added in another order. Later ones: through the
        updates of parameters, too."""
        self.assertLess(abs(losses[0] - others[0]) / others[0], 2 * 4096 * 2.0**-24)
        for a, b in zip(losses, others):
            self.assertAlmostEqual(a / b, 1, delta=2e-3)

    def test_all_ways_learn_the_same(self):
        for ranks in (None, 2):
            _, host_call, _ = self.run_of("match=host_call", ranks=ranks)
            self.assertLess(host_call[-1], 0.7 * host_call[0])
            self.assertEqual(self.run_of("match=padded", ranks=ranks)[1], host_call)
            self.assert_close(self.run_of("match=read", ranks=ranks)[1], host_call)
        self.assertEqual(self.run_of("match=host_call", "fetch=each")[1], self.run_of("match=host_call")[1])

    def test_reading_is_named_as_what_cuts_and_recompiles(self):
        for ranks in (None, 2):
            text, _, folder = self.run_of("match=read", ranks=ranks)
            (read,) = self.reads(folder)
            self.assertEqual((read["line"], read["count"], read["graph_break"]), (READ, STEPS, True))
            self.assertIn(MADE, read["what"])
            self.assertRegex(text, rf"{STEPS} x {READ}: f32\[\d+,20,32\] {MADE}: the host waited .* \(graph break\)")
            self.assertRegex(text, r"input_shape .* match.boxes\[pairs\] had \d+ values")
            for rank in range(ranks or 1):
                records = self.compilations(folder, rank)
                self.assertEqual([r["line"] for r in records if r["cause"] == "first_compile"], [READ, STEP])
                again = [record for record in records if record["cause"] != "first_compile"]
                self.assertGreater(len(again), STEPS // 2)
                for record in again:
                    self.assertEqual((record["causes"], record["line"]), (["input_shape"], STEP))
                    self.assertRegex(record["text"], r"^match.boxes\[pairs\]: (\d+) -> (\d+); "
                                                     r"match.queries\[pairs\]: \1 -> \2$")

    def test_padded_is_cut_but_compiled_once(self):
        text, _, folder = self.run_of("match=padded")
        (read,) = self.reads(folder)
        self.assertEqual((read["line"], read["count"], read["graph_break"]), (PADDED_READ, STEPS, True))
        self.assertEqual({record["cause"] for record in self.compilations(folder)}, {"first_compile"})
        self.assertNotIn("recompilations", text)

    def test_nothing_is_said_of_the_host_call(self):
        for ranks in (None, 2):
            text, _, folder = self.run_of("match=host_call", ranks=ranks)
            self.assertEqual([row for row in self.reads(folder) if row["graph_break"]], [])
            self.assertEqual([record["cause"] for record in self.compilations(folder)], ["first_compile"])
            self.assertNotIn("recompilations", text)
            self.assertNotIn("graph break", text)

    def test_a_read_in_each_step_is_named_and_waits_for_the_step(self):
        _, _, folder = self.run_of("match=host_call", "fetch=each", f"profile.trace.steps=[2,{STEPS - 1}]")
        (read,) = self.reads(folder)
        self.assertEqual((read["line"], read["graph_break"]), (FETCH, False))
        self.assertRegex(read["what"], r"^the loss of steps? \d+( to \d+)?$")
        self.assertIn(read["count"], range(1, STEPS + 1))  # one that finds the value there waits for nothing
        self.assertEqual(self.recorded_ahead(folder), 0)
        _, _, folder = self.run_of("match=host_call", "fetch=late", f"profile.trace.steps=[2,{STEPS - 1}]")
        self.assertEqual(self.reads(folder), [])
        self.assertGreater(self.recorded_ahead(folder), 0)

    def recorded_ahead(self, folder):
        """Of how many steps the recording began before the execution of the step before did."""
        outcome = self.lockstep("trace", folder, "--json", folder / "trace.json")
        self.assertEqual(outcome.code, 0, outcome)
        events = [event for event in json.loads((folder / "trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
        executed = {e["args"]["step"]: e["ts"] for e in events if e["name"].startswith("execute")}
        recorded = {e["args"]["step"]: e["ts"] for e in events if e["name"] == "trace"}
        self.assertEqual(len(recorded), STEPS - 2)
        return sum(recorded[step] < executed[step - 1] for step in recorded if step - 1 in executed)

    def test_the_profile_of_its_files_names_the_same(self):
        def profile(match):
            outcome = self.lockstep("profile", self.run_of(f"match={match}")[2])
            self.assertEqual(outcome.code, 0, outcome)
            return outcome.out

        slow = profile("read")
        self.assertRegex(slow, rf"input_shape .* match.boxes\[pairs\] had \d+ values \(.*\), {USE}, with match.queries\[pairs\]\n")
        self.assertRegex(slow, rf"{STEPS} x {READ}: f32\[32,20,32\] {MADE}: .* \(graph break\)\n"
                               "  read them a step or two later, or compute with them in a host_call")
        for words in ("recompilations", "values that were read"):
            self.assertNotIn(words, profile("host_call"))

    def test_after_the_change_the_same_folder_tells_nothing_of_the_run_before(self):
        folder = self.folder / "mended"
        for words in (["match=read", "profile.ledger=true", "profile.trace.steps=[1,3]"], ["match=host_call"]):
            outcome = Job([*words, "steps=4", f"run={folder}", "device.compile_cache=off"], self.folder, ranks=2,
                          program="bin/dynamic_step").wait()
            self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual([record["cause"] for record in self.compilations(folder)], ["first_compile"])
        self.assertEqual(self.lockstep("profile", folder).out,
                         "nothing was recompiled: 1 program compiled or loaded\nno read of a value stopped a step\n"
                         "no times: a run with profile.ledger=true writes them when it ends\n")
        self.assertFalse((folder / "trace.perfetto-trace").exists())

    def test_forbidden_reads_are_an_error_that_names_the_line(self):
        def run(match):
            return Job([f"match={match}", "steps=2", f"run={self.folder / 'forbidden'}", "profile.forbid_reads=true"],
                       self.folder, program="bin/dynamic_step").wait()

        self.assert_fails(run("read"), 2,
                          f"{READ}: f32[32,20,32] {MADE} was read between taking a batch and the end of its step "
                          "(profile.forbid_reads: true); read it after the step, keep it on the device, or compute with "
                          "it in a host_call")
        self.assertEqual(run("host_call").code, 0)

    def test_words_that_are_none_are_refused(self):
        for word in ("match=never", "fetch=", "steps=ten", "steps", "run="):
            outcome = Job([word], self.folder, program="bin/dynamic_step").wait()
            self.assert_fails(outcome, 2)
            self.assertIn(f"unknown word '{word}'", outcome.err)

    def test_the_readme_shows_the_program_and_lines_that_are_named(self):
        text = (EXAMPLE / "README.md").read_text()
        blocks = re.findall(r"```cpp\n(.*?)```", text, re.S)
        self.assertEqual(len(blocks), 2)
        for block, function in zip(blocks, ("step_by_reading", "step_by_host_call")):
            self.assertEqual(block.strip(), body_of(function))
        self.assertEqual(set(re.findall(r"main\.cpp:\d+", text)) - {READ, PADDED_READ, MADE, STEP, USE, FETCH}, set())


class Measuring(EndToEndTest):
    def test_it_measures_and_fails_if_a_claim_does_not_hold(self):
        measure = load_measure()
        options = type("Options", (), {
            "program": Path(program("lockstep")).parent / "bin/dynamic_step", "lockstep": program("lockstep"),
            "steps": STEPS, "repeats": 1, "ranks": 1})
        ways = measure.measure(options)

        def refused():
            return {words for holds, words in measure.claims(ways, STEPS) if not holds}

        of_times = {"host_call is faster than padded, and that faster than read", "the device waits less and less",
                    "fetch=each leaves gaps on the device"}  # which a busy machine may disturb
        self.assertLessEqual(refused(), of_times)
        measure.print_tables(ways, options)
        ways["padded"].recompiled, ways["host_call"].breaks, ways["read"].rate = 1, 1, 1e9
        self.assertLessEqual({"nothing else recompiles", "reads cut the step, host_call does not",
                              "host_call is faster than padded, and that faster than read"}, refused())
        ways["fetch each"].losses = [0.0]
        self.assertIn("padded, host_call and fetch=each have equal losses", refused())


if __name__ == "__main__":
    main()
