#!/usr/bin/env python3
"""deploy/kubernetes: rendered, held against the API's schemas, against itself, and against the programs that it starts.

    kubernetes_test.py --sources DIR --build DIR SUITE      exit status 77: skipped, with the reason
"""
import copy
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML; deploy/install_dependencies.sh brings it")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import kustomize
import programs
import relations
import suites

FOLDERS = ["base", "pool", "overlays/example"]
# What the pods need (hostUsers with procMount) is on by default since the first; the second is the newest with schemas.
VERSIONS = ["1.33", "1.37"]
CUSTOM = {"ServiceMonitor": "service_monitor", "PodMonitor": "pod_monitor", "PrometheusRule": "prometheus_rule", "LocalQueue": "local_queue"}


def rendered(folder):
    """A copy, which a test may change."""
    return copy.deepcopy(composed(folder))


@functools.lru_cache(maxsize=None)
def composed(folder):
    return kustomize.render((ARGUMENTS.sources / "deploy/kubernetes" / folder).resolve())


def whole(folder):
    """`pool` alone has nobody to join."""
    return rendered(folder) + (rendered("base/frontend") if folder == "pool" else [])


def documented_keys():
    for line in (ARGUMENTS.sources / "deploy/kubernetes/secrets.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) > 3 and re.match(r" (Secret|ConfigMap) ", cells[1]):
            named = re.findall(r"`([^`]+)`", cells[1])[0]
            for key in re.findall(r"`([^`]+)`", cells[2]):
                yield named, key


class RenderingTest(unittest.TestCase):
    def test_it_is_what_kubectl_makes(self):
        if shutil.which("kubectl") is None:
            self.skipTest("there is no kubectl to compare with")
        for folder in FOLDERS:
            ran = subprocess.run(["kubectl", "kustomize", str(ARGUMENTS.sources / "deploy/kubernetes" / folder)],
                                 capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(in_order(rendered(folder)), in_order(yaml.safe_load_all(ran.stdout)), folder)

    def test_no_object_is_there_twice(self):
        for folder in FOLDERS:
            names = [relations.name(o) for o in rendered(folder)]
            self.assertEqual(len(names), len(set(names)), folder)

    def test_every_file_is_used(self):
        root = ARGUMENTS.sources / "deploy/kubernetes"
        named = {(path.parent / resource).resolve() for path in root.rglob("kustomization.yaml")
                 for resource in yaml.safe_load(path.read_text()).get("resources", [])}
        files = {p.resolve() for p in root.rglob("*.yaml") if p.name != "kustomization.yaml"}
        self.assertEqual(files - named, set())

    def test_no_secret_is_in_it(self):
        for folder in FOLDERS:
            self.assertEqual(relations.of_kind(rendered(folder), "Secret"), [])

    def test_the_rules_are_those_of_prometheus(self):
        place = ARGUMENTS.sources / "deploy/kubernetes/prometheus/rules.py"
        ran = subprocess.run([sys.executable, str(place), "--print"], capture_output=True, text=True, check=True)
        self.assertEqual((place.parent / "rules.yaml").read_text(), ran.stdout, "stale: run rules.py")

    def test_scraped_jobs_are_those_that_alerts_know(self):
        known = set(re.findall(r'job="([\w-]+)"', (ARGUMENTS.sources / "deploy/prometheus/alerts.rules.yml").read_text()))
        jobs = {r["replacement"] for o in relations.of_kind(rendered("overlays/example"), *relations.MONITORS)
                for e in o["spec"].get("endpoints", o["spec"].get("podMetricsEndpoints")) for r in e["relabelings"]}
        self.assertEqual(jobs, known)


class SchemasTest(unittest.TestCase):
    def test_objects_follow_the_schemas_of_the_api(self):
        import kubernetes_validate
        for folder in FOLDERS:
            for item in rendered(folder):
                for version in VERSIONS if item["kind"] not in CUSTOM else []:
                    with self.subTest(folder=folder, object=relations.name(item), version=version):
                        kubernetes_validate.validate(item, version, strict=True)

    def test_a_field_that_the_api_does_not_know_is_noticed(self):
        import kubernetes_validate
        item = next(o for o in rendered("base") if o["kind"] == "Deployment")
        item["spec"]["template"]["spec"]["containers"][0]["readinessprobe"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(item, VERSIONS[0], strict=True)

    def test_custom_resources_follow_what_is_kept_of_their_definitions(self):
        import jsonschema
        seen = set()
        for item in rendered("overlays/example"):
            if item["kind"] not in CUSTOM:
                continue
            seen.add(item["kind"])
            schema = json.loads((HERE / "crds" / f"{CUSTOM[item['kind']]}.json").read_text())
            jsonschema.validate(item, schema)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**item, "spec": {**item["spec"], "selektor": {}}}, schema)
        self.assertEqual(seen, set(CUSTOM))


class RelationsTest(unittest.TestCase):
    def test_what_must_hold_between_objects_holds(self):
        for folder in FOLDERS:
            for check in relations.CHECKS:
                with self.subTest(folder=folder, check=check.__name__):
                    self.assertEqual(list(check(whole(folder))), [])

    def test_every_key_that_is_used_is_documented_or_defined(self):
        for folder in FOLDERS:
            self.assertEqual(list(relations.references(whole(folder), set(documented_keys()))), [])

    def test_every_documented_key_is_used(self):
        used = {key for _, _, spec in relations.pods(rendered("overlays/example")) for key in relations.used_keys(spec)}
        self.assertEqual(set(documented_keys()) - used, set())

    def test_own_images_have_the_version_of_the_project(self):
        version = re.search(r"project\(sassay VERSION ([\d.]+)", (ARGUMENTS.sources / "CMakeLists.txt").read_text()).group(1)
        for folder in FOLDERS:
            for item in rendered(folder):
                for container in kustomize.containers(item):
                    if "sassay" in container["image"]:
                        self.assertEqual(container["image"].split(":")[-1], version, relations.name(item))

    def test_each_check_notices_what_it_is_for(self):
        for check, kind, named, path, value in BREAKS:
            objects = rendered("overlays/example")
            item = next(o for o in objects if o["kind"] == kind and o["metadata"]["name"] == named)
            change(item, path, value)
            with self.subTest(check=check.__name__, path=path, value=value):
                problems = list(check(objects, set(documented_keys())) if check is relations.references else check(objects))
                self.assertTrue(problems)

    def test_a_pod_without_its_policy_is_noticed(self):
        for policy in ("sassay-frontend", "sassay-node", "sassay-postgres"):
            objects = [o for o in rendered("overlays/example") if (o["kind"], o["metadata"]["name"]) != ("NetworkPolicy", policy)]
            self.assertTrue(list(relations.isolation(objects)), policy)


class ProgramsTest(unittest.TestCase):
    def test_flags_and_variables_are_those_of_the_programs(self):
        for folder in FOLDERS:
            for item in rendered(folder):
                for container in kustomize.containers(item):
                    for program, flags in invocations(container):
                        known = programs.flags_of(ARGUMENTS.programs, program)
                        with self.subTest(folder=folder, object=relations.name(item), program=program[0]):
                            self.assertEqual(flags - known, set())

    def test_programs_were_looked_at(self):
        seen = {program[0] for item in rendered("overlays/example") for c in kustomize.containers(item) for program, _ in invocations(c)}
        self.assertEqual(seen, {"profiler-service", "reliability-monitor", "sassay-admin"})

    def test_a_flag_that_no_program_has_is_noticed(self):
        self.assertNotIn("--no-such-flag", programs.flags_of(ARGUMENTS.programs, ("profiler-service",)))


def invocations(container):
    """Those of a container's command line, its environment and its probes; an image without a command runs profiler-service."""
    if "sassay" not in container["image"]:
        return
    command = container.get("command", ["profiler-service"]) + container.get("args", [])
    variables = {"--" + v["name"][len("SASSAY_"):].lower().replace("_", "-") for v in container.get("env", [])
                 if v["name"].startswith("SASSAY_")}
    # tini and its `--` come first.
    commands = [command[2:] if command[0] == "tini" else command]
    commands += [p["exec"]["command"] for _, p in relations.probes(container) if "exec" in p]
    for program, flags in programs.invocations(commands):
        yield program, flags | (variables if program[0] == "profiler-service" else set())


def in_order(objects):
    return sorted(objects, key=relations.name)


def change(item, path, value):
    """Sets, or for None removes, what lies at the path."""
    *way, last = path
    for part in way:
        item = item[part]
    if value is None:
        del item[last]
    else:
        item[last] = value


TEMPLATE = ("spec", "template", "spec")
CONTAINER = TEMPLATE + ("containers", 0)
FRONTEND, NODE = ("Deployment", "sassay-frontend"), ("Deployment", "sassay-node")
BREAKS = [
    (relations.selectors, *FRONTEND, ("spec", "selector", "matchLabels", "app.kubernetes.io/name"), "frontend"),
    (relations.selectors, *FRONTEND, TEMPLATE + ("topologySpreadConstraints", 0, "labelSelector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.selectors, "Service", "sassay-frontends", ("spec", "selector", "app.kubernetes.io/name"), "frontend"),
    (relations.selectors, "PodDisruptionBudget", "sassay-node", ("spec", "selector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.selectors, "NetworkPolicy", "sassay-node", ("spec", "podSelector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.selectors, "ServiceMonitor", "sassay-frontend", ("spec", "selector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.selectors, "PodMonitor", "sassay-node", ("spec", "selector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.selectors, "HorizontalPodAutoscaler", "sassay-frontend", ("spec", "scaleTargetRef", "name"), "x"),
    (relations.selectors, *FRONTEND, ("spec", "replicas"), 3),
    (relations.selectors, *NODE, ("metadata", "labels", "kueue.x-k8s.io/queue-name"), "x"),
    (relations.ports, "Service", "sassay-frontend", ("spec", "ports", 0, "targetPort"), "http"),
    (relations.ports, "NetworkPolicy", "sassay-node", ("spec", "ingress", 0, "ports", 0, "port"), "http"),
    (relations.ports, "PodMonitor", "sassay-node", ("spec", "podMetricsEndpoints", 1, "port"), "x"),
    (relations.ports, "ServiceMonitor", "sassay-frontend", ("spec", "endpoints", 0, "port"), "x"),
    (relations.ports, *FRONTEND, CONTAINER + ("readinessProbe",), {"grpc": {"port": 50052}}),
    (relations.ports, *NODE, CONTAINER + ("readinessProbe", "exec", "command", 2), "--service=127.0.0.1:50052"),
    (relations.listens, *FRONTEND, CONTAINER + ("args", 1), "--listen=0.0.0.0:50052"),
    (relations.listens, *NODE, CONTAINER + ("ports", 0, "containerPort"), 9466),
    (relations.isolation, "NetworkPolicy", "sassay-frontend", ("spec", "podSelector", "matchLabels", "app.kubernetes.io/name"), "x"),
    (relations.isolation, "NetworkPolicy", "sassay-node", ("spec", "policyTypes"), ["Egress"]),
    (relations.isolation, "NetworkPolicy", "sassay-node", ("spec", "egress", 1, "ports", 0, "port"), 50052),
    (relations.isolation, "NetworkPolicy", "sassay-node", ("spec", "egress", 0), None),
    (relations.isolation, "NetworkPolicy", "sassay-frontend", ("spec", "egress", 1), None),
    (relations.isolation, "NetworkPolicy", "sassay-postgres", ("spec", "ingress"), []),
    (relations.isolation, "NetworkPolicy", "sassay-frontend", ("spec", "ingress", 0, "from", 0), None),
    (relations.narrowness, "NetworkPolicy", "sassay-frontend", ("spec", "egress", 1, "to"), [{"podSelector": {}}]),
    (relations.narrowness, "NetworkPolicy", "sassay-node", ("spec", "ingress", 0), {"ports": [{"port": "metrics"}]}),
    (relations.narrowness, "NetworkPolicy", "sassay-node", ("spec", "egress", 1, "to"), []),
    (relations.narrowness, "NetworkPolicy", "sassay-node", ("spec", "egress", 1, "to", 0), {"ipBlock": {"cidr": "0.0.0.0/0"}}),
    (relations.narrowness, "NetworkPolicy", "sassay-node", ("spec", "egress", 1, "to", 0), {"podSelector": {}}),
    (relations.joins, *NODE, CONTAINER + ("args", 8), "--join=frontends:50051"),
    (relations.references, *FRONTEND, CONTAINER + ("env", 1, "valueFrom", "secretKeyRef", "key"), "pass"),
    (relations.references, *FRONTEND, TEMPLATE + ("volumes", 2, "secret", "secretName"), "tokens"),
    (relations.references, "ConfigMap", "sassay-frontend", ("data", "store"), None),
    (relations.volumes, *FRONTEND, CONTAINER + ("args", 5), "--token-file=/etc/sassay/tokens"),
    (relations.volumes, *FRONTEND, CONTAINER + ("args", 3), "--state=/var/cache/sassay"),
    (relations.volumes, *NODE, TEMPLATE + ("volumes", 0), None),
    (relations.volumes, *NODE, TEMPLATE + ("volumes", 2, "secret", "items"), None),
    (relations.hardening, *FRONTEND, TEMPLATE + ("securityContext", "seccompProfile", "type"), "Unconfined"),
    (relations.hardening, *FRONTEND, TEMPLATE + ("automountServiceAccountToken",), None),
    (relations.hardening, *FRONTEND, TEMPLATE + ("serviceAccountName",), "default"),
    (relations.hardening, *NODE, TEMPLATE + ("enableServiceLinks",), None),
    (relations.hardening, *NODE, TEMPLATE + ("securityContext", "runAsUser"), 0),
    (relations.hardening, *NODE, TEMPLATE + ("hostUsers",), None),
    (relations.hardening, *NODE, TEMPLATE + ("hostPID",), True),
    (relations.hardening, *NODE, CONTAINER + ("securityContext", "privileged"), True),
    (relations.hardening, *NODE, CONTAINER + ("resources", "limits", "memory"), None),
    (relations.hardening, *FRONTEND, CONTAINER + ("image",), "registry.example.org/sassay/frontend:latest"),
    (relations.rolling, *FRONTEND, TEMPLATE + ("terminationGracePeriodSeconds",), 15),
    (relations.rolling, *FRONTEND, CONTAINER + ("livenessProbe", "failureThreshold"), 2),
    (relations.rolling, *FRONTEND, CONTAINER + ("lifecycle",), None),
    (relations.rolling, *FRONTEND, ("spec", "strategy", "rollingUpdate", "maxUnavailable"), 1),
    (relations.rolling, "PodDisruptionBudget", "sassay-frontend", ("spec", "maxUnavailable"), 2),
    (relations.rolling, *NODE, CONTAINER + ("readinessProbe",), None),
    (relations.rolling, *NODE, CONTAINER + ("args", 3), "--drain=600s"),
    (relations.rolling, *NODE, CONTAINER + ("args", 16), "--drain=90s"),
]


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["RenderingTest", "SchemasTest", "RelationsTest", "ProgramsTest"],
                         {"SchemasTest": ("kubernetes_validate", "kubernetes-validate")}))
