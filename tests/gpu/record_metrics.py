#!/usr/bin/env python3
"""Scrapes metrics as Prometheus would, where there is none, until SIGTERM, and says what it saw. Standard library alone.

    record_metrics.py JOB=HOST:PORT … --out FILE.om.gz --table METRICS.md [--every SECONDS]

FILE is OpenMetrics with times: `promtool tsdb create-blocks-from openmetrics` makes a Prometheus of it
(tests/metrics/replay.py), so that dashboards show what really was. Prints one line of JSON.
"""
import argparse
import gzip
import json
import re
import signal
import threading
import time
import urllib.request

LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


def scrape(job, address, at):
    """Lines with the labels that Prometheus adds, and how long the answer took."""
    begin = time.monotonic()
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as reply:
        text = reply.read().decode()
    seconds = time.monotonic() - begin
    own = f'job="{job}",instance="{job}"'
    lines, values = [f"up{{{own}}} 1 {at:.3f}"], {}
    for name, labels, value in (match.groups() for match in map(LINE.match, text.splitlines()) if match):
        if value.lower() == "nan":
            continue
        lines.append(f"{name}{{{own}{',' + labels if labels else ''}}} {value} {at:.3f}")
        values[name] = float(value)
    return lines, values, seconds


def asked_for(table, jobs):
    """Names of the sections of docs/metrics.md for these jobs and both, without what histograms are made of."""
    wanted = {"sassay-service": "profiler-service", "sassay-monitor": "reliability-monitor"}
    names = set()
    for section in open(table).read().split("\n## ")[1:]:
        if section.splitlines()[0] in {wanted[job] for job in jobs} | {"Both, of their own process"}:
            names |= set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--every", type=float, default=1.0)
    arguments = parser.parse_args()
    targets = dict(target.split("=") for target in arguments.targets)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    seen, slowest, scrapes, begin = set(), 0.0, 0, time.time()
    first, last, largest = {}, {}, {}
    with gzip.open(arguments.out, "wt") as out:
        while not stop.wait(arguments.every if scrapes else 0):
            for job, address in targets.items():
                lines, values, seconds = scrape(job, address, time.time())
                out.write("\n".join(lines) + "\n")
                seen |= {re.sub(r"_(bucket|sum|count)$", "", name) for name in values} | set(values)
                slowest = max(slowest, seconds)
                cpu = values.get("process_cpu_seconds_total", 0)
                first.setdefault(job, (time.time(), cpu))
                last[job] = (time.time(), cpu)
                largest[job] = max(largest.get(job, 0), values.get("process_resident_memory_bytes", 0))
            scrapes += 1
        out.write("# EOF\n")
    report = {"scrapes": scrapes, "slowest_scrape_ms": round(slowest * 1e3, 2), "seconds": round(time.time() - begin, 1),
              "not_seen": sorted(asked_for(arguments.table, targets) - seen)}
    for job in targets:
        (begun, cpu), (ended, more) = first[job], last[job]
        report[job] = {"cpu_share": round((more - cpu) / max(ended - begun, 1e-9), 5), "rss_mb": round(largest[job] / 1e6, 1)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
