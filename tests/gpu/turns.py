#!/usr/bin/env python3
"""Sends the bundles of a package through a running service and measures. Called by the scripts beside it; standard library alone.

    turns.py suite       every bundle of the manifest once; what became of it against what must
    turns.py mix         turns as published trajectories have them: most of them fail
    turns.py generation  trajectories whose model needs a while for every turn
    turns.py beside      right turns, one at a time, with and without kernels that hang and fault on another GPU
    turns.py stages      one bundle again and again: where the time of a turn goes
    turns.py start       one bundle a few times after a fresh start of the service: its speed-up
    turns.py sharing     one bundle timed alone and beside other stages of other candidates, in turn
    turns.py speed       the examples that promise a share of the library's speed, alone on the GPU

Each prints a short table, then its results as one JSON line that begins with "json: ".
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import holdings

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

    def __init__(self, name, workload, statuses, codes, check="", flags=""):
        self.name, self.workload, self.check, self.flags = name, workload, check, flags.split()
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

    def case(self, name, workload=""):
        found = next((case for case in self.manifest() if case.name == name), None)
        if found is None:
            sys.exit(f"{self.package} has no bundle {name}")
        found.workload = workload or found.workload
        return found

    def submit(self, kind, case, workload=None, stages=""):
        command = [self.package / "bin/mini-ptx-agent", "submit", self.package / "bundles" / (case.name + ".bundle"),
                   "--workload", workload or case.workload, "--service", self.service, "--fresh", "--json"]
        if stages or self.stages:
            command += ["--stages", stages or self.stages]
        if kind == "suite":
            command += case.flags
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
                 "tensor_core_share": lambda: turn.verdict["evidence"].get("tensor_core_flop_share", 0.0),
                 "dead_launches": lambda: self.dead_launches(turn.verdict["evidence"]["dropped_launches"])}
        try:
            return bool(eval(turn.case.check, names))
        except (KeyError, TypeError, ArithmeticError) as error:
            print(f"{turn.case.name}: {turn.case.check}: the verdict has no {error!r}")
            return False

    @staticmethod
    def dead_launches(dropped):
        """Positions of the launches without which the outputs were right; all of the plan's must have been left out."""
        if dropped.get("reason"):
            print(f"dead_launches: {dropped.get('tried', 0)} of {dropped['launches']} launches were left out: {dropped['reason']}")
        return [dead.get("launch", 0) for dead in dropped.get("dead", [])] if not dropped.get("reason") else None

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


def unexpected_turns(turns):
    """Those that did not end as their kind must; they are shown."""
    unexpected = [turn for turn in turns if turn.verdict.get("status") not in EXPECTED[turn.kind]]
    for turn in unexpected:
        print("UNEXPECTED " + turn.kind + ": " + one_line(turn))
    return unexpected


def runners_started(address):
    """How many runners the service has started, by mode; nothing where it serves no metrics."""
    if not address:
        return {}
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as reply:
        found = re.findall(r'^sassay_runners_started_total{mode="(\w+)"} (\d+)', reply.read().decode(), re.MULTILINE)
    return {mode: int(count) for mode, count in found}


