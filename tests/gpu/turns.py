#!/usr/bin/env python3
"""Sends the bundles of a package through a running service and measures. Called by the scripts beside it; standard library alone.

    turns.py suite       every bundle of the manifest once; what became of it against what must
    turns.py mix         turns as published trajectories have them: most of them fail
    turns.py generation  trajectories whose model needs a while for every turn
    turns.py beside      right turns, one at a time, with and without a kernel that hangs on another GPU
    turns.py stages      one bundle again and again: where the time of a turn goes
    turns.py speed       the examples that promise a share of the library's speed, alone on the GPU

Each prints a short table, then its results as one JSON line that begins with "json: ".
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time

# Turns of the paper (FACTS: 13,674 published turns): what fails at once, faults, is wrong, hangs; the rest is right.
MIX = {"refused": 28, "fault": 25, "wrong": 18, "hang": 12, "right": 17}
MEMBERS = {
    "refused": ["for_another_gpu"],
    "fault": ["trap", "illegal_address", "device_assert", "misaligned_vector"],
    "wrong": ["zeros", "scaled", "wrong_transposition", "last_tile_wrong"],
    "hang": ["endless_loop"],
    "right": ["gemm_tiled", "gemm_mma_sync", "attention_forward_naive", "split_k_semaphores"],
}
EXPECTED = {
    "refused": {"REJECTED"},
    "fault": {"RUNTIME_ERROR", "SANITIZER_ERROR"},
    "wrong": {"INCORRECT_NUMERICAL"},
    "hang": {"TIMEOUT"},
    "right": {"CORRECT"},
}


class Case:
    """One bundle of the manifest, and what must become of it."""

    def __init__(self, name, workload, statuses, codes, check=""):
        self.name, self.workload, self.check = name, workload, check
        self.statuses, self.codes = set(statuses.split(",")), set(codes.split(","))

    def expects(self, verdict):
        return verdict.get("status") in self.statuses and verdict.get("code") in self.codes


class Turn:
    """A submission: its verdict, and when it began and ended."""

    def __init__(self, kind, case, verdict, begin, end, stderr):
        self.kind, self.case, self.verdict, self.begin, self.end, self.stderr = kind, case, verdict, begin, end, stderr

    @property
    def seconds(self):
        return self.end - self.begin

    @property
    def device_seconds(self):
        return sum(int(stage.get("device_ns", 0)) for stage in self.verdict.get("stages", [])) / 1e9


class Client:
    def __init__(self, arguments):
        self.package = pathlib.Path(arguments.package)
        self.service, self.timeout = arguments.service, arguments.turn_timeout
        self.stages, self.out = arguments.stages, arguments.out
        self.lock = threading.Lock()

    def manifest(self):
        return [Case(*line.split("\t")) for line in (self.package / "manifest.tsv").read_text().splitlines()]

    def submit(self, kind, case, workload=None):
        command = [self.package / "bin/mini-ptx-agent", "submit", self.package / "bundles" / (case.name + ".bundle"),
                   "--workload", workload or case.workload, "--service", self.service, "--json"]
        if self.stages:
            command += ["--stages", self.stages]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.timeout, stdin=subprocess.DEVNULL)
            stdout, stderr = done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            stdout, stderr = "", f"no verdict within {self.timeout} s"
        end = time.monotonic()
        try:
            verdict = json.loads(stdout)
        except ValueError:
            verdict = {}
        turn = Turn(kind, case, verdict, begin, end, stderr)
        self.keep(turn)
        return turn

    def keep(self, turn):
        if not self.out:
            return
        with self.lock, open(pathlib.Path(self.out) / "verdicts.jsonl", "a") as file:
            file.write(json.dumps(dict(turn.verdict, candidate=turn.case.name, seconds=round(turn.seconds, 3))) + "\n")


def one_line(turn):
    verdict = turn.verdict
    reason = verdict.get("reason", "").replace("\n", " ") or turn.stderr.strip().replace("\n", " ")
    return (f"{turn.case.name:<28} {turn.seconds * 1000:6.0f} ms  {verdict.get('status', 'NONE'):<20} "
            f"{verdict.get('code', 'NONE'):<22} {reason[:180]}")


def emit(result):
    print("json: " + json.dumps(result))


class Promises:
    """What a candidate's check="EXPRESSION" can say about the verdict v: Python, with these functions."""

    def __init__(self, verdicts):
        self.verdicts = verdicts

    def hold(self, turn):
        names = {"v": turn.verdict, "slower_than": lambda factor, name: self.slower_than(turn.verdict, factor, name),
                 "tensor_core_share": lambda: turn.verdict["evidence"].get("tensor_core_flop_share", 0.0)}
        try:
            return bool(eval(turn.case.check, names))
        except (KeyError, TypeError, ArithmeticError) as error:
            print(f"{turn.case.name}: {turn.case.check}: the verdict has no {error!r}")
            return False

    def slower_than(self, verdict, factor, name):
        """Whether a call takes at least `factor` of what a call of the candidate `name` takes."""
        ours, theirs = (float(v["timing"]["candidate"]["median_ns"]) for v in (verdict, self.verdicts[name]))
        print(f"    {ours / 1000:.2f} us, {name} {theirs / 1000:.2f} us")
        return ours >= factor * theirs


