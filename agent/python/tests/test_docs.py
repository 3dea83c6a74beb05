"""Runs the examples of docs/python.md as they are printed, and holds what they say they print against what they print."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ["SASSAY_TEST_SOURCE"])
EXAMPLE = re.compile(r"<!-- python_test: (\w+) -->\n```python\n(.*?)```\n", re.S)


class Docs(unittest.TestCase):
    def run_example(self, name):
        examples = dict(EXAMPLE.findall((ROOT / "docs/python.md").read_text()))
        done = subprocess.run([sys.executable, "-c", examples[name]], cwd=ROOT, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_block_is_an_example_that_is_run(self):
        text = (ROOT / "docs/python.md").read_text()
        self.assertEqual(text.count("```python"), len(EXAMPLE.findall(text)))
        self.assertEqual({name for name, _ in EXAMPLE.findall(text)}, {"one", "many", "reward"})

    def test_one(self):
        self.assertEqual(self.run_example("one"), "CORRECT True None\n")

    def test_many(self):
        lines = sorted(line.split()[:2] for line in self.run_example("many").splitlines() if line[:1].isdigit())
        self.assertEqual(lines, [["0", "True"], ["1", "False"]])

    def test_reward(self):
        self.assertEqual(self.run_example("reward"), "[1.0, 0.0]\n")


if __name__ == "__main__":
    unittest.main()
