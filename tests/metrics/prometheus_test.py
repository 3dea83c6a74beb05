#!/usr/bin/env python3
"""Every panel, recording rule and alert of deploy/ against a real Prometheus that scraped a real service under a scripted
load, and the monitor.

    prometheus_test.py --sources DIR --programs DIR --monitor COMMAND… [--keep DIR]

Ports are free ones of the loopback, what is started is ended. Exit status 77: skipped, with the reason.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import queries

SKIPPED = 77
PATIENCE = 120  # seconds until everything must have been scraped and recorded


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

    def ready(self):
        with contextlib.suppress(OSError):
            return all(target["health"] == "up" for target in self.get("targets")["activeTargets"])


def configuration(folder, targets):
    """deploy/prometheus as it is, but for the targets and an interval of one second."""
    text = (queries.PROMETHEUS / "prometheus.yml").read_text()
    for job, target in targets.items():
        text, replaced = re.subn(rf"(- job_name: {job}\n.*\n.*targets: \[)[^]]*", rf'\g<1>"{target}"', text)
        assert replaced == 1, job
    text = re.sub(r"(scrape_interval|evaluation_interval): \d+s", r"\1: 1s", text)
    (folder / "prometheus.yml").write_text(text)
    for rules in ("recording.rules.yml", "alerts.rules.yml"):
        # Groups of rules are spread over their interval; the text is the same.
        shutil.copy(queries.PROMETHEUS / rules, folder / rules)
    return folder / "prometheus.yml"


def free_port():
    """Prometheus 2.42 cannot say which port it took. Nobody else asks for this one before it does, or it says so."""
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Load:
    """Verdicts of several kinds, refused calls."""

    def __init__(self, programs, sources, service, folder):
        self.agent = [programs / "mini-ptx-agent"]
        self.service = ["--service", service]
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        self.right = sources / "agent/examples/gemm_tiled.cu"
        self.wrong = sources / "tests/hostile/cheating/prints_passed.cu"

    def submit(self, kernel):
        ran = subprocess.run([*self.agent, "submit", kernel, "--workload", "gemm_n256_k256/M=64", *self.service, "--json"],
                             capture_output=True, text=True, env=self.environment)
        if ran.returncode not in (0, 1):
            raise SystemExit(f"FAILED: {kernel.name}: {ran.returncode} {ran.stderr[-2000:]}")
        return ran.returncode

    def once(self):
        assert self.submit(self.right) == 0, "an honest kernel was not judged CORRECT"
        assert self.submit(self.wrong) == 1, "a kernel that only says so was judged CORRECT"
        subprocess.run([*self.agent, "attach", "s0000000000000000000000000", *self.service], capture_output=True, env=self.environment)


def uuid_of(prometheus):
    found = prometheus.ask("sassay_gpu_temperature_celsius")
    return found[0]["metric"]["UUID"] if found else None


def has_data(prometheus, expr):
    """A number at this moment; NaN is none."""
    return any(series["value"][1] != "NaN" for series in prometheus.ask(expr))


def check_queries(prometheus, load):
    """Each must answer; what needs two scrapes of a moving counter is waited for while the load goes on."""
    uuid = wait_for("a GPU is shown", lambda: uuid_of(prometheus))
    open_ones = {title: queries.filled_in(expr, uuid) for title, expr in queries.panels()}
    open_ones = {f"{title}: {expr}": expr for title, expr in open_ones.items()}
    for name in queries.recordings():
        open_ones[f"recording {name}"] = name
    for name, expr in queries.alerts().items():
        for metric in queries.names_in(expr):
            open_ones[f"alert {name} reads {metric}"] = metric
    asked = len(open_ones)

    def probe():
        for title in [title for title, expr in open_ones.items() if has_data(prometheus, expr)]:
            del open_ones[title]
        if open_ones:
            load.once()
        return not open_ones
    try:
        wait_for("all queries", probe)
    except SystemExit:
        raise SystemExit("FAILED: without data:\n  " + "\n  ".join(sorted(open_ones)))
    return asked


def check_rules(prometheus):
    groups = prometheus.get("rules")["groups"]
    for rule in [rule for group in groups for rule in group["rules"]]:
        if rule["health"] != "ok":
            raise SystemExit(f"FAILED: rule {rule['name']}: {rule['health']} {rule.get('lastError', '')}")


def check_names(prometheus):
    """What was scraped is what docs/metrics.md lists, and nothing else of ours."""
    scraped = set(prometheus.get("label/__name__/values"))
    ours = {name for name in scraped if name.startswith(("sassay_", "process_"))}
    unknown = ours - queries.documented_metrics()
    if unknown:
        raise SystemExit(f"FAILED: exported and not in docs/metrics.md: {sorted(unknown)}")


def run(arguments, folder, started):
    service = started.start("service", arguments.programs / "profiler-service", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                            "--device", "emulated:sm_90a", "--state", folder / "state", *arguments.service_flags.split())
    address = started.announced("service", service, r"listen=(\S+)")
    service_metrics = started.announced("service", service, r"metrics=(\S+)")
    command = [word.replace("{service}", address).replace("{folder}", str(folder)) for word in arguments.monitor]
    monitor = started.start("monitor", *command)
    monitor_metrics = started.announced("monitor", monitor, r"metrics=(\S+)")
    own = f"127.0.0.1:{free_port()}"
    started.start("prometheus", queries.find_prometheus(arguments.sources, "prometheus"),
                  f"--config.file={configuration(folder, {'sassay-service': service_metrics, 'sassay-monitor': monitor_metrics})}",
                  f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={own}")
    prometheus = Prometheus(own)
    load = Load(arguments.programs, arguments.sources, address, folder)
    load.once()
    wait_for("Prometheus scrapes both", prometheus.ready)
    asked = check_queries(prometheus, load)
    wait_for("every rule was evaluated", lambda: all(
        rule["health"] != "unknown" for group in prometheus.get("rules")["groups"] for rule in group["rules"]))
    check_rules(prometheus)
    check_names(prometheus)
    print(f"passed: {asked} queries have data, {len(queries.alerts())} alerts and {len(queries.recordings())} recordings evaluate")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--service-flags", default="")
    parser.add_argument("--monitor", nargs="+", required=True, help="{service} and {folder} are replaced")
    arguments = parser.parse_args()
    if not queries.find_prometheus(arguments.sources, "prometheus"):
        print("skipped: there is no prometheus; deploy/install_dependencies.sh brings it")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        started = Started(pathlib.Path(name))
        try:
            run(arguments, pathlib.Path(name), started)
        finally:
            started.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
