#!/usr/bin/env python3
"""Falsifies what one stage hands on, stage after stage, and asks who notices.

A folder of its own holds the real profiler-service with a runner and a judge that falsify one thing at a time (falsifying_runner.cc,
falsifying_judge.cc), a compute-sanitizer that cuts its report in half and an NVML of a GPU that is too hot; nothing in the product knows
of them. Bundles go through that service as any bundle does. Each row must end as the table says, or the exit status is 1; an honest turn
before and after shows that nothing is noticed where nothing was falsified.

    injected.py --programs BIN --falsifiers FOLDER --bundles FOLDER --device emulated:sm_90a|cuda:0 [--out FOLDER]

--programs holds mini-ptx-agent, profiler-service, -judge and -runner; --falsifiers what this folder builds; --bundles NAME.bundle of
agent/examples and tests/hostile (with --sources ROOT those that are missing are compiled). Standard library alone.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SMALL, HOPPER = "gemm_n256_k256/M=64", "gemm_n256_k256/M=256"


class Row:
    """One thing falsified: by which stage's hand, on which bundle, and what the verdict must then say."""

    def __init__(self, stage, what, noticed_by, expected, holds, lie="", bundle="gemm_tiled", workload=SMALL, devices=("emulated", "cuda"),
                 stages="", setting=""):
        self.stage, self.what, self.noticed_by, self.expected, self.holds = stage, what, noticed_by, expected, holds
        self.lie, self.bundle, self.workload, self.devices = lie, bundle, workload, devices
        self.stages, self.setting = stages, setting


def outcome(verdict, stage):
    return next((s.get("outcome") for s in verdict.get("stages", []) if s.get("stage") == stage), None)


def ends(status, code=None):
    return lambda v: v.get("status") == status and (code is None or v.get("code") == code)


def unavailable(part, *words):
    """That part of the verdict says UNAVAILABLE and why; the turn is right all the same."""
    return lambda v: (v.get("status") == "CORRECT" and v.get(part, {}).get("status") == "UNAVAILABLE" and
                      any(word in v[part].get("reason", "") for word in words))


def unsanitized(verdict):
    return (verdict.get("status") == "CORRECT" and not verdict.get("scorable") and
            [tool["outcome"] for tool in verdict.get("sanitizers", [])] == ["UNAVAILABLE"])


