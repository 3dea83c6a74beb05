#!/usr/bin/env python3
"""The images of node and agent in containers of runc, under what base/node/daemon_set.yaml asks for: no kubelet, no containerd.

First `profiler-service --check` on the emulated device: whether a sandbox comes up, and what of the pod's settings it cannot do without. Then
the node's command line with the emulated device and `--role all`, to which the agent submits a kernel; the service is killed, and the
container ended. Wants root, runc, buildah, and the images that deploy/images/build.sh has made with buildah. Prints one line for each step;
exit status 1 where something is not as expected.

    tests/deploy/pod_in_runc.py [VERSION]        default: 0.1.0
"""
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import yaml

SOURCES = pathlib.Path(__file__).resolve().parents[2]
# What runtimes hide and close in /proc unless procMount is Unmasked (the runtime specification's example and runc's own).
HIDDEN = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi"]
CLOSED = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NEEDS_ADMIN = ["mount", "pivot_root", "setns", "sethostname", "umount2", "unshare"]
CHECK = "profiler-service --check --state=/tmp/state --device=emulated:sm_90a"


def pod():
    return yaml.safe_load((SOURCES / "deploy/kubernetes/base/node/daemon_set.yaml").read_text())["spec"]["template"]["spec"]


def specification(root, spec, arguments):
    """An OCI configuration with what the pod's specification says about security."""
    container, security = spec["containers"][0], spec["securityContext"]
    config = json.loads((root.parent / "plain.json").read_text())  # as `runc spec` makes it
    config["root"] = {"path": str(root), "readonly": container["securityContext"]["readOnlyRootFilesystem"]}
    config["process"].update(
        terminal=False, args=arguments, cwd="/tmp", user={"uid": security["runAsUser"], "gid": security["runAsGroup"]},
        noNewPrivileges=not container["securityContext"]["allowPrivilegeEscalation"], capabilities={},
        env=["PATH=/opt/sassay/bin:/usr/local/cuda/bin:/usr/bin:/bin", "SASSAY_CUDA_HOME=/usr/local/cuda", "HOME=/tmp"])
    config["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]})
    linux = config["linux"]
    linux.pop("resources", None)
    masked = container["securityContext"].get("procMount") != "Unmasked"
    linux["maskedPaths"], linux["readonlyPaths"] = (HIDDEN, CLOSED) if masked else ([], [])
    if spec["hostUsers"] is False:
        linux["namespaces"].append({"type": "user"})
        linux["uidMappings"] = linux["gidMappings"] = [{"containerID": 0, "hostID": 200000, "size": 65536}]
    if security["seccompProfile"]["type"] != "Unconfined":
        linux["seccomp"] = default_filter()
    return config


def default_filter():
    """The part of runtimes' default filter that matters here: calls that it keeps for CAP_SYS_ADMIN, and new user namespaces."""
    user_namespace = [{"index": 0, "value": 0x10000000, "valueTwo": 0x10000000, "op": "SCMP_CMP_MASKED_EQ"}]
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [
        {"names": NEEDS_ADMIN, "action": "SCMP_ACT_ERRNO"}, {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        {"names": ["clone"], "action": "SCMP_ACT_ERRNO", "args": user_namespace}]}


class Container:
    """One of runc, in a folder of its own beside the root file system."""

    def __init__(self, root, config, name):
        self.bundle, self.name = root.parent / name, f"sassay-{root.parent.name}-{name}"
        self.runc = ["runc", "--root", str(root.parent / "runc")]
        self.bundle.mkdir(exist_ok=True)
        (self.bundle / "config.json").write_text(json.dumps(config))

    def run(self, seconds=300):
        return subprocess.run(self.command(), capture_output=True, text=True, timeout=seconds)

    def start(self):
        self.log = open(self.bundle / "log", "w")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log)

    def command(self):
        return [*self.runc, "run", "--bundle", str(self.bundle), self.name]

    def execute(self, *words):
        return subprocess.run([*self.runc, "exec", self.name, *words], capture_output=True, text=True).returncode

    def pid(self):
        return json.loads(subprocess.run([*self.runc, "state", self.name], capture_output=True, text=True, check=True).stdout)["pid"]

    def serves(self):
        for _ in range(60):
            if self.execute("sassay-admin", "health", "--service=127.0.0.1:50051") == 0:
                return True
            time.sleep(1)
        return False

    def end(self):
        began = time.monotonic()
        subprocess.run([*self.runc, "kill", self.name, "TERM"], check=True)
        self.process.wait(120)
        return self.process.returncode, time.monotonic() - began


