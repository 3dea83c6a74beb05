"""Against the service that SASSAY_SERVICE names; run by tests/end_to_end/python_test.cc from an installed wheel."""
import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import sassay

ROOT = pathlib.Path(os.environ["SASSAY_TEST_SOURCE"])
WORKLOAD = "gemm_n256_k256/M=8"
NAIVE = (ROOT / "agent/examples/gemm_naive.cu").read_text()
# Keeps its runner busy until the emulated device's deadline, 20 s.
BUSY = NAIVE.replace("float sum = 0.f;", "float sum = 0.f; for (volatile long long i = 0; i < 1ll << 40; ++i) { }")
LONG_BEFORE_ITS_END = 12
WRONG = NAIVE.replace("row >= m ||", "row >= m - 1 ||")  # leaves the last row out
SETTINGS = {"workload": WORKLOAD, "stages": ["evaluate"], "run_deadline": "10m"}


def descendants(pid):
    """The names of a process's living descendants."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
            for child in children:
                found.append(pathlib.Path(f"/proc/{child}/comm").read_text().strip())
                found += descendants(int(child))
        except OSError:
            pass
    return found


class Watched:
    """Tells when the agent has got so far, from what its process tree and the service's look like."""

    @staticmethod
    def until(condition, what, patience=90):
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not in {patience} s: {what}")
            time.sleep(0.02)


def runners():
    return descendants(int(os.environ["SASSAY_SERVICE_PID"])).count("profiler-runner")


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_one_candidate_of_every_kind(self):
        async with sassay.Client(**SETTINGS) as client:
            right, wrong, broken = await asyncio.gather(
                client.evaluate(NAIVE), client.evaluate(source={"a.cu": WRONG}), client.evaluate(answer="```cuda\nno CUDA\n```"))
            self.assertEqual(right.status, "CORRECT", right.reason)
            self.assertEqual(wrong.code, "UNWRITTEN_OUTPUT")
            self.assertEqual(broken.status, "COMPILE_ERROR")
            self.assertIsNone(right.speedup)
            self.assertEqual((await client.evaluate(path=ROOT / "agent/examples/gemm_naive.cu")).status, "CORRECT")

    async def test_words_are_the_commands(self):
        async with sassay.Client(**SETTINGS) as client:
            with self.assertRaisesRegex(sassay.UsageError, "Did you mean \"gemm_n256_k256\"") as caught:
                await client.evaluate(NAIVE, workload="gemm_n256_k257/M=8")
            self.assertEqual((caught.exception.error, caught.exception.exit_status), ("NOT_FOUND", 2))
            self.assertEqual((await client.evaluate(NAIVE)).status, "CORRECT", "the others go on")
        async with sassay.Client("127.0.0.1:9", workload=WORKLOAD) as client:
            with self.assertRaisesRegex(sassay.InfrastructureError, "could not ask for capabilities at 127.0.0.1:9"):
                await client.evaluate(NAIVE)
        async with sassay.Client(sanitise="fast") as client:
            with self.assertRaisesRegex(sassay.UsageError, "--sanitise"):
                await client.evaluate(NAIVE)

    async def test_results_come_as_they_are_decided(self):
        async with sassay.Client(**SETTINGS) as client:
            items = [{"source": NAIVE}, "no CUDA", {"source": NAIVE, "workload": "nothing/M=1"}, {"answer": "I cannot."}]
            results = {result.index: result async for result in client.evaluate_many(items, concurrency=2)}
        self.assertEqual(sorted(results), [0, 1, 2, 3])
        self.assertIs(results[0].correct, True)
        self.assertIs(results[1].correct, False)
        self.assertIsNone(results[2].correct)
        self.assertEqual(results[2].error.error, "NOT_FOUND")
        self.assertIs(results[3].correct, False)
        self.assertTrue(results[3].no_candidate)
        self.assertEqual(results[1].item, "no CUDA")

    async def test_items_are_taken_only_as_they_are_needed(self):
        taken = []

        async def items():
            for index in range(100):
                taken.append(index)
                yield "no CUDA"

        async with sassay.Client(**SETTINGS) as client:
            async for result in client.evaluate_many(items(), concurrency=3):
                self.assertLessEqual(len(taken), 4)
                break

    async def test_cancelling_leaves_no_runner_and_no_compiler(self):
        idle = runners()
        client = sassay.Client(**SETTINGS)
        task = asyncio.ensure_future(client.evaluate(BUSY))
        await asyncio.to_thread(Watched.until, lambda: runners() > idle, "a runner for the candidate that keeps it busy")
        agent = client.agent_pid
        begin = time.monotonic()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await client.aclose()
        self.assertLess(time.monotonic() - begin, LONG_BEFORE_ITS_END)
        self.assertLessEqual(runners(), idle + 1, "one may be ready for the next candidate")
        self.assertFalse(pathlib.Path(f"/proc/{agent}").exists())
        # And with a compiler at work.
        client = sassay.Client(**SETTINGS)
        slow = NAIVE + f"\n// {os.getpid()}-{time.monotonic()}\n"
        task = asyncio.ensure_future(client.evaluate(slow))
        await asyncio.to_thread(Watched.until, lambda: client.agent_pid and len(descendants(client.agent_pid)) > 0, "a compiler")
        agent = client.agent_pid
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        begin = time.monotonic()
        await client.aclose()
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(descendants(agent), [])

    async def test_a_loop_that_is_left_cancels_the_rest_and_the_client_goes_on(self):
        idle = runners()
        async with sassay.Client(**SETTINGS) as client:
            many = client.evaluate_many(["no CUDA", BUSY])
            async for result in many:
                self.assertEqual(result.index, 0)
                break
            await many.aclose()
            self.assertEqual((await client.evaluate(NAIVE)).status, "CORRECT")
        self.assertLessEqual(runners(), idle + 1)

    async def test_an_agent_that_dies_fails_what_it_had_and_is_replaced(self):
        async with sassay.Client(**SETTINGS) as client:
            task = asyncio.ensure_future(client.evaluate(BUSY))
            await asyncio.to_thread(Watched.until, lambda: client.agent_pid, "an agent")
            first = client.agent_pid
            os.kill(first, signal.SIGKILL)
            with self.assertRaises(sassay.InfrastructureError):
                await task
            self.assertEqual((await client.evaluate(NAIVE)).status, "CORRECT")
            self.assertNotEqual(client.agent_pid, first)


