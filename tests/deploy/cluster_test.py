#!/usr/bin/env python3
"""deploy/cluster.sh, as somebody runs it who tries a cluster out.

    cluster_test.py --sources DIR --build DIR SUITE
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import printed
import suites

PATIENCE = 180


class Cluster:
    """The script in a process group of its own, and what it prints."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            ["bash", ARGUMENTS.sources / "deploy/cluster.sh", "--programs", ARGUMENTS.programs, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.printed = printed.Printed(self.process)

    def seen(self, pattern):
        """The first match of a line that it prints."""
        return self.printed.seen(pattern, PATIENCE)[1]

    def interrupt(self):
        """Ctrl-C: its exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.printed.wait(PATIENCE)


def running(state):
    """Command lines of programs that use the folder."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f"{state}/" in line and "profiler-" in line]


class OneHostTest(unittest.TestCase):
    def test_a_submission_runs_a_node_may_die_and_ctrl_c_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as state:
            cluster = Cluster("--nodes", "2", "--state", state)
            self.addCleanup(lambda: cluster.process.poll() is None and cluster.interrupt())
            said = cluster.seen(r"export SASSAY_SERVICE=(\S+) SASSAY_TOKEN_FILE=(\S+)")
            environment = {"HOME": state, "PATH": os.environ["PATH"], "SASSAY_SERVICE": said[1], "SASSAY_TOKEN_FILE": said[2]}
            for name in ("CUDA_HOME", "SASSAY_CUDA_HOME", "LD_LIBRARY_PATH"):
                if name in os.environ:
                    environment[name] = os.environ[name]

            def run(program, *arguments, token=said[2]):
                return subprocess.run([ARGUMENTS.programs / program, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                                      cwd=ARGUMENTS.sources, env={**environment, "SASSAY_TOKEN_FILE": token})

            submit = ("submit", "agent/examples/gemm_tiled.cu", "--workload", "gemm_n256_k256/M=16")
            first = run("mini-ptx-agent", *submit)
            self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
            self.assertIn("CORRECT", first.stdout)
            gpus = run("sassay-admin", "gpus", token=f"{state}/operator.token")
            self.assertEqual(gpus.returncode, 0, gpus.stdout + gpus.stderr)
            for node in ("node1", "node2"):
                self.assertIn(f"emulated:sm_90a#0@{node}", gpus.stdout)
            killed = int(cluster.seen(r"kill -KILL (\d+)")[1])
            os.kill(killed, signal.SIGKILL)
            cluster.seen("node1 has ended; the others go on")
            second = run("mini-ptx-agent", *submit, "--fresh")
            self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
            self.assertEqual(cluster.interrupt(), 0, cluster.printed.text())
            self.assertEqual(running(state), [])

    def test_says_what_is_wrong_with_its_arguments(self):
        for arguments, said in ((("--nodes", "many"), "expected 1 to 99, got 'many'"), (("--bogus",), "--bogus is not known"),
                                (("--nodes",), "--nodes needs a value")):
            ran = subprocess.run(["bash", ARGUMENTS.sources / "deploy/cluster.sh", *arguments], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(said, ran.stderr)


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["OneHostTest"]))
