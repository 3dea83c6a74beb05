"""What a host is busy with while turns go through a service, and what it must be rid of afterwards. For turns.py."""

import os
import pathlib
import shutil
import statistics
import subprocess
import threading
import time


def nvidia_smi(query, what="gpu"):
    """Rows of fields; none on a host without NVIDIA's driver."""
    if not shutil.which("nvidia-smi"):
        return []
    done = subprocess.run(["nvidia-smi", f"--query-{what}={query}", "--format=csv,noheader,nounits"], capture_output=True,
                          text=True, timeout=20, stdin=subprocess.DEVNULL)
    return [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


class BusyGpus:
    """Samples NVML's utilization of every GPU while it is entered."""

    def __enter__(self):
        self.samples = []
        self.process = None
        if not shutil.which("nvidia-smi"):
            return self
        self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits", "-lms",
                                         "100"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        for line in self.process.stdout:
            fields = line.split(",")
            if len(fields) == 2 and fields[1].strip().isdigit():
                self.samples.append((int(fields[0]), int(fields[1])))

    def __exit__(self, *_):
        if self.process is None:
            return
        self.process.terminate()
        self.process.wait()
        self.thread.join()

    def share(self):
        by_gpu = {}
        for gpu, percent in self.samples:
            by_gpu.setdefault(gpu, []).append(percent)
        return {gpu: round(statistics.mean(percents) / 100, 3) for gpu, percents in sorted(by_gpu.items())}


def descendants(pid):
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        found.extend(children.get(todo[-1], []))
        todo.extend(children.get(todo.pop(), []))
    return found


def listed(folder):
    return sum(1 for _ in pathlib.Path(folder).rglob("*")) if folder and os.path.isdir(folder) else 0


def holdings(pid, state):
    """What the service with this process and --state holds right now."""
    proc = pathlib.Path(f"/proc/{pid}")
    return {
        "gpu_memory_mib": [int(row[0]) for row in nvidia_smi("memory.used")],
        "gpu_processes": len(nvidia_smi("pid", "compute-apps")),
        "processes": len(descendants(pid)),
        "descriptors": len(list((proc / "fd").iterdir())),
        "threads": len(list((proc / "task").iterdir())),
        "scratch_files": listed(os.path.join(state, "scratch")),
        "tmp_files": len(os.listdir("/tmp")),
        "shm_files": len(os.listdir("/dev/shm")),
    }


# The driver keeps some MiB of its own once a context has existed, the judge the state of small workloads and its libraries what they load
# with the first call of a kind (400 MiB in all, measured). A lost runner's 500 MiB come with a process.
MEMORY_SLACK_MIB = 448
# gRPC's threads come and go.
SLACK = {"threads": 8}


def grown(before, after):
    """What there is more of than before, in words; nothing if nothing was left behind."""
    found = []
    for key, value in after.items():
        old = before[key]
        if isinstance(value, list):
            more = any(new > was + MEMORY_SLACK_MIB for new, was in zip(value, old))
        else:
            more = value > old + SLACK.get(key, 0)
        if more:
            found.append(f"{key} {old} -> {value}")
    return found


def at_rest(pid, state, patience=20.0):
    """Holdings once they stand still: a moment after a turn its spare runners are back."""
    end, last = time.monotonic() + patience, None
    while time.monotonic() < end:
        now = holdings(pid, state)
        if now == last:
            break
        last = now
        time.sleep(0.5)
    return last


def left_behind(pid, state, before, patience=20.0):
    """(holdings, what has grown), as soon as nothing has, or when patience is over."""
    end = time.monotonic() + patience
    while True:
        after = holdings(pid, state)
        found = grown(before, after)
        if not found or time.monotonic() > end:
            return after, found
        time.sleep(0.5)