class Sync(unittest.TestCase):
    def test_the_same_without_asyncio(self):
        with sassay.SyncClient(**SETTINGS) as client:
            self.assertEqual(client.evaluate(NAIVE).status, "CORRECT")
            found = {result.index: result.correct for result in client.evaluate_many([NAIVE, WRONG, "no CUDA"], concurrency=2)}
            self.assertEqual(found, {0: True, 1: False, 2: False})
            verdicts = []
            threads = [threading.Thread(target=lambda: verdicts.append(client.evaluate(NAIVE))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([verdict.status for verdict in verdicts], ["CORRECT"] * 4)
        with self.assertRaisesRegex(sassay.UsageError, "the client is closed"):
            client.evaluate(NAIVE)

    def test_a_bundle_is_judged_from_a_file_and_from_bytes(self):
        folder = pathlib.Path(os.environ["SASSAY_TEST_FOLDER"])
        bundle = folder / "kernel.bundle"
        subprocess.run([sys.executable, "-m", "sassay._main", "compile", str(ROOT / "agent/examples/gemm_naive.cu"), "--workload", WORKLOAD,
                        "-o", str(bundle)], check=True, capture_output=True)
        with sassay.SyncClient(stages=["evaluate"]) as client:
            self.assertEqual(client.evaluate(bundle=bundle).status, "CORRECT")
            self.assertEqual(client.evaluate(bundle=bundle.read_bytes()).workload, WORKLOAD)

    def test_a_killed_program_leaves_nothing(self):
        idle = runners()
        code = f"import sassay; sassay.SyncClient(**{SETTINGS!r}).evaluate({BUSY!r})"
        program = subprocess.Popen([sys.executable, "-c", code])
        Watched.until(lambda: runners() > idle, "a runner for the candidate that keeps it busy")
        agents = [int(child) for task in pathlib.Path(f"/proc/{program.pid}/task").glob("*") for child in (task / "children").read_text().split()]
        self.assertTrue(agents)
        program.kill()
        program.wait()
        Watched.until(lambda: not any(pathlib.Path(f"/proc/{agent}").exists() for agent in agents), "the agent's end", LONG_BEFORE_ITS_END)
        self.assertLessEqual(runners(), idle + 1)

    def test_a_reward_from_real_verdicts(self):
        reward = sassay.KernelReward(stages=["evaluate", "sanitize"])
        completions = [f"So:\n```cuda\n{NAIVE}\n```\n", "I cannot.", f"```cuda\n{WRONG}\n```"]
        self.assertEqual(reward(prompts=[""] * 3, completions=completions, workload=[WORKLOAD] * 3), [1.0, 0.0, 0.0], reward.last)
        reward.close()


if __name__ == "__main__":
    unittest.main()
