#!/usr/bin/env python3
"""The command line of a node's container, run: a monitor that starts the service and watches it, and that ends with it.

    supervised_test.py --sources DIR --build DIR SUITE
"""
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import printed
import suites

PATIENCE = 120
# The default rules restart a service that is silent for ten seconds; one that is up must be heard well before.
HEARD_WITHIN = 4
# An end that was asked for takes as long as the service takes, not as long as it may take (--drain).
DRAIN, ENDS_WITHIN = 90, 45


def free_port():
    """One that was free a moment ago: monitor and service must be told the same."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Node:
    """The two programs, with what they print and when."""

    def __init__(self, folder):
        programs, service = ARGUMENTS.build / "bin", f"127.0.0.1:{free_port()}"
        self.monitor = subprocess.Popen(
            [programs / "reliability-monitor", f"--state={folder}", f"--service={service}", "--metrics=127.0.0.1:0", f"--drain={DRAIN}s",
             "--supervise", "--", programs / "profiler-service", f"--listen={service}", "--metrics=127.0.0.1:0", f"--state={folder}",
             "--device=emulated:sm_90a"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.printed = printed.Printed(self.monitor)

    def seen(self, pattern):
        """When the first such line came."""
        return self.printed.seen(pattern, PATIENCE)[0]

    def end(self):
        self.monitor.terminate()
        self.printed.wait(PATIENCE)


class SupervisedTest(unittest.TestCase):
    def test_a_service_that_comes_up_is_heard_before_it_would_be_restarted_and_its_end_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            node = Node(folder)
            try:
                listening = node.seen("^listen=")
                self.assertLess(node.seen("'reliability-monitor' watches") - listening, HEARD_WITHIN)
            finally:
                began = time.monotonic()
                node.end()
            self.assertLess(time.monotonic() - began, ENDS_WITHIN)
            self.assertEqual(node.monitor.returncode, 0)
            self.assertEqual([line for _, line in node.printed.lines if "killing the service" in line], [])


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["SupervisedTest"]))