# As a candidate goes, but for the two that need a service of their own. "setting" is what the experiment does besides the falsifiers' lie.
ROWS = [
    Row("compile", "one bit of the cubin", "admission: ptxas gives other bytes", "CLAIMED, never scored",
        lambda v: v.get("provenance") == "CLAIMED" and not v.get("scorable"), setting="bit of the cubin"),
    Row("upload", "one byte of the stored bundle", "queue: the digest is another one", "INFRA_ERROR",
        ends("INFRA_ERROR"), setting="byte of the stored bundle"),
    Row("evaluate", "one element of an output, after the run", "evaluate: comparison", "INCORRECT_NUMERICAL MISMATCH",
        ends("INCORRECT_NUMERICAL", "MISMATCH"), lie="one element of an output"),
    Row("evaluate", "nothing runs, and the runner says OK", "evaluate: poison", "INCORRECT_NUMERICAL UNWRITTEN_OUTPUT",
        ends("INCORRECT_NUMERICAL", "UNWRITTEN_OUTPUT"), lie="runs nothing"),
    Row("evaluate", "a fault by a number that no cause has", "evaluate: the cause must fit", "RUNTIME_ERROR, not scored",
        lambda v: v.get("status") == "RUNTIME_ERROR" and v.get("code") == "LAUNCH_FAILED" and not v.get("scorable"),
        lie="a fault with a made-up number"),
    Row("evaluate", "one element of an input, after the run", "evaluate: the inputs' hash", "INPUT_MODIFIED",
        lambda v: v.get("code") == "INPUT_MODIFIED", lie="one element of an input"),
    Row("evaluate", "a store past the output passes", "sanitize", "SANITIZER_ERROR OOB_GLOBAL_WRITE",
        ends("SANITIZER_ERROR", "OOB_GLOBAL_WRITE"), lie="says right 1", bundle="store_past_output"),
    Row("evaluate", "wrong outputs pass", "timing: a timed call is compared", "INCORRECT_NUMERICAL TIMED_OUTPUT_WRONG",
        ends("INCORRECT_NUMERICAL", "TIMED_OUTPUT_WRONG"), lie="says right 2", bundle="scaled", devices=("cuda",), stages="timing"),
    Row("evaluate", "wrong outputs pass", "evidence: the counted call is compared", "evidence UNAVAILABLE",
        unavailable("evidence", "not the one that was judged"), lie="says right 3", bundle="scaled", devices=("cuda",),
        stages="evidence"),
    Row("sanitize", "the finding", "evaluate: guard bands", "OOB by evaluate",
        lambda v: v.get("status") in ("SANITIZER_ERROR", "RUNTIME_ERROR") and outcome(v, "EVALUATE") == "FAILED", lie="no findings",
        bundle="store_past_output", devices=("emulated",)),
    Row("evidence", "the record of a launch is lost", "evidence: a launch without counts", "evidence UNAVAILABLE",
        unavailable("evidence", "cannot be true"), lie="a lost record", bundle="gemm_wgmma_tma", workload=HOPPER, devices=("cuda",),
        stages="evidence"),
    Row("evidence", "everything counted twice", "evidence: more warps than were launched", "evidence UNAVAILABLE",
        unavailable("evidence", "cannot be true"), lie="everything counted twice", bundle="gemm_wgmma_tma", workload=HOPPER,
        devices=("cuda",), stages="evidence"),
    Row("evidence", "one element of the counted call's output", "evidence: the counted call is compared", "evidence UNAVAILABLE",
        unavailable("evidence", "not the one that was judged"), lie="one element of the counted call", bundle="gemm_wgmma_tma",
        workload=HOPPER, devices=("cuda",), stages="evidence"),
    Row("timing", "one element of every timed call's output", "timing: a timed call is compared", "INCORRECT_NUMERICAL TIMED_OUTPUT_WRONG",
        ends("INCORRECT_NUMERICAL", "TIMED_OUTPUT_WRONG"), lie="one element of every timed call",
        devices=("cuda",), stages="timing"),
    Row("timing", "a quarter of the time is reported", "timing: the wall clock", "no time",
        lambda v: v.get("timing", {}).get("status") == "UNAVAILABLE", lie="a quarter of the time", bundle="gemm_naive", devices=("cuda",),
        stages="timing"),
    Row("timing", "a quarter of a fast kernel's time", "timing: the wall clock, or the roofline", "FASTER_THAN_PHYSICS, or no time",
        lambda v: v.get("code") == "FASTER_THAN_PHYSICS" or v.get("timing", {}).get("status") == "UNAVAILABLE",
        lie="a quarter of the time", bundle="gemm_warp_specialized", workload="gemm_n7168_k5120/M=8192", devices=("cuda",), stages="timing"),
    Row("timing", "the baseline takes half as long again", "timing: what it took before", "no time, with both numbers",
        unavailable("timing", "times what it took in its last"), lie="a slow baseline", devices=("cuda",), stages="timing",
        setting="history"),
    Row("timing", "every clock sample is void", "timing: NVML's reasons", "no time, with the reason",
        lambda v: v.get("timing", {}).get("status") == "UNAVAILABLE" and v["timing"].get("reason"), devices=("cuda",), stages="timing",
        setting="tools"),
    Row("sanitize", "half of the tool's report", "sanitize: the report does not end", "UNAVAILABLE, not scored", unsanitized,
        devices=("cuda",), setting="tools", stages="sanitize"),
]