# A fault or a hang convicts only if it happens again in a fresh runner, alone on a GPU that was probed.
PROVEN = {"RUNTIME_ERROR", "TIMEOUT"}


def is_proven(verdict):
    notes = verdict.get("details", {}).get("notes", [])
    return verdict.get("status") not in PROVEN or any("run again" in note for note in notes)


def suite(client, arguments):
    cases = [case for case in client.manifest() if re.search(arguments.only, case.name)]
    passed = failed = 0
    promises = Promises({})
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for turn in pool.map(lambda case: client.submit("suite", case), sorted(cases, key=lambda case: bool(case.check))):
            print(one_line(turn), flush=True)
            promises.verdicts[turn.case.name] = turn.verdict
            trouble = ""
            if not turn.case.expects(turn.verdict):
                trouble = f"expected {','.join(sorted(turn.case.statuses))} {','.join(sorted(turn.case.codes))}"
            elif not is_proven(turn.verdict):
                trouble = "expected a note that the failure was proven alone on the device"
            elif turn.case.check and not promises.hold(turn):
                trouble = f"expected {turn.case.check}"
            passed, failed = passed + (not trouble), failed + bool(trouble)
            if trouble:
                print(f"FAILED  {turn.case.name}: {trouble}\n{turn.stderr}", flush=True)
    print(f"suite: {passed} passed, {failed} failed")
    return failed == 0


# ---- what a host is busy with, and what it must be rid of afterwards ----


