#!/usr/bin/env python3
"""What the dashboards show of metrics that were recorded elsewhere (tests/gpu/record_metrics.py), on a Prometheus of our own.

    replay.py FILE.om.gz                               which panels have data, which have none, and which alerts would have been near
    replay.py FILE.om.gz --plot fleet|service|gpu=OUT.png     the panels, plotted (needs matplotlib)
"""
import argparse
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import queries
from local_prometheus import Started, start_prometheus, wait_for


def import_into(folder, recorded):
    """First and last moment of the recording."""
    text = folder / "recorded.om"
    with gzip.open(recorded, "rb") as read, open(text, "wb") as written:
        shutil.copyfileobj(read, written)
    times = [float(line.rsplit(" ", 1)[1]) for line in text.read_text().splitlines() if line and line[0] != "#"]
    promtool("tsdb", "create-blocks-from", "openmetrics", text, folder / "tsdb")
    return min(times), max(times)


def promtool(*arguments):
    program = queries.find_prometheus(queries.SOURCES, "promtool")
    ran = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"promtool {arguments}: {ran.stdout}{ran.stderr}")


def quiet_configuration(folder):
    (folder / "prometheus.yml").write_text("global: {}\n")
    return folder / "prometheus.yml"


def opened(folder, started, begin, end):
    """Prometheus with the recording rules evaluated over the recording."""
    first = Started(folder)
    prometheus = start_prometheus(first, queries.SOURCES, quiet_configuration(folder), folder / "tsdb")
    wait_for("Prometheus answers", prometheus.answers)
    promtool("tsdb", "create-blocks-from", "rules", f"--start={begin:.0f}", f"--end={end:.0f}", "--eval-interval=1s",
             f"--url=http://{prometheus.address}", f"--output-dir={folder / 'tsdb'}", queries.PROMETHEUS / "recording.rules.yml")
    first.end()
    prometheus = start_prometheus(started, queries.SOURCES, quiet_configuration(folder), folder / "tsdb")
    wait_for("Prometheus answers", prometheus.answers)
    return prometheus


def series(prometheus, expr, begin, end):
    found = prometheus.get("query_range", query=expr, start=begin, end=end, step=1)["result"]
    return [one for one in found if any(value != "NaN" for _, value in one["values"])]


def legend(target, labels):
    text = re.sub(r"{{(\w+)}}", lambda match: labels.get(match.group(1), ""), target["legendFormat"])
    return text if text != "__auto" else ""


def plot(prometheus, uuid, name, path, begin, end):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot
    dashboard = json.loads((queries.DASHBOARDS / f"{name}.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] in ("timeseries", "state-timeline")]
    figure, places = pyplot.subplots((len(panels) + 2) // 3, 3, figsize=(16, 2.6 * ((len(panels) + 2) // 3)), layout="constrained")
    for panel, place in zip(panels, places.flat):
        place.set_title(f"{panel['title']} [{panel['fieldConfig']['defaults']['unit']}]", fontsize=9)
        place.tick_params(labelsize=7)
        for target in panel["targets"]:
            for one in series(prometheus, queries.filled_in(target["expr"], uuid), begin, end):
                place.plot([at - begin for at, _ in one["values"]], [float(value) for _, value in one["values"]], linewidth=1,
                           drawstyle="steps-post", label=legend(target, one["metric"]).replace(uuid, uuid[:12])[:40])
        if place.lines and len(place.lines) < 9:
            place.legend(fontsize=6)
        place.set_xlim(0, end - begin)
    for place in list(places.flat)[len(panels):]:
        place.axis("off")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("--plot", action="append", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, started = pathlib.Path(name), Started(pathlib.Path(name))
        try:
            begin, end = import_into(folder, arguments.recorded)
            prometheus = opened(folder, started, begin, end)
            gpus = series(prometheus, "sassay_gpu_temperature_celsius", begin, end)
            uuid = gpus[0]["metric"]["UUID"] if gpus else ""
            asked = list(queries.panels())
            empty = [title for title, expr in asked if not series(prometheus, queries.filled_in(expr, uuid), begin, end)]
            print(f"{len(asked) - len(empty)} of {len(asked)} queries have data over {end - begin:.0f} s")
            for title in empty:
                print(f"  without: {title}")
            for alert, expr in queries.alerts().items():
                if series(prometheus, expr, begin, end):
                    print(f"  the condition of {alert} held at some moment")
            for wanted in arguments.plot:
                plot(prometheus, uuid, *wanted.split("=", 1), begin, end)
        finally:
            started.end()


if __name__ == "__main__":
    main()