class Bundles:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch = arguments, scratch

    def path(self, name, workload):
        found = pathlib.Path(self.arguments.bundles or "/nonexistent") / f"{name}.bundle"
        if found.exists():
            return found
        made = self.scratch / f"{name}.bundle"
        if not made.exists():
            source = next(path for path in sorted(pathlib.Path(self.arguments.sources).rglob(f"{name}.cu")))
            subprocess.run([self.arguments.programs / "mini-ptx-agent", "compile", source, "--workload", workload, "-o", made], check=True,
                           capture_output=True)
        return made

    def with_another_bit(self, name, workload):
        """One bit in the last instruction of the code, which is padding and never executes."""
        content = bytearray(self.path(name, workload).read_bytes())
        elf = content.find(b"\x7fELF")
        table, = struct.unpack_from("<Q", content, elf + 0x28)
        size, count = struct.unpack_from("<HH", content, elf + 0x3A)
        for index in range(count):
            kind, flags = struct.unpack_from("<IQ", content, elf + table + index * size + 4)
            offset, length = struct.unpack_from("<QQ", content, elf + table + index * size + 0x18)
            if kind == 1 and flags & 4:  # PROGBITS, EXECINSTR
                content[elf + offset + length - 16] ^= 1
                break
        other = self.scratch / f"{name}_another_bit.bundle"
        other.write_bytes(content)
        return other


