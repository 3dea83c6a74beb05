"""Runs one suite of a test program of this folder, or skips it with a reason."""
import argparse
import importlib.util
import pathlib
import sys
import unittest

SKIPPED = 77


def main(module, suites, needs=None):
    """Sets module.ARGUMENTS (sources, build, programs, suite). `needs`: suite -> (Python module, package that has it)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("suite", choices=suites)
    module.ARGUMENTS = parser.parse_args()
    module.ARGUMENTS.programs = module.ARGUMENTS.build / "bin"
    needed = (needs or {}).get(module.ARGUMENTS.suite)
    if needed and importlib.util.find_spec(needed[0]) is None:
        print(f"skipped: there is no {needed[1]}; deploy/install_dependencies.sh brings it")
        return SKIPPED
    suite = unittest.defaultTestLoader.loadTestsFromName(module.ARGUMENTS.suite, module)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1
