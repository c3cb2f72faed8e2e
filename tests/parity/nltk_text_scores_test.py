"""BLEU-4 of random texts equals that of NLTK's corpus_bleu, and exact matches are those that Python finds.

    python3 -B nltk_text_scores_test.py TEXT_SCORES_COMMAND; exit code 77: no NLTK here
"""
import json
import random
import subprocess
import sys
import unittest
import warnings

try:
    from nltk.translate.bleu_score import corpus_bleu
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

PAIRS = 1000


def random_text(dice, words):
    """Of few different words, so that n-grams of four match, with whitespace of all kinds."""
    text = ["a", "b", "c.", "D", "é"]
    return dice.choice(["", " "]) + dice.choice([" ", "\n\t", "  "]).join(
        dice.choice(text) for _ in range(words))


def random_pair(dice):
    references = [random_text(dice, dice.randrange(0, 20)) for _ in range(dice.randrange(1, 6))]
    if dice.random() < 0.2:
        return dice.choice(references).replace(" ", "\t"), references
    return random_text(dice, dice.choice([0, 1, 2, 3, 4, 8, 12, 25])), references


def bleu(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of n-grams without a match, where the result is 0
        return corpus_bleu([[r.split() for r in references] for _, references in corpus],
                           [text.split() for text, _ in corpus])


class TextScores(unittest.TestCase):
    def test_equal_those_of_nltk(self):
        dice = random.Random(5)
        pairs = [random_pair(dice) for _ in range(PAIRS)]
        corpora = [pairs] + [[pair] for pair in pairs] + [
            pairs[first:first + dice.randrange(2, 40)] for first in range(0, PAIRS, 5)]
        outcome = subprocess.run([COMMAND], input=json.dumps(corpora), capture_output=True, text=True)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        found = json.loads(outcome.stdout)
        self.assertEqual(len(found), len(corpora))
        positive = 0
        for corpus, (score, exact) in zip(corpora, found):
            self.assertAlmostEqual(score, bleu(corpus), delta=1e-9, msg=str(corpus))
            same = [text.split() in [r.split() for r in references] for text, references in corpus]
            self.assertAlmostEqual(exact, sum(same) / len(same), delta=1e-12, msg=str(corpus))
            positive += score > 0.01
        self.assertGreater(positive, len(corpora) // 4)
        print(f"\n    {len(corpora)} corpora, {positive} with a BLEU above 0.01; all pairs: {found[0][0]:.6f}")


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
