"""bench/simulated_collectives: what it counts against formulas, and its virtual time against SimGrid's.

    python3 -B simulated_collectives_test.py BUILD_FOLDER; needs python3-simgrid, which scripts/install_deps.sh --tests
    installs: without it the comparison fails
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop()) / "bench" / "simulated_collectives"
PEER = pathlib.Path(__file__).parents[2] / "bench" / "peers" / "simgrid_messages.py"

# Gbit/s and us: a fast and a slow network.
NETWORKS = [("100", "5"), ("10", "50")]


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=250)


class SimulatedCollectives(unittest.TestCase):
    def rows(self, *words):
        done = run(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_bytes_messages_and_time_are_those_of_the_formulas(self):
        rows = self.rows("--ranks", "2,64,512")
        self.assertEqual([row["ranks"] for row in rows], [2] * 6 + [64] * 6 + [512] * 6)
        for row in rows:
            with self.subTest(row):
                self.assertTrue(row["simulated"])
                self.assertEqual(row["sent_bytes"], row["formula_bytes"])
                self.assertEqual(row["messages"], row["formula_messages"])
                # A phase takes at least the 5 us of its latency, and is rounded up by a nanosecond.
                self.assertGreaterEqual(row["ns"], row["formula_ns"] - 1e-3)
                self.assertLessEqual(row["ns"], row["formula_ns"] * 1.0002)

    def test_an_all_reduce_in_pieces_overlaps_their_phases(self):
        row, = self.rows("--ranks=4", "--collectives=all_reduce", f"--bytes={5 << 20}")
        self.assertEqual(row["messages"], 3 * 2 * 4 * 3)  # a piece has 512 KiB for each rank
        self.assertEqual((row["sent_bytes"], row["messages"]), (row["formula_bytes"], row["formula_messages"]))
        self.assertAlmostEqual(row["ns"] / row["formula_ns"], 1, delta=2e-4)

    # Most ranks have no slice of so few bytes, which leaves the sum of all bytes as it is.
    def test_four_thousand_ranks_in_one_process(self):
        rows = self.rows("--ranks=4096", "--bytes=256", "--check-elements=16",
                         "--collectives=all_reduce,all_reduce_2,ring,tree_combine,broadcast")
        # So many ranks would pass on 1.2 GB of strings.
        rows += self.rows("--ranks=1024", "--collectives=gather_strings", "--check-elements=16")
        self.assertEqual(len(rows), 6)
        for row in rows:
            with self.subTest(row):
                self.assertEqual(row["sent_bytes"], row["formula_bytes"])
                if row["collective"] in ("tree_combine", "broadcast", "gather_strings"):
                    self.assertEqual(row["messages"], row["formula_messages"])
                    self.assertAlmostEqual(row["ns"] / row["formula_ns"], 1, delta=2e-4)

    def compare_with_simgrid(self, ranks, collective, network, size=1_000_004):
        with tempfile.TemporaryDirectory(prefix="ls-") as folder:
            record = pathlib.Path(folder) / "record"
            # The last slices are shorter than the others, so that rates change on the way.
            row, = self.rows(f"--ranks={ranks}", f"--collectives={collective}", f"--bytes={size}", "--check-elements=0",
                             f"--gbit={network[0]}", f"--latency-us={network[1]}", f"--record={record}")
            done = subprocess.run([sys.executable, "-B", PEER, record], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        peer = json.loads(done.stdout)
        self.assertEqual((peer["ranks"], peer["messages"]), (ranks, row["messages"]))
        difference = row["ns"] / peer["ns"] - 1
        print(f"{ranks} ranks, {collective}, {network[0]} Gbit/s, {network[1]} us: simulated {row['ns']} ns, "
              f"SimGrid {peer['ns']:.1f} ns ({100 * difference:+.4f} %)", flush=True)
        # SimGrid does not round to nanoseconds; a phase takes thousands.
        self.assertLess(abs(difference), 0.001)

    def test_simgrid_takes_the_same_time_for_direct_exchange_and_ring(self):
        fast, slow = NETWORKS
        for ranks, collective, network in ((16, "all_reduce", fast), (16, "all_reduce", slow), (16, "ring", fast),
                                           (16, "ring", slow), (64, "all_reduce", fast), (64, "ring", slow)):
            with self.subTest(ranks=ranks, collective=collective, network=network):
                self.compare_with_simgrid(ranks, collective, network)

    def test_simgrid_takes_the_same_time_for_the_others(self):
        for collective in ("all_reduce_2", "tree_combine", "broadcast", "gather_strings"):
            with self.subTest(collective=collective):
                self.compare_with_simgrid(16, collective, NETWORKS[0])

    # The sums of a piece and the operands of the next, shorter one share the links.
    def test_simgrid_takes_the_same_time_for_pieces_that_overlap(self):
        self.compare_with_simgrid(16, "all_reduce", NETWORKS[0], 20_000_004)

    def test_the_table_says_that_it_is_simulated(self):
        done = run("--ranks=8", "--collectives=all_reduce,ring", "--check-elements=100")
        self.assertEqual(done.returncode, 0, done.stderr)
        check, head, _, all_reduce, ring = done.stdout.splitlines()
        self.assertIn("8 ranks summed 100 real f32 elements as the serial tree does", check)
        self.assertTrue(head.startswith("simulated: a link of 100 Gbit/s"), head)
        self.assertRegex(all_reduce, r"^ +8 all_reduce +4194304 +58720256 +58720256 +112 +112 ")
        self.assertRegex(ring, r"^ +8 ring +4194304 +58720256 +58720256 +112 +112 ")

    def test_wrong_words(self):
        for words, message in ((["--ranks=3"], "'3' must be a power of two from 2 to 4096"),
                               (["--ranks=8192"], "'8192' must be"), (["--bytes=6"], "6 must be a multiple of 4"),
                               (["--ranks=2", "--collectives=sum"], "'sum' is not one of all_reduce, "),
                               (["--gbit=0"], "--gbit: 0"), (["--latency-us=-1"], "-1 is negative"),
                               (["--record=x"], "one number of ranks and one collective"),
                               (["--ranks=2", "--collectives=ring", "--record=/no/x"], "'/no/x' cannot be written"),
                               (["--size=4"], "unrecognised")):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
