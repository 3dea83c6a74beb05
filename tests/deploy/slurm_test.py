#!/usr/bin/env python3
"""deploy/slurm without Slurm: the scripts as shellcheck reads them, prolog and epilog with an nvidia-smi that says what a test wants, and
the node's script against the program that it starts. What Slurm makes of them is in tests/slurm.

    slurm_test.py --sources DIR --build DIR SUITE      exit status 77: skipped, with the reason
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import programs
import suites

NVIDIA_SMI = r"""#!/bin/bash
echo "$*" >>"$0.calls"
case $* in
*query-compute-apps*) cat "$0.apps" 2>/dev/null; [[ ! -e $0.leaving ]] || rm -f "$0.apps" ;;
*query-remapped-rows*) cat "$0.rows" 2>/dev/null || exit 2 ;;
*) . "$0.answer" ;;
esac
"""
SCONTROL = '#!/bin/bash\nprintf "%s\\n" "$@" >>"$0.calls"\n'
WELL = 'echo "a warning" >&2; printf "0, 0\\n1, [N/A]\\n"'
# Of what a script takes beyond the time that it is given: starting programs on a busy machine.
SLACK = 5


def folder():
    return ARGUMENTS.sources / "deploy/slurm"


class ScriptsTest(unittest.TestCase):
    def test_shellcheck_has_nothing_to_say(self):
        shellcheck = pathlib.Path(sys.executable).parent / "shellcheck"
        found = shellcheck if shellcheck.exists() else shutil.which("shellcheck")
        if not found:
            self.skipTest("there is no shellcheck; deploy/install_dependencies.sh brings it")
        scripts = sorted(folder().glob("*.s*"))
        self.assertGreaterEqual(len(scripts), 4)
        ran = subprocess.run([found, "--external-sources", "--source-path=SCRIPTDIR", *scripts], capture_output=True, text=True)
        self.assertEqual(ran.stdout + ran.stderr, "")

    def test_outside_of_slurm_the_nodes_script_says_how_to_submit_it(self):
        ran = subprocess.run(["bash", folder() / "sassay-node.sbatch"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("sbatch", ran.stderr)


class HealthTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.smi = self.program("nvidia-smi", NVIDIA_SMI)
        self.scontrol = self.program("scontrol", SCONTROL)
        self.answers(WELL)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def answers(self, script):
        pathlib.Path(f"{self.smi}.answer").write_text(script)

    def busy(self, pids, leaving=False):
        pathlib.Path(f"{self.smi}.apps").write_text("".join(f"{pid}\n" for pid in pids))
        if leaving:
            pathlib.Path(f"{self.smi}.leaving").touch()

    def runs(self, script, gpus="0,1", seconds=8, **environment):
        """Exit status and the reason for which the host was drained, None if it was not."""
        calls = pathlib.Path(f"{self.scontrol}.calls")
        calls.unlink(missing_ok=True)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "SLURMD_NODENAME": "n7", "SLURM_JOB_ID": "42", "SASSAY_HEALTH_SECONDS": str(seconds),
                       **({"SLURM_JOB_GPUS": gpus} if gpus else {}), **environment}
        began = time.monotonic()
        ran = subprocess.run(["bash", folder() / f"{script}.sh"], env=environment, capture_output=True, text=True)
        self.assertLess(time.monotonic() - began, seconds + SLACK)
        if not calls.exists():
            self.assertEqual(ran.stderr, "")
            return ran.returncode, None
        drained = calls.read_text().splitlines()
        self.assertEqual(drained[:3], ["update", "NodeName=n7", "State=DRAIN"])
        self.assertEqual(len(drained), 4)
        self.assertTrue(drained[3].startswith("Reason=sassay: "))
        return ran.returncode, drained[3].removeprefix("Reason=sassay: ")

    def test_gpus_that_are_well_start_and_end_jobs(self):
        for script in ("prolog", "epilog"):
            self.assertEqual(self.runs(script), (0, None))
        calls = pathlib.Path(f"{self.smi}.calls").read_text().splitlines()
        self.assertEqual(len(calls), 6)
        for call in calls:
            self.assertIn("-i 0,1 ", call)

    def test_a_job_without_gpus_is_not_looked_at(self):
        self.answers("exit 9")
        for script in ("prolog", "epilog"):
            self.assertEqual(self.runs(script, gpus=""), (0, None))
        self.assertFalse(pathlib.Path(f"{self.smi}.calls").exists())

    def test_a_driver_that_hangs_drains_the_host_in_time(self):
        self.answers("exec sleep 60")
        for script, status in (("prolog", 1), ("epilog", 0)):
            self.assertEqual(self.runs(script, seconds=1), (status, "nvidia-smi does not answer within 1 s"))

    def test_a_lost_gpu_drains_the_host_with_what_nvidia_smi_says(self):
        self.answers('echo "Unable to determine the device handle for GPU1: Unknown Error"; exit 15')
        status, reason = self.runs("prolog")
        self.assertEqual(status, 1)
        self.assertRegex(reason, "status 15: Unable to determine")
        self.answers('echo "0, 0"')
        self.assertEqual(self.runs("prolog"), (1, "nvidia-smi shows other GPUs than 0,1"))

    def test_broken_memory_drains_the_host(self):
        self.answers('printf "0, 0\\n1, 3\\n"')
        self.assertEqual(self.runs("prolog"), (1, "GPU 1 has 3 uncorrectable memory errors"))
        self.answers(WELL)
        pathlib.Path(f"{self.smi}.rows").write_text("GPU-1, No\nGPU-2, Yes\n")
        self.assertEqual(self.runs("epilog"), (0, "GPU-2 could not replace a broken row of memory"))

    def test_a_stranger_keeps_a_job_from_starting(self):
        self.busy([4711, 4712])
        self.assertEqual(self.runs("prolog"), (1, "processes on GPU 0,1 before job 42: 4711 4712"))

    def test_what_a_job_leaves_is_waited_for_and_drains_the_host_if_it_stays(self):
        self.busy([4711], leaving=True)
        self.assertEqual(self.runs("epilog"), (0, None))
        pathlib.Path(f"{self.smi}.leaving").unlink()
        self.busy([4711])
        self.assertEqual(self.runs("epilog", seconds=1), (0, "left on GPU 0,1 by job 42: processes 4711"))

    def test_without_nvidia_smi_a_missing_device_file_drains_the_host(self):
        if shutil.which("nvidia-smi", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"):
            self.skipTest("this machine has an nvidia-smi where the scripts look for one")
        self.smi.unlink()
        (self.folder / "nvidia0").symlink_to("/dev/null")
        self.assertEqual(self.runs("prolog", gpus="0", SASSAY_DEV=str(self.folder)), (0, None))
        self.assertEqual(self.runs("prolog", SASSAY_DEV=str(self.folder)), (1, "no device file of GPU 1"))


class ProgramsTest(unittest.TestCase):
    def test_flags_are_those_of_the_service(self):
        text = (folder() / "sassay-node.sbatch").read_text()
        joined = re.sub(r"\\\n#?", " ", text)
        used = {word.split("=")[0] for line in joined.splitlines() if line.startswith("profiler-service ") or "sassay-node.sbatch --" in line
                for word in shlex.split(line.split("sassay-node.sbatch", 1)[-1], comments=False) if word.startswith("--")}
        self.assertGreaterEqual(used, {"--role", "--join", "--join-token-file", "--node-name", "--state", "--drain"})
        self.assertEqual(used - programs.flags_of(ARGUMENTS.programs, ("profiler-service",)), set())


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["ScriptsTest", "HealthTest", "ProgramsTest"]))
