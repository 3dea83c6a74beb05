#!/usr/bin/env python3
"""deploy/systemd against the programs that it starts; what systemd says of it is in tests/metrics/deploy_files_test.py.

    systemd_test.py --sources DIR --build DIR SUITE
"""
import pathlib
import re
import shlex
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import programs
import suites


def command_lines(text):
    """Of ExecStart= and of the variables that comments show, as words."""
    joined = text.replace("\\\n", " ")
    for line in re.findall(r"^ExecStart=(\S.*)$", joined, re.M):
        yield shlex.split(line)
    for flags in re.findall(r"^# (?:.*: )?SASSAY_\w*FLAGS=(.*)$", joined, re.M) + re.findall(r"as SASSAY_\w*FLAGS=(.*)$", joined, re.M):
        yield [None, *flags.split()]


class ProgramsTest(unittest.TestCase):
    def test_flags_are_those_of_the_programs(self):
        seen = 0
        for path in (ARGUMENTS.sources / "deploy/systemd").rglob("*"):
            if path.suffix not in (".service", ".conf"):
                continue
            program = "reliability-monitor" if "monitor" in path.name else "profiler-service"
            for words in command_lines(path.read_text()):
                flags = {w.split("=")[0] for w in words[1:] if w.startswith("--")}
                if words[0] is not None:
                    self.assertEqual(pathlib.Path(words[0]).name, program)
                seen += 1
                with self.subTest(unit=path.name, flags=flags):
                    self.assertTrue(flags)
                    self.assertEqual(flags - programs.flags_of(ARGUMENTS.build / "bin", (program,)), set())
        self.assertGreaterEqual(seen, 4)


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["ProgramsTest"]))