def mix(client, arguments):
    turns = drawn(client, arguments)
    # What is opened once and stays (the libraries' contexts, NVML's descriptors of each GPU) is no leak.
    rights = list({turn[1].name: turn for turn in turns if turn[0] == "right"}.values())
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda turn: client.submit(*turn), itertools.islice(itertools.cycle(rights), max(len(rights), arguments.jobs // 2))))
    before = holdings.at_rest(arguments.pid, arguments.state)
    runners_before = runners_started(arguments.metrics)
    begin = time.monotonic()
    # GPU time is dear: what is far too slow is told by the turns that it did.
    patience = 1.5 * arguments.most_seconds or float("inf")
    with holdings.BusyGpus() as busy, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done = list(pool.map(lambda turn: client.submit(*turn) if time.monotonic() - begin < patience else None, turns))
    done = [turn for turn in done if turn is not None]
    seconds = time.monotonic() - begin
    # With the spares that take the place of those that were used.
    after, leaked = holdings.left_behind(arguments.pid, arguments.state, before)
    runners = {mode: count - runners_before.get(mode, 0) for mode, count in runners_started(arguments.metrics).items()}
    unexpected = unexpected_turns(done)
    print(f"{'kind':<9} {'turns':>5} {'median s':>9} {'longest s':>9}")
    for kind in MIX:
        times = [turn.seconds for turn in done if turn.kind == kind]
        if times:
            print(f"{kind:<9} {len(times):>5} {statistics.median(times):>9.2f} {max(times):>9.2f}")
    stage_seconds = {}
    for stage in (stage for turn in done for stage in turn.verdict.get("stages", [])):
        stage_seconds[stage["stage"]] = stage_seconds.get(stage["stage"], 0) + int(stage.get("wall_ns", 0)) / 1e9
    print("in stages, waiting for the GPU included: " + ", ".join(f"{name.lower()} {value:.1f} s" for name, value in stage_seconds.items()))
    on_gpu = sum(turn.kind != "refused" for turn in done)
    print(f"runners started: {sum(runners.values())}, {sum(runners.values()) / max(on_gpu, 1):.2f} for each of {on_gpu} turns that reached a GPU ("
          + ", ".join(f"{mode} {count}" for mode, count in runners.items()) + ")")
    rate = 3600 * len(done) / seconds
    print(f"{len(done)} turns in {seconds:.1f} s: {rate:.0f} turns/hour; GPU busy (NVML) {busy.share()}; "
          f"{len(unexpected)} unexpected; leaked: {', '.join(leaked) or 'nothing'}")
    devices = {}
    for turn in done:
        devices[turn.kind] = devices.get(turn.kind, 0) + turn.device_seconds
    emit({"experiment": "mix", "label": arguments.label, "turns": len(done), "jobs": arguments.jobs, "seconds": round(seconds, 2),
          "turns_per_hour": round(rate), "gpu_busy_share": busy.share(), "unexpected": len(unexpected), "runners": runners,
          "candidate_device_seconds": {kind: round(value, 2) for kind, value in devices.items()},
          "stage_seconds": {name: round(value, 2) for name, value in stage_seconds.items()}, "before": before, "after": after,
          "leaked": leaked})
    in_time = not arguments.most_seconds or seconds <= arguments.most_seconds
    if not in_time:
        print(f"{seconds:.1f} s, at most {arguments.most_seconds} s expected")
    if len(done) < len(turns):
        print(f"only {len(done)} of {len(turns)} turns were begun in {patience:.0f} s")
    return not unexpected and not leaked and in_time and len(done) == len(turns)


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

    # The first right turn of a service is another experiment.
    client.submit(*next(turn for turn in turns if turn[0] == "right"))
    begin = time.monotonic()
    with holdings.BusyGpus() as busy, concurrent.futures.ThreadPoolExecutor(slots) as pool:
        done = [turn for lane in pool.map(trajectory, lanes) for turn in lane]
    seconds = time.monotonic() - begin
    unexpected = unexpected_turns(done)
    rate = 3600 * len(done) / seconds
    print(f"{arguments.label:<44} {len(done):>5} turns {seconds:>8.1f} s {rate:>8.0f} turns/hour  GPU busy {busy.share()}")
    emit({"experiment": "figure12", "label": arguments.label, "turns": len(done), "trajectories": arguments.trajectories,
          "generation_seconds": arguments.generation_seconds, "overlap": arguments.overlap, "seconds": round(seconds, 2),
          "turns_per_hour": round(rate), "gpu_busy_share": busy.share(), "unexpected": len(unexpected)})
    return not unexpected


# ---- trouble on another GPU ----


def beside(client, arguments):
    """On a host with several GPUs a job goes to the emptiest: with one that hangs or faults, the others go elsewhere and do not notice.
    What they are compared with is a right candidate on the other GPU: the driver makes one context at a time, whatever a candidate does
    with its own. Not timed: how long that takes is decided by the samples, not by the neighbour."""
    right = client.case(MEMBERS["right"][0])
    neighbours = [("right", right, 3), ("hang", client.case("endless_loop"), 2), ("fault", client.case("illegal_address"), 3)]

    def turn(kind, case):
        return client.submit(kind, case, stages="evaluate,sanitize,evidence")

    # Two at once: both GPUs know the workload afterwards.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda case: turn("right", case), [right, right]))
    alone = [turn("right", right) for _ in range(arguments.turns)]
    done += alone
    rows = {"alone": {"median_s": statistics.median(t.seconds for t in alone)}}
    print(f"right turn: median {rows['alone']['median_s']:.2f} s alone")
    for kind, case, times in neighbours:
        accompanied, others = [], []
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for _ in range(times):
                pending = pool.submit(turn, kind, case)
                while not pending.done():
                    accompanied.append(turn("right", right))
                others.append(pending.result())
        # The last one may have begun when the other was over.
        accompanied = accompanied[:-1] or accompanied
        done += accompanied + others
        seconds = [t.seconds for t in accompanied]
        rows[kind] = {"median_s": round(statistics.median(seconds), 3), "longest_s": round(max(seconds), 3), "turns": len(seconds)}
        print(f"right turn: median {statistics.median(seconds):.2f} s (longest {max(seconds):.2f} s of {len(seconds)}) beside a {kind} candidate "
              f"of {statistics.median(t.seconds for t in others):.1f} s on another GPU")
    unexpected = unexpected_turns(done)
    emit({"experiment": "beside", "unexpected": len(unexpected), **rows})
    return not unexpected and all(rows[kind]["median_s"] < 1.2 * rows["right"]["median_s"] + 0.05 for kind in ("hang", "fault"))


# ---- what a speed-up depends on, and must not ----


def timed(turn):
    """The speed-up of a turn; ends the program where it has none."""
    timing = turn.verdict.get("timing", {})
    if turn.verdict.get("status") == "CORRECT" and timing.get("status") == "MEASURED" and timing.get("speedup"):
        return float(timing["speedup"])
    print(f"UNEXPECTED {one_line(turn)}; timing {timing.get('status')}: {timing.get('reason', '')}")
    sys.exit(1)


def start(client, arguments):
    case = client.case(arguments.only, arguments.workload)
    turns = [client.submit("start", case, stages="timing") for _ in range(arguments.turns)]
    speedups = [timed(turn) for turn in turns]
    middle = statistics.median(speedups)
    print(f"{arguments.label}: speed-up {middle:.4f} (of {' '.join(f'{value:.4f}' for value in speedups)}), "
          f"turns of {' '.join(f'{turn.seconds:.1f}' for turn in turns)} s")
    emit({"experiment": "start", "label": arguments.label, "candidate": case.name, "workload": case.workload, "speedup": middle,
          "speedups": speedups, "seconds": [round(turn.seconds, 2) for turn in turns]})
    return True


class Stream:
    """Submissions of other candidates, one after another in each of `jobs` threads, through every stage but timing."""

    def __init__(self, client, jobs):
        names = ["gemm_tiled", "gemm_mma_sync", "attention_forward_naive", "scaled"]
        self.client, self.cases = client, itertools.cycle([client.case(name) for name in names])
        self.lock, self.stop, self.turns = threading.Lock(), threading.Event(), []
        self.threads = [threading.Thread(target=self.run) for _ in range(jobs)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def run(self):
        while not self.stop.is_set():
            with self.lock:
                case = next(self.cases)
            self.turns.append(self.client.submit("stream", case, stages="sanitize,evaluate,evidence"))

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def sharing(client, arguments):
    case = client.case(arguments.only, arguments.workload)

    def speed():
        turn = client.submit("timed", case, stages="timing")
        return timed(turn), float(turn.verdict["timing"]["candidate"]["median_ns"]) / 1000

    speed()
    alone, accompanied, others = [], [], 0
    # In turn: a clock that drifts moves both.
    for _ in range(arguments.turns):
        alone.append(speed())
        with Stream(client, arguments.jobs) as stream:
            accompanied.append(speed())
        wrong = [turn for turn in stream.turns if not turn.case.expects(turn.verdict)]
        for turn in wrong:
            print("UNEXPECTED " + one_line(turn))
        if wrong or not stream.turns:
            return False
        others += len(stream.turns)
    moved = statistics.median(a[0] for a in accompanied) / statistics.median(a[0] for a in alone) - 1
    for name, values in (("alone", alone), ("beside others", accompanied)):
        print(f"{name:<14} speed-up {statistics.median(v[0] for v in values):.4f} of {' '.join(f'{v[0]:.4f}' for v in values)}; "
              f"call {statistics.median(v[1] for v in values):.1f} us of {' '.join(f'{v[1]:.1f}' for v in values)}")
    print(f"{others} turns of others moved the speed-up by {100 * moved:+.2f} % (at most 1 % expected)")
    emit({"experiment": "sharing", "candidate": case.name, "workload": case.workload, "alone": alone, "beside": accompanied,
          "other_turns": others, "moved": round(moved, 5)})
    return abs(moved) <= 0.01


# ---- where the time of one turn goes ----


def stages(client, arguments):
    case = client.case(arguments.only, arguments.workload)
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
    parser.add_argument("experiment", choices=sorted(EXPERIMENTS))
    parser.add_argument("--package", required=True, help="folder made by tests/gpu/package.sh")
    parser.add_argument("--service", required=True, help="HOST:PORT")
    parser.add_argument("--pid", type=int, default=0, help="the service's process, for what it holds")
    parser.add_argument("--metrics", default="", help="HOST:PORT of the service's metrics, for mix: how many runners it started")
    parser.add_argument("--state", default="", help="the service's --state")
    parser.add_argument("--out", default="", help="folder for verdicts.jsonl")
    parser.add_argument("--jobs", type=int, default=4, help="submissions at once")
    parser.add_argument("--only", default=".", help="suite: names that match; stages, start, sharing: the bundle")
    parser.add_argument("--workload", default="", help="another workload of the bundle (of right turns, in mix and generation)")
    parser.add_argument("--stages", default="", help="as mini-ptx-agent's --stages; all by default")
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the mix")
    parser.add_argument("--right", default="", help="mix: the bundles that are right, instead of the small ones")
    parser.add_argument("--trajectories", type=int, default=8)
    parser.add_argument("--generation-seconds", type=float, default=2.0, help="what the model takes for one turn")
    parser.add_argument("--overlap", action="store_true", help="generation of one trajectory goes on while another is judged")
    parser.add_argument("--turn-timeout", type=float, default=120)
    parser.add_argument("--most-seconds", type=float, default=0, help="stages, mix: fail where a turn, or all of it, takes longer; 0: any time will do")
    parser.add_argument("--label", default="")
    arguments = parser.parse_args()
    client = Client(arguments)
    sys.exit(0 if EXPERIMENTS[arguments.experiment](client, arguments) else 1)


EXPERIMENTS = {"suite": suite, "mix": mix, "generation": generation, "beside": beside, "stages": stages, "start": start, "sharing": sharing,
               "speed": speed}

if __name__ == "__main__":
    main()
