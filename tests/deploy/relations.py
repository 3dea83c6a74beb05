"""What must hold between the objects of a rendered folder of deploy/kubernetes; each function lists what does not."""
import posixpath
import re
from urllib.parse import urlsplit

from kustomize import containers, pod_of
from programs import flag

OURS = "app.kubernetes.io/part-of"
MONITORS = {"ServiceMonitor", "PodMonitor"}


def of_kind(objects, *kinds):
    return [o for o in objects if o["kind"] in kinds]


def name(item):
    return f"{item['kind']} {item['metadata']['name']}"


def pods(objects):
    """(workload, labels of its pods, spec of its pods)."""
    return [(o, o["spec"]["template"]["metadata"]["labels"], pod_of(o)) for o in objects if pod_of(o)]


def chosen(selector, objects):
    wanted = selector.get("matchLabels", selector) if selector else {}
    return [(o, spec) for o, labels, spec in pods(objects) if wanted.items() <= labels.items()]


def ports_of(spec):
    return {p["name"]: p["containerPort"] for c in spec["containers"] for p in c.get("ports", [])}


def selectors(objects):
    """Whoever selects pods selects some, and a workload its own."""
    for item, labels, spec in pods(objects):
        if not item["spec"]["selector"]["matchLabels"].items() <= labels.items():
            yield f"{name(item)}: its selector does not fit its own pods"
        for constraint in spec.get("topologySpreadConstraints", []):
            if not constraint["labelSelector"]["matchLabels"].items() <= labels.items():
                yield f"{name(item)}: a topologySpreadConstraint counts other pods"
    for item in of_kind(objects, "Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor"):
        selector = item["spec"].get("selector") or item["spec"].get("podSelector")
        if not chosen(selector, objects):
            yield f"{name(item)}: selects nothing"
    for item in of_kind(objects, "ServiceMonitor"):
        if not services(item["spec"]["selector"]["matchLabels"], objects):
            yield f"{name(item)}: selects no Service"
    for item in of_kind(objects, "HorizontalPodAutoscaler"):
        target = item["spec"]["scaleTargetRef"]
        scaled = [o for o in of_kind(objects, target["kind"]) if o["metadata"]["name"] == target["name"]]
        if not scaled:
            yield f"{name(item)}: scales nothing"
        if any("replicas" in o["spec"] for o in scaled):
            yield f"{name(item)}: the workload has replicas, too"
    for item in objects:
        queue = item["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name")
        if queue and queue not in [o["metadata"]["name"] for o in of_kind(objects, "LocalQueue")]:
            yield f"{name(item)}: there is no LocalQueue {queue}"


def services(labels, objects):
    return [o for o in of_kind(objects, "Service") if labels.items() <= o["metadata"].get("labels", {}).items()]


def ports(objects):
    """Each port that is named somewhere is a container's."""
    for item in of_kind(objects, "Service"):
        for _, spec in chosen(item["spec"]["selector"], objects):
            for port in item["spec"]["ports"]:
                if port["targetPort"] not in ports_of(spec):
                    yield f"{name(item)}: no container has the port {port['targetPort']}"
    for item in of_kind(objects, "NetworkPolicy"):
        for _, spec in chosen(item["spec"]["podSelector"], objects):
            for port in ingress_ports(item):
                if port not in ports_of(spec) and port not in ports_of(spec).values():
                    yield f"{name(item)}: no container has the port {port}"
    for item in of_kind(objects, "PodMonitor"):
        for _, spec in chosen(item["spec"]["selector"], objects):
            for endpoint in item["spec"]["podMetricsEndpoints"]:
                if endpoint["port"] not in ports_of(spec):
                    yield f"{name(item)}: no container has the port {endpoint['port']}"
    for item in of_kind(objects, "ServiceMonitor"):
        offered = {p["name"] for s in services(item["spec"]["selector"]["matchLabels"], objects) for p in s["spec"]["ports"]}
        for endpoint in item["spec"]["endpoints"]:
            if endpoint["port"] not in offered:
                yield f"{name(item)}: no Service has the port {endpoint['port']}"
    for item, _, spec in pods(objects):
        for container in spec["containers"]:
            for kind, probe in probes(container):
                port = (probe.get("grpc") or probe.get("httpGet") or probe.get("tcpSocket") or {}).get("port")
                if port is not None and port not in ports_of(spec) and port not in ports_of(spec).values():
                    yield f"{name(item)}: {kind} asks the port {port}, which no container has"
                where = flag(probe.get("exec", {}).get("command", []), "--service")
                if where and int(where.rsplit(":", 1)[1]) not in listened(container):
                    yield f"{name(item)}: {kind} asks {where}, where nobody listens"


