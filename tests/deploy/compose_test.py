#!/usr/bin/env python3
"""deploy/compose: against the compose specification's schema, against itself, and against the programs and files that it names.

    compose_test.py --sources DIR --build DIR SUITE      exit status 77: skipped, with the reason
"""
import copy
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML; deploy/install_dependencies.sh brings it")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs
import suites

# The ways by which a process of the one may open a connection to the other.
REACH = {("frontend", "postgres"), ("node", "frontend"), ("prometheus", "frontend"), ("prometheus", "node"), ("grafana", "prometheus")}
FILES = ["compose.yaml", "gpu.yaml"]


def folder():
    return ARGUMENTS.sources / "deploy/compose"


def described(name="compose.yaml"):
    return yaml.safe_load((folder() / name).read_text())


def schema():
    package = pathlib.Path(importlib.util.find_spec("check_jsonschema").origin).parent
    return json.loads((package / "builtin_schemas/vendor/compose-spec.json").read_text())


def references(compose):
    """Networks, secrets, volumes and services that are named are there, and nothing is there for nobody."""
    services = compose["services"].values()
    for kind in ("networks", "secrets"):
        used = {n for s in services for n in s.get(kind, [])}
        if used != set(compose[kind]):
            yield f"{kind}: {sorted(used ^ set(compose[kind]))}"
    named = {v.split(":")[0] for s in services for v in s.get("volumes", []) if not v.startswith(".")}
    if named != set(compose["volumes"]):
        yield f"volumes: {sorted(named ^ set(compose['volumes']))}"
    for service in services:
        if not set(service.get("depends_on", [])) <= set(compose["services"]):
            yield f"depends_on: {service['depends_on']}"
        for text in texts(service):
            for secret in re.findall(r"/run/secrets/(\w+)", text):
                if secret not in service.get("secrets", []):
                    yield f"{text}: the service has no such secret"


def texts(service):
    return [*service.get("command", []), *map(str, service.get("environment", {}).values()),
            *service.get("healthcheck", {}).get("test", [])]


def isolation(compose):
    """Services that need not speak to each other share no network; only loopback publishes; nodes and the database are on inner networks."""
    networks = {name: set(s["networks"]) for name, s in compose["services"].items()}
    pairs = {frozenset(p) for p in REACH}
    for one in networks:
        for other in networks:
            shared = networks[one] & networks[other] - {"edge"}
            if one < other and shared and frozenset((one, other)) not in pairs:
                yield f"{one} and {other} share {sorted(shared)}"
    for one, other in REACH:
        if not networks[one] & networks[other]:
            yield f"{one} does not reach {other}"
    for inner in ("node", "postgres"):
        if any(not (compose["networks"][n] or {}).get("internal") for n in networks[inner]):
            yield f"{inner} reaches what is outside"
    for name, service in compose["services"].items():
        if any(not port.startswith("127.0.0.1:") for port in service.get("ports", [])):
            yield f"{name} is published beyond loopback"


def hardening(compose):
    for name, service in compose["services"].items():
        if not re.search(r"@sha256:[0-9a-f]{64}$", service["image"]) and "build" not in service:
            yield f"{name}: {service['image']} is not pinned"
        if service.get("read_only") is not True or service.get("cap_drop") != ["ALL"] or "mem_limit" not in service:
            yield f"{name}: read_only, cap_drop or mem_limit"
        if "no-new-privileges:true" not in service.get("security_opt", []) or service.get("privileged"):
            yield f"{name}: may gain privileges"
        weak = [o for o in service.get("security_opt", []) if "unconfined" in o]
        if weak and name not in ("node", "builder"):
            yield f"{name}: {weak}"
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN|SECRET", key) and not key.endswith("FILE"):
                yield f"{name}: {key} holds a secret, not the path of one"


