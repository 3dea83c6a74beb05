#!/usr/bin/env python3
"""Rules, dashboards and units of deploy/ against the table of metrics, Grafana's schema, systemd and the operations page.

    deploy_files_test.py --sources DIR [--promtool PROGRAM]      exit status 77: skipped, with the reason
"""
import argparse
import contextlib
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import queries

SKIPPED = 77


class RulesTest(unittest.TestCase):
    def test_promtool_accepts_the_configuration(self):
        self.promtool("check", "config", str(queries.PROMETHEUS / "prometheus.yml"))

    def test_each_rule_does_what_its_unit_test_says(self):
        self.promtool("test", "rules", str(queries.PROMETHEUS / "rules.test.yml"))

    def promtool(self, *arguments):
        ran = subprocess.run([ARGUMENTS.promtool, *arguments], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_each_alert_is_seen_firing_in_a_unit_test(self):
        text = (queries.PROMETHEUS / "rules.test.yml").read_text()
        firing = set(re.findall(r"alertname: (\w+)\n +exp_alerts:\n", text))
        self.assertEqual(firing, set(queries.alerts()))

    def test_each_alert_has_its_section_on_the_operations_page(self):
        page = (ARGUMENTS.sources / "docs/operations.md").read_text()
        self.assertEqual(set(re.findall(r"^### (Sassay\w+)$", page, re.MULTILINE)), set(queries.alerts()))

    def test_the_page_for_clusters_speaks_of_alerts_that_there_are(self):
        page = (ARGUMENTS.sources / "docs/cluster/runbooks.md").read_text()
        named = set(re.findall(r"Sassay[A-Z]\w+", page))
        self.assertTrue(named)
        self.assertLessEqual(named, set(queries.alerts()))

    def test_rules_ask_for_metrics_that_exist(self):
        known = queries.documented_metrics() | set(queries.recordings()) | {"up"}
        for name, expr in {**queries.alerts(), **queries.recordings()}.items():
            self.assertLessEqual(queries.names_in(expr), known, name)


class UnitsTest(unittest.TestCase):
    # What `systemd-analyze security` says at most, of 10: a front end runs nothing of strangers and can be shut in; the others reach GPUs, and
    # service and builder make sandboxes.
    EXPOSURE = {"sassay-builder": 4.5, "sassay-frontend": 1.5, "sassay-monitor": 4.5, "sassay-profiler": 5.5}

    def test_systemd_accepts_the_units(self):
        with self.units() as folder:
            for unit in pathlib.Path(folder).glob("*.service"):
                self.assertEqual(self.verified(unit), (0, ""), unit.name)

    def test_a_mistake_in_a_unit_or_beside_it_is_noticed(self):
        for name in ("sassay-frontend.service", "sassay-profiler.service.d/node.conf"):
            with self.units() as folder:
                broken = pathlib.Path(folder) / name
                broken.write_text(broken.read_text().replace("[Service]", "[Service]\nKillMod=mixed"))
                unit = pathlib.Path(folder) / name.split(".d/")[0]
                self.assertIn("KillMod", self.verified(unit)[1])

    def test_units_are_no_more_exposed_than_they_must_be(self):
        units = {p.stem: p for p in (ARGUMENTS.sources / "deploy/systemd").glob("*.service")}
        self.assertEqual(set(units), set(self.EXPOSURE))
        for name, unit in units.items():
            for limit, expected in ((self.EXPOSURE[name], 0), (self.EXPOSURE[name] - 1, 1)):
                ran = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={round(10 * limit)}", "--no-pager", str(unit)],
                                     capture_output=True, text=True)
                self.assertEqual(ran.returncode, expected, f"{name} and {limit}: {ran.stdout[-200:]}")

    @contextlib.contextmanager
    def units(self):
        """A copy of deploy/systemd whose programs are there."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ARGUMENTS.sources / "deploy/systemd", folder, dirs_exist_ok=True)
            for path in pathlib.Path(folder).rglob("*"):
                if path.suffix in (".service", ".conf"):
                    path.write_text(re.sub(r"/opt/sassay/bin/[\w-]+", "/bin/true", path.read_text()))
            yield folder

    def verified(self, unit):
        ran = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class DashboardsTest(unittest.TestCase):
    def test_they_are_made_of_their_description(self):
        for name, built in described().all_dashboards().items():
            self.assertEqual((queries.DASHBOARDS / f"{name}.json").read_text(), described().rendered(built),
                             f"{name}.json is stale: run deploy/grafana/dashboards.py")

    def test_they_follow_grafanas_schema(self):
        from grafana_foundation_sdk.cog import plugins
        from grafana_foundation_sdk.models.dashboard import Dashboard
        plugins.register_default_plugins()
        for path in queries.DASHBOARDS.glob("*.json"):
            written = json.loads(path.read_text())
            read = json.loads(described().rendered(Dashboard.from_json(written)))
            # What the schema does not know does not survive being read and written.
            self.assertEqual(lost(written, read, path.stem), [])

    def test_panels_ask_for_metrics_that_exist(self):
        known = queries.documented_metrics() | set(queries.recordings())
        for title, expr in queries.panels():
            self.assertTrue(queries.names_in(expr), title)
            self.assertLessEqual(queries.names_in(expr), known, title)

    def test_panels_do_not_overlap(self):
        for path in queries.DASHBOARDS.glob("*.json"):
            taken = set()
            for panel in json.loads(path.read_text())["panels"]:
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & taken, f"{path.name}: {panel['title']}")
                self.assertLessEqual(at["x"] + at["w"], 24)
                taken |= cells

    def test_the_provisioned_data_source_is_the_one_that_they_name(self):
        provisioned = (ARGUMENTS.sources / "deploy/grafana/provisioning/datasources/sassay.yml").read_text()
        self.assertIn(f"uid: {described().SOURCE.uid}", provisioned)


def lost(written, read, place):
    """What is not in `read` as it was written; the library fills in defaults."""
    if isinstance(written, dict) and isinstance(read, dict):
        return [found for key, value in written.items() for found in lost(value, read.get(key), f"{place}.{key}")]
    if isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        return [found for at, pair in enumerate(zip(written, read)) for found in lost(*pair, f"{place}[{at}]")]
    return [] if written == read or written in ({}, []) else [f"{place}: {written} became {read}"]


def described():
    place = ARGUMENTS.sources / "deploy/grafana/dashboards.py"
    spec = importlib.util.spec_from_file_location("dashboards", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--promtool", default="")
    parser.add_argument("suite", choices=["RulesTest", "UnitsTest", "DashboardsTest"])
    ARGUMENTS = parser.parse_args()
    ARGUMENTS.promtool = ARGUMENTS.promtool or str(queries.find_prometheus(ARGUMENTS.sources, "promtool") or "")
    if ARGUMENTS.suite == "RulesTest" and not ARGUMENTS.promtool:
        print("skipped: there is no promtool; deploy/install_dependencies.sh brings it")
        return SKIPPED
    if ARGUMENTS.suite == "UnitsTest" and shutil.which("systemd-analyze") is None:
        print("skipped: there is no systemd-analyze")
        return SKIPPED
    if ARGUMENTS.suite == "DashboardsTest" and importlib.util.find_spec("grafana_foundation_sdk") is None:
        print("skipped: there is no grafana-foundation-sdk; deploy/install_dependencies.sh brings it")
        return SKIPPED
    suite = unittest.defaultTestLoader.loadTestsFromName(ARGUMENTS.suite, sys.modules[__name__])
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