def listened(container):
    return {int(a.rsplit(":", 1)[1]) for a in container.get("args", []) if re.match(r"--(listen|metrics)=", a)}


def listens(objects):
    """A container's ports are those that its programs listen on."""
    for item, _, spec in pods(objects):
        for container in spec["containers"]:
            declared = {p["containerPort"] for p in container.get("ports", [])}
            open_ports = {int(a.rsplit(":", 1)[1]) for a in container.get("args", []) if re.match(r"--(listen|metrics)=0\.0\.0\.0:", a)}
            if open_ports and declared != open_ports:
                yield f"{name(item)}: declares the ports {sorted(declared)} and listens on {sorted(open_ports)}"


def probes(container):
    return [(kind, container[kind]) for kind in ("startupProbe", "readinessProbe", "livenessProbe") if kind in container]


def ingress_ports(policy):
    return [p["port"] for rule in policy["spec"].get("ingress", []) for p in rule.get("ports", [])]


def policies_of(objects, labels, direction):
    return [p for p in of_kind(objects, "NetworkPolicy") if direction in p["spec"]["policyTypes"]
            and p["spec"]["podSelector"].get("matchLabels", {}).items() <= labels.items()]


def fits(peers, labels):
    """Pods of the same namespace only; peers of other namespaces are none of ours."""
    return peers is None or any("namespaceSelector" not in p and p.get("podSelector", {}).get("matchLabels", {}).items() <= labels.items()
                                for p in peers)


def may_reach(objects, source, destination, port):
    """Whether the policies let pods with the labels `source` open `port` (a number) of pods with the labels `destination`."""
    names = {n for _, labels, spec in pods(objects) if labels == destination for n, p in ports_of(spec).items() if p == port}

    def allowed(rules, side, peer):
        return any(fits(rule.get(side), peer) and any(p["port"] == port or p["port"] in names for p in rule["ports"]) for rule in rules)

    out = policies_of(objects, source, "Egress")
    into = policies_of(objects, destination, "Ingress")
    return (not out or any(allowed(p["spec"].get("egress", []), "to", destination) for p in out)) and (
        not into or any(allowed(p["spec"].get("ingress", []), "from", source) for p in into))


def isolation(objects):
    """Every pod is under a policy for both directions and reaches what its flags name, and a node nothing else of ours."""
    for item, labels, spec in pods(objects):
        for direction in ("Ingress", "Egress"):
            if not policies_of(objects, labels, direction):
                yield f"{name(item)}: no NetworkPolicy holds for its {direction}"
        wanted = set(destinations(objects, spec))
        for target, target_labels, port in wanted_pods(objects, wanted):
            if not may_reach(objects, labels, target_labels, port):
                yield f"{name(item)}: may not reach {name(target)} at {port}, which its flags name"
        if wanted and not may_resolve(objects, labels):
            yield f"{name(item)}: may not ask the cluster's DNS"
    for item, labels, spec in pods(objects):
        for other, other_labels, other_spec in pods(objects):
            for port in ports_of(other_spec).values():
                named = (other["metadata"]["name"], port) in {(t["metadata"]["name"], p) for t, _, p in
                                                              wanted_pods(objects, set(destinations(objects, spec)))}
                if not named and may_reach(objects, labels, other_labels, port):
                    yield f"{name(item)}: may reach {name(other)} at {port}, and has no business there"


def narrowness(objects):
    """No rule lets everybody in but that of the clients' port, none lets anybody out to everywhere, and a node to no address at all."""
    for policy in of_kind(objects, "NetworkPolicy"):
        node = policy["metadata"]["name"] == "sassay-node"
        for rule in policy["spec"].get("ingress", []):
            if not rule.get("from") and [p["port"] for p in rule.get("ports", [])] != ["grpc"]:
                yield f"{name(policy)}: lets everybody in"
        for rule in policy["spec"].get("egress", []):
            if not rule.get("to") or not rule.get("ports"):
                yield f"{name(policy)}: lets it out to everywhere"
            for peer in rule.get("to", []):
                if node and "ipBlock" in peer:
                    yield f"{name(policy)}: lets a node out to {peer}"
                if "ipBlock" not in peer and not peer.get("podSelector", {}).get("matchLabels"):
                    yield f"{name(policy)}: lets it out to every pod"