def draining(compose):
    for name, service in compose["services"].items():
        drain = programs.flag(service.get("command", []), "--drain")
        if drain and seconds(service.get("stop_grace_period", "10s")) < seconds(drain) + 10:
            yield f"{name} is killed while it drains"


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


CHECKS = [references, isolation, hardening, draining]
BREAKS = [
    (references, ("services", "node", "networks"), ["cluster", "lan"]),
    (references, ("services", "node", "secrets"), ["ca"]),
    (references, ("secrets", "more"), {"file": "./x"}),
    (references, ("services", "grafana", "depends_on"), ["loki"]),
    (isolation, ("services", "node", "networks"), ["cluster", "scrape", "store"]),
    (isolation, ("services", "node", "networks"), ["cluster", "scrape", "edge"]),
    (isolation, ("services", "node", "networks"), ["cluster", "scrape", "dashboards"]),
    (isolation, ("services", "node", "networks"), ["cluster"]),
    (isolation, ("services", "builder", "networks"), ["builds", "cluster"]),
    (isolation, ("networks", "cluster"), {}),
    (isolation, ("services", "grafana", "ports"), ["3000:3000"]),
    (hardening, ("services", "postgres", "image"), "postgres:15"),
    (hardening, ("services", "frontend", "security_opt"), ["no-new-privileges:true", "seccomp:unconfined"]),
    (hardening, ("services", "node", "security_opt"), []),
    (hardening, ("services", "node", "privileged"), True),
    (hardening, ("services", "prometheus", "read_only"), False),
    (hardening, ("services", "postgres", "environment", "POSTGRES_PASSWORD"), "x"),
    (draining, ("services", "node", "stop_grace_period"), "30s"),
    (draining, ("services", "builder", "stop_grace_period"), "30s"),
]


