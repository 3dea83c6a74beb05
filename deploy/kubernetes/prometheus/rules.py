#!/usr/bin/env python3
"""Makes rules.yaml, a PrometheusRule, of deploy/prometheus. Without --print it is written beside this file."""
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
HEADER = "# Made by rules.py of deploy/prometheus/*.rules.yml; change those.\n"


def groups():
    for name in ("recording.rules.yml", "alerts.rules.yml"):
        yield from yaml.safe_load((HERE.parents[1] / "prometheus" / name).read_text())["groups"]


def rendered():
    rule = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "sassay"},
            "spec": {"groups": list(groups())}}
    return HEADER + yaml.safe_dump(rule, sort_keys=False, width=200)


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(rendered())
    else:
        (HERE / "rules.yaml").write_text(rendered())