def may_resolve(objects, labels):
    return any(p["port"] == 53 for policy in policies_of(objects, labels, "Egress") for rule in policy["spec"].get("egress", [])
               for p in rule["ports"])


def destinations(objects, spec):
    """(host, port) of --join and of the store."""
    for container in spec["containers"]:
        for argument in container.get("args", []):
            if argument.startswith("--join="):
                host, port = argument.split("=", 1)[1].rsplit(":", 1)
                yield host, int(port)
        for variable in container.get("env", []):
            if variable["name"] == "SASSAY_STORE":
                url = urlsplit(referenced(objects, variable["valueFrom"]["configMapKeyRef"]))
                yield url.hostname, url.port


def referenced(objects, reference):
    return next(o["data"][reference["key"]] for o in of_kind(objects, "ConfigMap") if o["metadata"]["name"] == reference["name"])


def wanted_pods(objects, wanted):
    """Those behind the Services of these names; a Service that is not here is somebody else's."""
    for host, port in wanted:
        for service in of_kind(objects, "Service"):
            if service["metadata"]["name"] != host.split(".")[0]:
                continue
            target = next(p["targetPort"] for p in service["spec"]["ports"] if p["port"] == port)
            for item, spec in chosen(service["spec"]["selector"], objects):
                yield item, item["spec"]["template"]["metadata"]["labels"], ports_of(spec)[target]


def joins(objects):
    """Nodes join a Service that is here, at a port that it has."""
    for item, _, spec in pods(objects):
        for container in spec["containers"]:
            join = flag(container.get("args", []), "--join")
            if join is None or not of_kind(objects, "Deployment"):
                continue
            host, port = join.rsplit(":", 1)
            if not any(s["metadata"]["name"] == host and int(port) in [p["port"] for p in s["spec"]["ports"]]
                       for s in of_kind(objects, "Service")) and any(flag(c.get("args", []), "--role") == "frontend"
                                                                     for o in objects for c in containers(o)):
                yield f"{name(item)}: joins {join}, and there is no such Service"


def references(objects, documented):
    """(name, key) of each Secret and ConfigMap that is used and neither defined here nor documented."""
    defined = {(o["metadata"]["name"], key) for o in of_kind(objects, "ConfigMap", "Secret") for key in o.get("data", {})}
    for item, _, spec in pods(objects):
        for used in used_keys(spec):
            if used not in defined | documented:
                yield f"{name(item)}: uses the key {used[1]} of {used[0]}, which is neither here nor documented"


def used_keys(spec):
    for volume in spec.get("volumes", []):
        for kind, named in (("secret", "secretName"), ("configMap", "name")):
            for item in volume.get(kind, {}).get("items", []):
                yield volume[kind][named], item["key"]
    for container in spec["containers"]:
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            reference = source.get("secretKeyRef") or source.get("configMapKeyRef")
            if reference:
                yield reference["name"], reference["key"]


def volumes(objects):
    """Volumes are mounted, mounts are volumes, and files that flags name are in one."""
    for item, _, spec in pods(objects):
        claims = {c["metadata"]["name"] for c in item["spec"].get("volumeClaimTemplates", [])}
        there = {v["name"] for v in spec.get("volumes", [])} | claims
        mounted = {m["name"] for c in spec["containers"] for m in c.get("volumeMounts", [])}
        if there != mounted:
            yield f"{name(item)}: volumes and mounts differ: {sorted(there ^ mounted)}"
        if any("items" not in v[k] for v in spec.get("volumes", []) for k in ("secret", "configMap") if k in v):
            yield f"{name(item)}: mounts all of a Secret or ConfigMap, not the keys it needs"
        for container in spec["containers"]:
            files = set(files_of(spec, container))
            folders = [m["mountPath"] for m in container.get("volumeMounts", [])]
            for argument in container.get("args", []) + [w for _, p in probes(container) for w in p.get("exec", {}).get("command", [])]:
                path = argument.split("=", 1)[-1]
                if path.startswith("/etc/") and path not in files:
                    yield f"{name(item)}: {argument}: no volume brings that file"
                if path.startswith("/var/") and not any(path.startswith(f + "/") or path == f for f in folders):
                    yield f"{name(item)}: {argument} is in no volume, and the root is read-only"


