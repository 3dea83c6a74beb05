#!/usr/bin/env python3
"""Every panel, recording rule and alert of deploy/ against a real Prometheus that scraped a real service under a scripted
load, a front end with a node, a builder, and a real monitor on a scripted NVML.

    prometheus_test.py --sources DIR --programs DIR --nvml DIR --canary PROGRAM

The emulated device has no canary, because it has no times: what shows a canary gets it from PROGRAM, the exporter with a
script. Ports are free ones of the loopback, what is started is ended. Exit status 77: skipped, with the reason.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import queries
from local_prometheus import Started, start_prometheus, wait_for

SKIPPED = 77
GPUS = """gpu GPU-5c41pted temperature=44 margin=43 clock=1980 memory_clock=2619 power=310 limit=700 utilization=35 reasons=4 ecc=0 \
ecc_corrected=3 remap_pending=0 remap_failed=0 replay=0 xid=43
gpu GPU-0th3r temperature=51 margin=36 clock=1755 memory_clock=2619 power=690 limit=700 utilization=99 reasons=4 ecc=0 \
ecc_corrected=0 remap_pending=0 remap_failed=0 replay=1
""".replace("\\\n", "")
# What the real monitor does not have here: a canary.
ELSEWHERE = {"sassay_canary_seconds", "sassay_canary_ratio", "sassay_canary_age_seconds"}


def configuration(folder, jobs):
    """deploy/prometheus as it is, but for the targets and an interval of one second."""
    text = (queries.PROMETHEUS / "prometheus.yml").read_text()
    for job, targets in jobs.items():
        quoted = ", ".join(f'"{target}"' for target in targets)
        text, replaced = re.subn(rf"(- job_name: {job}\n.*\n.*targets: \[)[^]]*", rf"\g<1>{quoted}", text)
        assert replaced == 1, job
    text = re.sub(r"(scrape_interval|evaluation_interval): \d+s", r"\1: 1s", text)
    (folder / "prometheus.yml").write_text(text)
    for rules in ("recording.rules.yml", "alerts.rules.yml"):
        # Groups of rules are spread over their interval; the text is the same.
        shutil.copy(queries.PROMETHEUS / rules, folder / rules)
    return folder / "prometheus.yml"


class Load:
    """Verdicts of several kinds, refused calls."""

    def __init__(self, programs, sources, service, folder):
        self.agent = [programs / "mini-ptx-agent"]
        self.service = ["--service", service]
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        self.right = sources / "agent/examples/gemm_tiled.cu"
        self.wrong = sources / "tests/hostile/cheating/prints_passed.cu"

    def submit(self, kernel):
        ran = subprocess.run([*self.agent, "submit", kernel, "--workload", "gemm_n256_k256/M=64", *self.service, "--fresh", "--json"],
                             capture_output=True, text=True, env=self.environment)
        if ran.returncode not in (0, 1):
            raise SystemExit(f"FAILED: {kernel.name}: {ran.returncode} {ran.stderr[-2000:]}")
        return ran.returncode

    def once(self):
        assert self.submit(self.right) == 0, "an honest kernel was not judged CORRECT"
        assert self.submit(self.wrong) == 1, "a kernel that only says so was judged CORRECT"
        subprocess.run([*self.agent, "attach", "s0000000000000000000000000", *self.service], capture_output=True, env=self.environment)


def has_data(prometheus, exprs):
    """A number at this moment for one of them; NaN is none."""
    return any(series["value"][1] != "NaN" for expr in exprs for series in prometheus.ask(expr))


def asked(uuids):
    """What is asked to what it asks, for each GPU that can be chosen."""
    all_of_them = {f"{title}: {expr}": [queries.filled_in(expr, uuid) for uuid in uuids] for title, expr in queries.panels()}
    all_of_them.update({f"recording {name}": [name] for name in queries.recordings()})
    for name, expr in queries.alerts().items():
        all_of_them.update({f"alert {name} reads {metric}": [metric] for metric in queries.names_in(expr)})
    return all_of_them


def check_queries(prometheus, load):
    """Each must answer; what needs two scrapes of a moving counter is waited for while the load goes on."""
    def gpus():
        return {series["metric"]["UUID"] for series in prometheus.ask("sassay_gpu_state")}
    wait_for("GPUs are shown", lambda: len(gpus()) >= 3)
    waited = asked(gpus())
    count = len(waited)

    def probe():
        for title in [title for title, exprs in waited.items() if has_data(prometheus, exprs)]:
            del waited[title]
        if waited:
            load.once()
        return not waited
    try:
        wait_for("all queries", probe)
    except SystemExit:
        raise SystemExit("FAILED: without data:\n  " + "\n  ".join(sorted(waited)))
    return count


def check_rules(prometheus):
    groups = prometheus.get("rules")["groups"]
    for rule in [rule for group in groups for rule in group["rules"]]:
        if rule["health"] != "ok":
            raise SystemExit(f"FAILED: rule {rule['name']}: {rule['health']} {rule.get('lastError', '')}")


def names(prometheus, **labels):
    chosen = "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
    found = prometheus.get("series", **{"match[]": chosen})
    return {series["__name__"] for series in found if series["__name__"].startswith(("sassay_", "process_"))}


def check_names(prometheus, service, monitor):
    """What each program exports is what docs/metrics.md lists for it; what is read seldom from a GPU is waited for."""
    for section, instance, missing in (("profiler-service", service, set()), ("reliability-monitor", monitor, ELSEWHERE)):
        wanted = (queries.documented_metrics(section) | queries.documented_metrics("Both, of their own process")) - missing
        try:
            wait_for(f"{section}: all metrics", lambda: wanted <= names(prometheus, instance=instance))
        except SystemExit:
            raise SystemExit(f"FAILED: {section}: not exported {sorted(wanted - names(prometheus, instance=instance))}")
        if strange := names(prometheus, instance=instance) - wanted:
            raise SystemExit(f"FAILED: {section}: not in docs/metrics.md {sorted(strange)}")


def start_monitor(arguments, folder, started, service):
    (folder / "gpus").write_text(GPUS)
    monitor = started.start("monitor", arguments.programs / "reliability-monitor", "--service", service, "--metrics", "127.0.0.1:0",
                            "--state", folder / "state",
                            environment={"LD_LIBRARY_PATH": str(arguments.nvml), "SASSAY_SCRIPTED_NVML": str(folder / "gpus")})
    return started.announced("monitor", monitor, r"metrics=(\S+)")


def start_roles(arguments, folder, started):
    """A front end with a node, and a builder that built once: where each tells its metrics, by the section of docs/metrics.md."""
    program = arguments.programs / "profiler-service"
    tokens = folder / "tokens"
    def token(name, role):
        made = subprocess.run([program, "token", "add", name, "--role", role, "--token-file", tokens], capture_output=True, text=True, check=True)
        file = folder / f"{name}.token"
        file.touch(mode=0o600)
        file.write_text(made.stdout)
        return file
    def start(role, *flags):
        process = started.start(role, program, "--role", role, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", *flags)
        return started.announced(role, process, r"listen=(\S+)"), started.announced(role, process, r"metrics=(\S+)")
    joins = token("nodes", "node")
    front_end, of_front_end = start("frontend", "--state", folder / "front_end", "--token-file", tokens)
    _, of_node = start("node", "--join", front_end, "--join-token-file", joins, "--node-name", "n1", "--state", folder / "node",
                       "--device", "emulated:sm_90a")
    builder, of_builder = start("builder")
    subprocess.run([arguments.programs / "mini-ptx-agent", "compile", arguments.sources / "agent/examples/gemm_tiled.cu", "--workload",
                    "gemm_n256_k256/M=64", "--builder", builder, "-o", folder / "built.bundle"], check=True, capture_output=True,
                   env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})
    return {"profiler-service where nodes are admitted, besides": of_front_end, "profiler-service --role node, besides": of_node,
            "profiler-service --role builder": of_builder}


def check_roles(prometheus, roles):
    """What a role adds is there. Nothing is refused to anybody here, so nobody counts refusals."""
    for section, instance in roles.items():
        missing = queries.documented_metrics(section) - names(prometheus, instance=instance) - {"sassay_rpcs_refused_total"}
        if missing:
            raise SystemExit(f"FAILED: {section}: not exported {sorted(missing)}")


def run(arguments, folder, started):
    service = started.start("service", arguments.programs / "profiler-service", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                            "--device", "emulated:sm_90a", "--state", folder / "state")
    address = started.announced("service", service, r"listen=(\S+)")
    service = started.announced("service", service, r"metrics=(\S+)")
    monitor = start_monitor(arguments, folder, started, address)
    canary = started.announced("canary", started.start("canary", arguments.canary), r"metrics=(\S+)")
    roles = start_roles(arguments, folder, started)
    jobs = {"sassay-service": [service, *roles.values()], "sassay-monitor": [monitor, canary]}
    prometheus = start_prometheus(started, arguments.sources, configuration(folder, jobs), folder / "tsdb")
    load = Load(arguments.programs, arguments.sources, address, folder)
    load.once()
    wait_for("Prometheus scrapes all", prometheus.ready)
    count = check_queries(prometheus, load)
    wait_for("every rule was evaluated", lambda: all(
        rule["health"] != "unknown" for group in prometheus.get("rules")["groups"] for rule in group["rules"]))
    check_rules(prometheus)
    check_names(prometheus, service, monitor)
    check_roles(prometheus, roles)
    print(f"passed: {count} queries have data, {len(queries.alerts())} alerts and {len(queries.recordings())} recordings evaluate")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--nvml", type=pathlib.Path, required=True)
    parser.add_argument("--canary", type=pathlib.Path, required=True)
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