class FilesTest(unittest.TestCase):
    def test_they_follow_the_compose_specification(self):
        import jsonschema
        for name in FILES:
            jsonschema.validate(described(name), schema())
        broken = described()
        broken["services"]["node"]["health_check"] = {}
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema())

    def test_what_must_hold_holds(self):
        for check in CHECKS:
            self.assertEqual(list(check(described())), [])

    def test_each_check_notices_what_it_is_for(self):
        for check, path, value in BREAKS:
            compose = copy.deepcopy(described())
            at = compose
            for part in path[:-1]:
                at = at[part]
            at[path[-1]] = value
            with self.subTest(check=check.__name__, path=path):
                self.assertTrue(list(check(compose)))

    def test_a_file_beside_it_changes_services_that_there_are(self):
        self.assertLessEqual(set(described("gpu.yaml")["services"]), set(described()["services"]))

    def test_mounted_files_are_there(self):
        for name, service in described()["services"].items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                if source.startswith(".") and not source.startswith("./state/"):
                    self.assertTrue((folder() / source).exists(), f"{name}: {source}")

    def test_dockerfiles_are_there_and_images_have_the_version_of_the_project(self):
        version = re.search(r"project\(sassay VERSION ([\d.]+)", (ARGUMENTS.sources / "CMakeLists.txt").read_text()).group(1)
        for service in described()["services"].values():
            if "build" in service:
                self.assertTrue((folder() / service["build"]["context"] / service["build"]["dockerfile"]).is_file())
                self.assertEqual(service["image"].split(":")[1], version)

    def test_prometheus_takes_its_configuration(self):
        promtool = ARGUMENTS.sources / ".venv/prometheus/promtool"
        found = str(promtool) if promtool.exists() else shutil.which("promtool")
        if found is None:
            self.skipTest("there is no promtool; deploy/install_dependencies.sh brings it")
        with tempfile.TemporaryDirectory() as place:
            for volume in described()["services"]["prometheus"]["volumes"]:
                if volume.startswith("."):
                    source, inside = volume.split(":")[:2]
                    shutil.copy(folder() / source, pathlib.Path(place) / pathlib.Path(inside).name)
            ran = subprocess.run([found, "check", "config", f"{place}/prometheus.yml"], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_prometheus_scrapes_what_listens(self):
        scraped = {t for job in described("prometheus.yml")["scrape_configs"] for c in job["static_configs"] for t in c["targets"]}
        listening = {f"{name}:{a.rsplit(':', 1)[1]}" for name, s in described()["services"].items() for a in s.get("command", [])
                     if a.startswith("--metrics=0.0.0.0:")}
        self.assertEqual(scraped, listening)

    def test_scraped_jobs_are_those_that_alerts_know(self):
        known = set(re.findall(r'job="([\w-]+)"', (ARGUMENTS.sources / "deploy/prometheus/alerts.rules.yml").read_text()))
        self.assertEqual({job["job_name"] for job in described("prometheus.yml")["scrape_configs"]}, known)

    def test_grafana_finds_dashboards_and_data_source(self):
        ours, shipped = (yaml.safe_load(p.read_text())["datasources"][0] for p in (
            folder() / "grafana/sassay.yml", ARGUMENTS.sources / "deploy/grafana/provisioning/datasources/sassay.yml"))
        self.assertEqual({**ours, "url": None}, {**shipped, "url": None})
        self.assertEqual(ours["url"], "http://prometheus:9090")
        provider = yaml.safe_load((ARGUMENTS.sources / "deploy/grafana/provisioning/dashboards/sassay.yml").read_text())["providers"][0]
        self.assertIn(f"../grafana/dashboards:{provider['options']['path']}:ro", described()["services"]["grafana"]["volumes"])


class ProgramsTest(unittest.TestCase):
    def test_flags_are_those_of_the_programs(self):
        seen = set()
        for name, service in described()["services"].items():
            if not service["image"].startswith("sassay-"):
                continue
            command = service["command"] if name == "node" else ["profiler-service", *service["command"]]
            for program, flags in programs.invocations([command, service["healthcheck"]["test"][1:]]):
                seen.add(program[0])
                with self.subTest(service=name, program=program):
                    self.assertEqual(flags - programs.flags_of(ARGUMENTS.programs, program), set())
        self.assertEqual(seen, {"profiler-service", "reliability-monitor", "sassay-admin"})

    def test_setup_makes_the_secrets_and_keeps_them(self):
        with tempfile.TemporaryDirectory() as place:
            self.set_up(place)
            made = pathlib.Path(place)
            for name, secret in described()["secrets"].items():
                self.assertGreater((made / secret["file"]).stat().st_size, 0, name)
                self.assertEqual((made / secret["file"]).stat().st_mode & 0o077, 0, name)
            self.assertIn((made / "secrets/postgres_password").read_text().strip(), (made / "secrets/pgpass").read_text())
            for volume in (v for s in described()["services"].values() for v in s.get("volumes", []) if v.startswith("./state/")):
                self.assertTrue((made / volume.split(":")[0]).is_dir(), volume)
            before = {p: p.read_bytes() for p in made.rglob("*") if p.is_file()}
            self.set_up(place)
            self.assertEqual({p: p.read_bytes() for p in made.rglob("*") if p.is_file()}, before)

    def test_setup_makes_a_certificate_for_who_asks(self):
        with tempfile.TemporaryDirectory() as place:
            self.set_up(place)
            for name, host in (("frontend", "frontend"), ("frontend", "localhost"), ("builder", "builder"), ("builder", "localhost")):
                ran = subprocess.run(["openssl", "verify", "-CAfile", "secrets/ca.crt", "-verify_hostname", host, f"secrets/{name}.crt"],
                                     capture_output=True, text=True, cwd=place)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def set_up(self, place):
        ran = subprocess.run([str(folder() / "setup.sh"), place], capture_output=True, text=True,
                             env={"PATH": "/usr/bin:/bin", "PROFILER_SERVICE": str(ARGUMENTS.programs / "profiler-service")})
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["FilesTest", "ProgramsTest"], {"FilesTest": ("check_jsonschema", "check-jsonschema")}))
