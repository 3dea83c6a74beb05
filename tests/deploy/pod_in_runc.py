#!/usr/bin/env python3
"""Whether a sandbox comes up in the node's image under what base/node/daemon_set.yaml asks for, and what of that it cannot do without.

Runs `profiler-service --check` on the emulated device in containers of runc (no kubelet, no containerd), as root, with an image that
deploy/images/build.sh has made with buildah. Prints one line for each; exit status 1 where something is not as expected.

    tests/deploy/pod_in_runc.py [IMAGE]        default: localhost/sassay-node:0.1.0
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

SOURCES = pathlib.Path(__file__).resolve().parents[2]
# What runtimes hide and close in /proc unless procMount is Unmasked (the runtime specification's example and runc's own).
HIDDEN = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi"]
CLOSED = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NEEDS_ADMIN = ["mount", "pivot_root", "setns", "sethostname", "umount2", "unshare"]
CHECK = "profiler-service --check --state=/tmp/state --device=emulated:sm_90a"


def pod():
    return yaml.safe_load((SOURCES / "deploy/kubernetes/base/node/daemon_set.yaml").read_text())["spec"]["template"]["spec"]


def specification(root, spec):
    """An OCI configuration with what the pod's specification says about security."""
    container, security = spec["containers"][0], spec["securityContext"]
    config = json.loads((root.parent / "plain.json").read_text())
    config["root"] = {"path": str(root), "readonly": container["securityContext"]["readOnlyRootFilesystem"]}
    config["process"].update(
        terminal=False, args=["sh", "-c", CHECK], user={"uid": security["runAsUser"], "gid": security["runAsGroup"]},
        noNewPrivileges=not container["securityContext"]["allowPrivilegeEscalation"], capabilities={},
        env=["PATH=/opt/sassay/bin:/usr/local/cuda/bin:/usr/bin:/bin", "SASSAY_CUDA_HOME=/usr/local/cuda"])
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


def comes_up(root, spec):
    bundle = root.parent
    (bundle / "config.json").write_text(json.dumps(specification(root, spec)))
    ran = subprocess.run(["runc", "--root", str(bundle / "runc"), "run", "--bundle", str(bundle), f"sassay-{bundle.name}"],
                         capture_output=True, text=True, timeout=120)
    # It says "cannot judge" for other reasons, too.
    came_up = "judge and runner  came up" in ran.stdout
    return came_up, next((line for line in ran.stdout.splitlines() if "sandbox does not start" in line), ran.stderr.strip()[-300:])


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


def main():
    image = (sys.argv[1:] or ["localhost/sassay-node:0.1.0"])[0]
    asked = subprocess.run(["buildah", "from", image], capture_output=True, text=True, check=True).stdout.strip()
    try:
        mounted = subprocess.run(["buildah", "mount", asked], capture_output=True, text=True, check=True).stdout.strip()
        with tempfile.TemporaryDirectory() as folder:
            # A user namespace must be able to walk there.
            pathlib.Path(folder).chmod(0o755)
            root = pathlib.Path(folder) / "root"
            subprocess.run(["cp", "-a", mounted, str(root)], check=True)
            root.chmod(0o755)
            subprocess.run(["runc", "spec", "--bundle", folder], check=True)
            (pathlib.Path(folder) / "config.json").rename(pathlib.Path(folder) / "plain.json")
            failed = 0
            for name, spec, expected in variants():
                came_up, why = comes_up(root, spec)
                failed += came_up != expected
                print(f"{'as expected' if came_up == expected else 'NOT EXPECTED'}: {name}: {'a sandbox comes up' if came_up else why}")
            return 1 if failed else 0
    finally:
        subprocess.run(["buildah", "rm", asked], capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