class Service:
    """The real service with falsifying workers."""

    def __init__(self, arguments, scratch):
        self.arguments, self.scratch, self.process = arguments, scratch, None
        self.home = scratch / "home"
        (self.home / "bin").mkdir(parents=True)
        for name, source in (("profiler-service", arguments.programs / "profiler-service"),
                             ("real-judge", arguments.programs / "profiler-judge"),
                             ("profiler-judge", arguments.falsifiers / "falsifying_judge"),
                             ("profiler-runner", arguments.falsifiers / "falsifying_runner")):
            shutil.copy(source, self.home / "bin" / name)
        for folder in ("lib", "libexec", "share"):
            if (arguments.programs.parent / folder).exists():
                os.symlink(arguments.programs.parent / folder, self.home / folder)
        self.state = scratch / "state"

    def tell(self, lie):
        file = self.home / "bin" / "falsify"
        file.with_suffix(".new").write_text(lie)
        file.with_suffix(".new").rename(file)

    def false_tools(self):
        """An environment in which NVML is that of a hot GPU, and compute-sanitizer cuts its report in half."""
        environment = dict(os.environ)
        hot = self.scratch / "hot"
        hot.mkdir()
        shutil.copy(self.arguments.falsifiers / "libfalsifying_nvml.so", hot / "libnvidia-ml.so.1")
        environment["LD_LIBRARY_PATH"] = f"{hot}:{environment.get('LD_LIBRARY_PATH', '')}"
        real = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        tool = self.scratch / "toolkit" / "bin" / "compute-sanitizer"
        tool.parent.mkdir(parents=True)
        tool.write_text(f"""#!/bin/sh
before=
for word; do
  [ "$before" = --save ] && report=$word
  before=$word
done
{os.path.realpath(real)} "$@"
status=$?
[ -z "$report" ] || {{ head -c $(($(wc -c <"$report") / 2)) "$report" >"$report.half" && mv "$report.half" "$report"; }}
exit $status
""")
        tool.chmod(0o755)
        environment["CUDA_HOME"] = str(self.scratch / "toolkit")
        return environment

    def start(self, environment=None):
        self.stop()
        port = self.scratch / "port"
        port.unlink(missing_ok=True)
        log = open(self.scratch / "service.log", "a")
        self.process = subprocess.Popen([self.home / "bin/profiler-service", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                         "--port-file", port, "--state", self.state, "--device", self.arguments.device],
                                        stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        end = time.monotonic() + 60
        while not (port.exists() and port.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("the service did not become ready:\n" + (self.scratch / "service.log").read_text()[-4000:])
            time.sleep(0.05)
        self.address = "127.0.0.1:" + port.read_text().strip()

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        self.process.wait()
        self.process = None

    def submit(self, bundle, workload, stages=""):
        command = [self.arguments.programs / "mini-ptx-agent", "submit", bundle, "--workload", workload, "--service", self.address, "--fresh", "--json"]
        if stages:
            command += ["--stages", stages]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"status": "NONE", "reason": done.stderr.strip()}

    def stored(self, bundle):
        """The file in which the state keeps these bytes."""
        digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
        return next(path for path in self.state.rglob("*")
                    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest)


def turn(service, bundles, row):
    """One row's verdict."""
    bundle = bundles.path(row.bundle, row.workload)
    if row.setting == "bit of the cubin":
        return service.submit(bundles.with_another_bit(row.bundle, row.workload), row.workload, "evaluate")
    if row.setting == "byte of the stored bundle":
        file = service.stored(bundle)
        honest = file.read_bytes()
        file.chmod(0o600)
        file.write_bytes(honest[:-1] + bytes([honest[-1] ^ 1]))
        verdict = service.submit(bundle, row.workload, "evaluate")
        file.write_bytes(honest)
        return verdict
    if row.setting == "history":
        for _ in range(5):
            service.submit(bundle, row.workload, row.stages)
    service.tell(row.lie)
    verdict = service.submit(bundle, row.workload, row.stages)
    service.tell("")
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--falsifiers", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--bundles", default="")
    parser.add_argument("--sources", default="")
    parser.add_argument("--device", default="emulated:sm_90a")
    parser.add_argument("--out", default="", help="folder for injected.jsonl")
    parser.add_argument("--only", default="", help="rows whose stage or what holds this")
    arguments = parser.parse_args()
    kind = arguments.device.split(":")[0]
    rows = [row for row in ROWS if kind in row.devices and arguments.only in row.stage + " " + row.what]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="injected-") as folder:
        scratch = pathlib.Path(folder)
        service, bundles = Service(arguments, scratch), Bundles(arguments, scratch)
        honest = [Row("-", "nothing", "nobody", "CORRECT", ends("CORRECT"))]
        try:
            service.start()
            print(f"{'falsified by':<12} {'what':<42} {'noticed by':<42} verdict")
            tools = [row for row in rows if row.setting == "tools"]
            for row in honest + [row for row in rows if row not in tools] + honest + tools:
                if tools and row is tools[0]:
                    service.start(service.false_tools())
                verdict = turn(service, bundles, row)
                ok = bool(row.holds(verdict))
                missed += not ok
                said = f"{verdict.get('status')} {verdict.get('code', '')}: {verdict.get('reason', '')}"
                if row.stage == "compile":
                    said = f"{verdict.get('status')}, provenance {verdict.get('provenance')}, scorable {verdict.get('scorable', False)}"
                if ok and row.stage == "sanitize" and verdict.get("sanitizers"):
                    said = f"{verdict.get('status')}, {verdict['sanitizers'][0]['tool']} {verdict['sanitizers'][0]['outcome']}: " \
                           f"{verdict['sanitizers'][0].get('reason') or verdict.get('reason')}"
                for part in ("evidence", "timing"):
                    if verdict.get(part, {}).get("status") == "UNAVAILABLE" and row.stage == part:
                        said = f"{part} UNAVAILABLE: {verdict[part].get('reason')}"
                print(f"{row.stage:<12} {row.what:<42} {row.noticed_by if ok else 'NOT NOTICED':<42} {said[:120]}", flush=True)
                if not ok:
                    print(f"  expected {row.expected}")
                if arguments.out:
                    with open(pathlib.Path(arguments.out) / "injected.jsonl", "a") as file:
                        file.write(json.dumps({"stage": row.stage, "what": row.what, "noticed": ok, "verdict": verdict}) + "\n")
        finally:
            service.stop()
            if missed:
                sys.stderr.write((scratch / "service.log").read_text()[-4000:])
    print(f"{len(rows)} falsified, {missed} not as expected")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
