"""What deploy/prometheus and deploy/grafana ask of Prometheus. The rule files are read by the little of YAML that they
use, so that a test needs nothing that Python does not bring."""
import json
import pathlib
import re
import shutil

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PROMETHEUS = SOURCES / "deploy/prometheus"
DASHBOARDS = SOURCES / "deploy/grafana/dashboards"


def find_prometheus(sources, program):
    """Where deploy/install_dependencies.sh puts it, or where the system has it."""
    own = sources / ".venv/prometheus" / program
    return own if own.exists() else shutil.which(program)


def rules(file, kind):
    """Name to expression of each rule."""
    found = {}
    lines = (PROMETHEUS / file).read_text().splitlines()
    for at, line in enumerate(lines):
        name = re.match(rf" +- {kind}: (\S+)$", line)
        if name:
            found[name.group(1)] = expression(lines[at + 1:])
    return found


def expression(lines):
    for at, line in enumerate(lines):
        begin = re.match(r"( +)expr: (.*)$", line)
        if begin and begin.group(2) != "|":
            return begin.group(2)
        if begin:
            rest = []
            for more in lines[at + 1:]:
                if not more.startswith(begin.group(1) + " "):
                    break
                rest.append(more.strip())
            return " ".join(rest)
    raise ValueError("a rule without expr")


def alerts():
    return rules("alerts.rules.yml", "alert")


def recordings():
    return rules("recording.rules.yml", "record")


def panels():
    """(dashboard and title, expression) of every query, annotations and variables included."""
    for path in sorted(DASHBOARDS.glob("*.json")):
        read = json.loads(path.read_text())
        for panel in read["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']}", target["expr"]
        for annotation in read["annotations"]["list"]:
            yield f"{path.stem}: annotation {annotation['name']}", annotation["expr"]
        for variable in read["templating"].get("list", []):
            wanted = re.match(r"label_values\((.+), (\w+)\)", variable["query"])
            yield f"{path.stem}: variable {variable['name']}", f"count by ({wanted.group(2)}) ({wanted.group(1)})"


def documented_metrics(section=None):
    """Of docs/metrics.md, with what Prometheus makes of histograms."""
    names = set()
    for text in (SOURCES / "docs/metrics.md").read_text().split("\n## ")[1:]:
        if section not in (None, text.splitlines()[0]):
            continue
        for name, kind in re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE):
            names |= {name + end for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return names


def names_in(expr):
    """Metrics that an expression reads."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    return set(re.findall(r"\b(?:sassay[_:][\w:]+|process_\w+|up)\b(?!\s*=)", bare)) - {"up"} | (
        {"up"} if re.search(r"\bup{", bare) else set())


def filled_in(expr, uuid):
    """With Grafana's variables replaced, for an interval of one second."""
    return expr.replace("$__rate_interval", "1m").replace("$stage", ".*").replace("$UUID", uuid)
