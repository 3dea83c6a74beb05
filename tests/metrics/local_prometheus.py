"""A Prometheus of our own on the loopback, and processes that end with whoever started them."""
import contextlib
import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import queries

PATIENCE = 240  # seconds until everything must have been scraped and recorded, also with sanitizers


def wait_for(what, probe, seconds=PATIENCE):
    """Asks until `probe` gives something; a busy machine is given time, a quick one is not kept waiting."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = probe()
        if answer:
            return answer
        time.sleep(0.1)
    raise SystemExit(f"FAILED: {what} within {seconds} s")


class Started:
    """Processes that end with the test."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []

    def start(self, name, *command, environment=None):
        out = self.folder / f"{name}.out"
        with open(out, "wb") as stdout, open(self.folder / f"{name}.err", "wb") as stderr:
            process = subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=stderr,
                                       env={**os.environ, **(environment or {})})
        self.processes.append((name, process))
        return process, out

    def announced(self, name, started, pattern):
        process, out = started

        def probe():
            if process.poll() is not None:
                raise SystemExit(f"FAILED: {name} ended: {(self.folder / f'{name}.err').read_text()[-2000:]}")
            return re.search(pattern, out.read_text())
        return wait_for(f"{name} says {pattern}", probe).group(1)

    def end(self):
        for name, process in reversed(self.processes):
            process.terminate()
        for name, process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise SystemExit(f"FAILED: {name} did not end when told to")


class Prometheus:
    def __init__(self, address):
        self.address = address

    def get(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAILED: {parameters}: {error.read().decode()}")

    def ask(self, expr):
        return self.get("query", query=expr)["result"]

    def answers(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=10) as reply:
            return reply.status == 200

    def ready(self):
        """Every target was scraped."""
        return self.answers() and all(target["health"] == "up" for target in self.get("targets")["activeTargets"])


def free_port():
    """Prometheus 2.42 cannot say which port it took. Nobody else asks for this one before it does, or it says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_prometheus(started, sources, configuration, data):
    own = f"127.0.0.1:{free_port()}"
    started.start("prometheus", queries.find_prometheus(sources, "prometheus"), f"--config.file={configuration}",
                  f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=10y", f"--web.listen-address={own}")
    return Prometheus(own)