def files_of(spec, container):
    named = {v["name"]: v for v in spec.get("volumes", [])}
    for mount in container.get("volumeMounts", []):
        volume = named.get(mount["name"], {})
        for item in (volume.get("secret") or volume.get("configMap") or {}).get("items", []):
            yield posixpath.join(mount["mountPath"], item["path"])


def hardening(objects):
    """Pods run as nobody in particular, without an API token, with bounds; only nodes go without the runtime's filter."""
    accounts = {o["metadata"]["name"]: o for o in of_kind(objects, "ServiceAccount")}
    for item, labels, spec in pods(objects):
        account = accounts.get(spec.get("serviceAccountName"), {})
        if spec.get("automountServiceAccountToken") is not False or account.get("automountServiceAccountToken") is not False:
            yield f"{name(item)}: has a token of the API server, or no ServiceAccount of its own"
        # Of a Service `sassay-x` Kubernetes would make variables SASSAY_X_…, which are flags to our programs.
        if spec.get("enableServiceLinks") is not False:
            yield f"{name(item)}: has variables named after Services"
        security = spec.get("securityContext", {})
        if security.get("runAsNonRoot") is not True or security.get("runAsUser", 0) == 0:
            yield f"{name(item)}: may run as root"
        node = labels["app.kubernetes.io/name"] == "sassay-node"
        if security.get("seccompProfile", {}).get("type") != ("Unconfined" if node else "RuntimeDefault"):
            yield f"{name(item)}: seccompProfile"
        if node and spec.get("hostUsers") is not False:
            yield f"{name(item)}: procMount: Unmasked needs hostUsers: false"
        if any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
            yield f"{name(item)}: shares a namespace of the host"
        for container in spec["containers"]:
            yield from container_hardening(item, container, node)


def container_hardening(item, container, node):
    security = container.get("securityContext", {})
    expected = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    if node:
        expected["procMount"] = "Unmasked"
    if security != expected:
        yield f"{name(item)}: securityContext of {container['name']} is {security}, expected {expected}"
    resources = container.get("resources", {})
    if not {"cpu", "memory"} <= set(resources.get("requests", {})) or "memory" not in resources.get("limits", {}):
        yield f"{name(item)}: {container['name']} lacks requests or a memory limit"
    if not re.search(r":\d+\.\d+\.\d+$|@sha256:[0-9a-f]{64}$", container["image"]):
        yield f"{name(item)}: the image {container['image']} is not pinned"


def rolling(objects):
    """A pod that ends has the time that it is told to take, and a front end is replaced before it goes."""
    for item, _, spec in pods(objects):
        for container in spec["containers"]:
            drains = [int(a.split("=")[1].rstrip("s")) for a in container.get("args", []) if a.startswith("--drain=")]
            if not drains:
                continue
            if sorted(set(drains), reverse=True) != drains:
                yield f"{name(item)}: the monitor kills a service that may still drain: {drains}"
            sleep = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
            needed = int(sleep[1]) + drains[0] + 10
            if spec["terminationGracePeriodSeconds"] < needed:
                yield f"{name(item)}: is killed after {spec['terminationGracePeriodSeconds']} s and needs {needed} s to drain"
            live = container.get("livenessProbe")
            if live and live["periodSeconds"] * live["failureThreshold"] <= needed:
                yield f"{name(item)}: its liveness probe ends it while it drains"
            if "readinessProbe" not in container or "startupProbe" not in container:
                yield f"{name(item)}: nobody asks whether it is ready"
            if flag(container["args"], "--role") != "frontend":
                continue
            if item["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] != 0 or int(sleep[1]) == 0:
                yield f"{name(item)}: an upgrade loses a front end before another is ready"
            if not any(b["spec"].get("maxUnavailable") == 1 and (item, spec) in chosen(b["spec"]["selector"], objects)
                       for b in of_kind(objects, "PodDisruptionBudget")):
                yield f"{name(item)}: has no PodDisruptionBudget of one"


CHECKS = [selectors, ports, listens, isolation, narrowness, joins, volumes, hardening, rolling]