def variants():
    """(what is asked for, the pod, whether the sandbox shall come up)."""
    yield "as in the manifest", pod(), True
    masked = pod()
    del masked["containers"][0]["securityContext"]["procMount"]
    yield "without procMount: Unmasked", masked, False
    filtered = pod()
    filtered["securityContext"]["seccompProfile"]["type"] = "RuntimeDefault"
    yield "with seccompProfile RuntimeDefault", filtered, False
    host = pod()
    host["hostUsers"] = True
    yield "with hostUsers: true", host, True


def sandboxes(root):
    for number, (name, spec, expected) in enumerate(variants()):
        ran = Container(root, specification(root, spec, ["sh", "-c", CHECK]), f"check{number}").run()
        # It says "cannot judge" for other reasons, too.
        came_up = "judge and runner  came up" in ran.stdout
        why = next((line for line in ran.stdout.splitlines() if "sandbox does not start" in line), ran.stderr.strip()[-300:])
        yield came_up == expected, f"{name}: {'a sandbox comes up' if came_up else why}"


def node_command():
    """The manifest's, for one host without a GPU."""
    container = pod()["containers"][0]
    gone = ("--role=", "--join", "--node-name=", "--device=")
    words = container["command"] + [a for a in container["args"] if not a.startswith(gone)] + ["--device=emulated:sm_90a"]
    return [w.replace("/var/lib/sassay/state", "/tmp/state") for w in words]


def submission(node_root, agent_root):
    node = Container(node_root, specification(node_root, pod(), node_command()), "node")
    node.start()
    yield node.serves(), "the node's container serves"
    config = specification(agent_root, pod(), ["tini", "--", "mini-ptx-agent", "submit", "/opt/sassay/share/sassay/examples/gemm_tiled.cu",
                                               "--workload", "gemm_n256_k256/M=256", "--service", "127.0.0.1:50051"])
    # In the node's network, as the service listens on loopback; what belongs to another's network cannot be mounted then.
    next(n for n in config["linux"]["namespaces"] if n["type"] == "network")["path"] = f"/proc/{node.pid()}/ns/net"
    config["mounts"] = [m for m in config["mounts"] if m["type"] not in ("sysfs", "cgroup")]
    ran = Container(agent_root, config, "agent").run()
    yield ran.returncode == 0 and "VERIFIED" in ran.stdout, f"the agent's container submits a kernel: status {ran.returncode} {ran.stderr[-300:]}"
    node.execute("sh", "-c", 'for p in /proc/[0-9]*; do case "$(tr "\\0" " " <$p/cmdline)" in profiler-service*) kill -9 ${p#/proc/};; esac; done')
    time.sleep(1)
    yield node.serves(), "a service that was killed serves again"
    status, seconds = node.end()
    yield status == 0 and seconds < 60, f"SIGTERM ends the container: status {status}, {seconds:.0f} s"


@contextlib.contextmanager
def unpacked(image):
    """A folder with the image's root, where a user namespace can walk."""
    made = subprocess.run(["buildah", "from", image], capture_output=True, text=True, check=True).stdout.strip()
    try:
        mounted = subprocess.run(["buildah", "mount", made], capture_output=True, text=True, check=True).stdout.strip()
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            place.chmod(0o755)
            subprocess.run(["cp", "-a", mounted, str(place / "root")], check=True)
            (place / "root").chmod(0o755)
            subprocess.run(["runc", "spec", "--bundle", folder], check=True)
            (place / "config.json").rename(place / "plain.json")
            yield place / "root"
    finally:
        subprocess.run(["buildah", "rm", made], capture_output=True, check=False)


def main():
    version = (sys.argv[1:] or ["0.1.0"])[0]
    failed = 0
    with unpacked(f"localhost/sassay-node:{version}") as node, unpacked(f"localhost/sassay-agent:{version}") as agent:
        for steps in (sandboxes(node), submission(node, agent)):
            for fine, text in steps:
                failed += not fine
                print(f"{'as expected' if fine else 'NOT EXPECTED'}: {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