def nvidia_smi(query, what="gpu"):
    done = subprocess.run(["nvidia-smi", f"--query-{what}={query}", "--format=csv,noheader,nounits"], capture_output=True,
                          text=True, timeout=20, stdin=subprocess.DEVNULL)
    return [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


class BusyGpus:
    """Samples NVML's utilization of every GPU while it is entered."""

    def __enter__(self):
        self.samples = []
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


def holdings(arguments):
    """What the service holds right now."""
    proc = pathlib.Path(f"/proc/{arguments.pid}")
    return {
        "gpu_memory_mib": [int(row[0]) for row in nvidia_smi("memory.used")],
        "gpu_processes": len(nvidia_smi("pid", "compute-apps")),
        "processes": len(descendants(arguments.pid)),
        "descriptors": len(list((proc / "fd").iterdir())),
        "threads": len(list((proc / "task").iterdir())),
        "scratch_files": listed(os.path.join(arguments.state, "scratch")),
        "tmp_files": len(os.listdir("/tmp")),
        "shm_files": len(os.listdir("/dev/shm")),
    }


def settled(arguments, before=None, patience=20.0):
    """Holdings once they stand still: spare runners come back a moment after the last turn. Stops early where they are `before`'s."""
    end, last = time.monotonic() + patience, None
    while time.monotonic() < end:
        now = holdings(arguments)
        if now == before or (before is None and now == last):
            return now
        last = now
        time.sleep(1)
    return last


def leaks(before, after):
    found = []
    for key, value in after.items():
        old = before[key]
        # The driver keeps a few MiB of its own once a context has existed; a lost runner's context is 500. gRPC's threads come and go.
        slack = {"threads": 8}.get(key, 0)
        grown = any(new > was + 64 for new, was in zip(value, old)) if isinstance(value, list) else value > old + slack
        if grown:
            found.append(f"{key} {old} -> {value}")
    return found


# ---- the published mix ----


def drawn(client, arguments):
    """The turns in the order in which they are submitted: the mix's shares exactly, shuffled by a fixed seed."""
    cases = {case.name: case for case in client.manifest()}
    kinds = [kind for kind, share in MIX.items() for _ in range(share * arguments.turns // 100)]
    random.Random(arguments.seed).shuffle(kinds)
    turns = []
    for index, kind in enumerate(kinds):
        names = arguments.right.split(",") if kind == "right" and arguments.right else MEMBERS[kind]
        case = cases[names[index % len(names)]]
        turns.append((kind, case, arguments.workload if kind == "right" and arguments.workload else None))
    return turns


def mix(client, arguments):
    turns = drawn(client, arguments)
    # What is opened once and stays (NVML's descriptors) is no leak.
    client.submit(*next(turn for turn in turns if turn[0] == "right"))
    before = settled(arguments)
    begin = time.monotonic()
    with BusyGpus() as busy, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done = list(pool.map(lambda turn: client.submit(*turn), turns))
    seconds = time.monotonic() - begin
    after = settled(arguments, before)
    unexpected = [turn for turn in done if turn.verdict.get("status") not in EXPECTED[turn.kind]]
    for turn in unexpected:
        print("UNEXPECTED " + turn.kind + ": " + one_line(turn))
    print(f"{'kind':<9} {'turns':>5} {'median s':>9} {'longest s':>9}")
    for kind in MIX:
        times = [turn.seconds for turn in done if turn.kind == kind]
        print(f"{kind:<9} {len(times):>5} {statistics.median(times):>9.2f} {max(times):>9.2f}")
    leaked = leaks(before, after)
    rate = 3600 * len(done) / seconds
    print(f"{len(done)} turns in {seconds:.1f} s: {rate:.0f} turns/hour; GPU busy (NVML) {busy.share()}; "
          f"{len(unexpected)} unexpected; leaked: {', '.join(leaked) or 'nothing'}")
    devices = {}
    for turn in done:
        devices[turn.kind] = devices.get(turn.kind, 0) + turn.device_seconds
    emit({"experiment": "mix", "label": arguments.label, "turns": len(done), "jobs": arguments.jobs, "seconds": round(seconds, 2),
          "turns_per_hour": round(rate), "gpu_busy_share": busy.share(), "unexpected": len(unexpected),
          "candidate_device_seconds": {kind: round(value, 2) for kind, value in devices.items()}, "before": before, "after": after,
          "leaked": leaked})
    return not unexpected and not leaked


# ---- trajectories that wait for their model ----


def generation(client, arguments):
    """Every trajectory: the model writes for a while, the turn is judged, and again. Overlapped: trajectories do not wait for each
    other, so that one is judged while others are written."""
    turns = drawn(client, arguments)
    lanes = [turns[index::arguments.trajectories] for index in range(arguments.trajectories)]
    slots = arguments.trajectories if arguments.overlap else 1

    def trajectory(lane):
        done = []
        for turn in lane:
            time.sleep(arguments.generation_seconds)
            done.append(client.submit(*turn))
        return done

    begin = time.monotonic()
    with BusyGpus() as busy, concurrent.futures.ThreadPoolExecutor(slots) as pool:
        done = [turn for lane in pool.map(trajectory, lanes) for turn in lane]
    seconds = time.monotonic() - begin
    unexpected = [turn for turn in done if turn.verdict.get("status") not in EXPECTED[turn.kind]]
    for turn in unexpected:
        print("UNEXPECTED " + turn.kind + ": " + one_line(turn))
    rate = 3600 * len(done) / seconds
    print(f"{arguments.label:<44} {len(done):>5} turns {seconds:>8.1f} s {rate:>8.0f} turns/hour  GPU busy {busy.share()}")
    emit({"experiment": "figure12", "label": arguments.label, "turns": len(done), "trajectories": arguments.trajectories,
          "generation_seconds": arguments.generation_seconds, "overlap": arguments.overlap, "seconds": round(seconds, 2),
          "turns_per_hour": round(rate), "gpu_busy_share": busy.share(), "unexpected": len(unexpected)})
    return not unexpected


# ---- a hang on another GPU ----


def beside(client, arguments):
    """On a host with several GPUs a job goes to the emptiest: with one that hangs, the others go elsewhere and do not notice."""
    cases = {case.name: case for case in client.manifest()}
    right, hang = cases[MEMBERS["right"][0]], cases[MEMBERS["hang"][0]]
    client.submit("right", right)
    alone = [client.submit("right", right) for _ in range(arguments.turns)]
    accompanied = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(client.submit, "hang", hang)
        while not hanging.done():
            accompanied.append(client.submit("right", right))
    done = alone + accompanied + [hanging.result()]
    # The last one may have begun when the hang was over.
    accompanied = accompanied[:-1] or accompanied
    unexpected = [turn for turn in done if turn.verdict.get("status") not in EXPECTED[turn.kind]]
    for turn in unexpected:
        print("UNEXPECTED " + turn.kind + ": " + one_line(turn))
    without, with_hang = (statistics.median(turn.seconds for turn in turns) for turns in (alone, accompanied))
    longest = max(turn.seconds for turn in accompanied)
    print(f"right turn: median {without:.2f} s alone, {with_hang:.2f} s (longest {longest:.2f} s of {len(accompanied)}) while a kernel hangs "
          f"for {hanging.result().seconds:.1f} s on another GPU")
    emit({"experiment": "beside", "alone_s": round(without, 3), "beside_hang_s": round(with_hang, 3), "longest_s": round(longest, 3),
          "turns": len(accompanied), "hang_s": round(hanging.result().seconds, 2), "unexpected": len(unexpected)})
    return not unexpected and with_hang < 1.3 * without + 0.05


# ---- where the time of one turn goes ----


def stages(client, arguments):
    case = next(case for case in client.manifest() if case.name == arguments.only)
    if arguments.workload:
        case.workload = arguments.workload
    first = client.submit("first", case)
    done = [client.submit("warm", case) for _ in range(arguments.turns)]
    for turn in [first] + done:
        if turn.verdict.get("status") != "CORRECT":
            print("UNEXPECTED " + one_line(turn))
            return False
    def wall(turn, name):
        return sum(int(s.get("wall_ns", 0)) for s in turn.verdict["stages"] if s["stage"] == name) / 1e6
    names = [stage["stage"] for stage in first.verdict["stages"]]
    rows = []
    print(f"{case.name} {case.workload}, {len(done)} turns with warm state\n{'stage':<26} {'first ms':>9} {'median ms':>9} {'longest ms':>10}")
    for name in names:
        times = [wall(turn, name) for turn in done]
        rows.append((name, wall(first, name), statistics.median(times), max(times)))
    rows.append(("accepted to verdict", sum(row[1] for row in rows), statistics.median(sum(wall(t, n) for n in names) for t in done),
                 max(sum(wall(t, n) for n in names) for t in done)))
    rows.append(("whole command of the agent", first.seconds * 1e3, statistics.median(t.seconds * 1e3 for t in done),
                 max(t.seconds * 1e3 for t in done)))
    for name, cold, median, longest in rows:
        print(f"{name:<26} {cold:>9.0f} {median:>9.0f} {longest:>10.0f}")
    last = done[-1].verdict
    timing, evidence = last.get("timing", {}), last.get("evidence", {})
    print(f"evidence {evidence.get('status')}, tensor-core share {evidence.get('tensor_core_flop_share')}; timing {timing.get('status')} "
          f"{timing.get('candidate', {}).get('median_ns', 0) / 1000:.1f} us, speedup {timing.get('speedup')} "
          f"({timing.get('speedup_low')} to {timing.get('speedup_high')}) {timing.get('reason', '')}")
    for note in last.get("details", {}).get("notes", []):
        print("note: " + note)
    emit({"experiment": "turn_time", "candidate": case.name, "workload": case.workload, "turns": len(done),
          "ms": {name: {"first": round(cold, 1), "median": round(median, 1), "longest": round(longest, 1)}
                 for name, cold, median, longest in rows}})
    median = next(row[2] for row in rows if row[0] == "accepted to verdict") / 1e3
    if arguments.most_seconds and median > arguments.most_seconds:
        print(f"accepted to verdict takes {median:.2f} s, at most {arguments.most_seconds} s expected")
        return False
    return True


# ---- promises of speed ----


def speed(client, arguments):
    """Every row of speed.tsv: CORRECT, by the target's own instructions, and at least so fast as its example says."""
    rows = [line.split("\t") for line in (client.package / "speed.tsv").read_text().splitlines()]
    kept = 0
    for name, workload, least in rows:
        turn = client.submit("speed", Case(name, workload, "CORRECT", "OK"))
        timing, evidence = turn.verdict.get("timing", {}), turn.verdict.get("evidence", {})
        ok = (turn.case.expects(turn.verdict) and evidence.get("status") == "DYNAMIC_PRESENT" and
              timing.get("speedup", 0) >= float(least))
        kept += ok
        print(f"{'' if ok else 'FAILED  '}{name} {workload}: {turn.verdict.get('status', 'NONE')}, {evidence.get('status', 'no evidence')}, "
              f"speedup {timing.get('speedup', 0):.3f} ({timing.get('speedup_low', 0):.3f} to {timing.get('speedup_high', 0):.3f}), "
              f"promised {least}", flush=True)
        if not ok:
            print("\n".join(filter(None, [turn.verdict.get("reason"), evidence.get("reason"), timing.get("reason"), turn.stderr])))
    print(f"speed: {kept} of {len(rows)} keep their promise")
    return kept == len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=["suite", "mix", "generation", "beside", "stages", "speed"])
    parser.add_argument("--package", required=True, help="folder made by tests/gpu/package.sh")
    parser.add_argument("--service", required=True, help="HOST:PORT")
    parser.add_argument("--pid", type=int, default=0, help="the service's process, for what it holds")
    parser.add_argument("--state", default="", help="the service's --state")
    parser.add_argument("--out", default="", help="folder for verdicts.jsonl")
    parser.add_argument("--jobs", type=int, default=4, help="submissions at once")
    parser.add_argument("--only", default=".", help="suite: names that match; stages: the bundle")
    parser.add_argument("--workload", default="", help="stages, and right turns of mix: another workload of the bundle")
    parser.add_argument("--stages", default="", help="as mini-ptx-agent's --stages; all by default")
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the mix")
    parser.add_argument("--right", default="", help="mix: the bundles that are right, instead of the small ones")
    parser.add_argument("--trajectories", type=int, default=8)
    parser.add_argument("--generation-seconds", type=float, default=2.0, help="what the model takes for one turn")
    parser.add_argument("--overlap", action="store_true", help="generation of one trajectory goes on while another is judged")
    parser.add_argument("--turn-timeout", type=float, default=120)
    parser.add_argument("--most-seconds", type=float, default=0, help="stages: fail where a turn takes longer; 0: any time will do")
    parser.add_argument("--label", default="")
    arguments = parser.parse_args()
    client = Client(arguments)
    run = {"suite": suite, "mix": mix, "generation": generation, "beside": beside, "stages": stages, "speed": speed}[arguments.experiment]
    sys.exit(0 if run(client, arguments) else 1)


if __name__ == "__main__":
    main()
