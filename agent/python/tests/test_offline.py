"""What needs no service: the forms of results, hostile texts, rewards."""
import asyncio
import json
import pathlib
import unittest

import sassay
from sassay import client
from sassay._display import harmless
from sassay._message import Message
from sassay.errors import agent_error
from sassay.types import TYPES

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egnp.exe & \"quotes'"


def verdict(status="CORRECT", **more):
    return sassay.Verdict.from_dict({"status": status, "workload": "w/M=1", "scorable": status == "CORRECT", **more})


class Results(unittest.TestCase):
    def test_json_comes_back_as_it_was(self):
        data = {
            "submission_id": "s1", "status": "INCORRECT_NUMERICAL", "code": "MISMATCH", "reason": "wrong",
            "numerics": {"outputs": [{"output": "C", "wrong": 3, "worst_index": [1, 2], "max_relative_error": 0.0}]},
            "evidence": {"family_thread_counts": {"GMMA": 4}, "status": "DYNAMIC_PRESENT"},
            "stages": [{"stage": "EVALUATE", "outcome": "FAILED", "wall_ns": 12}], "decided_at": "2026-01-01T00:00:00Z",
        }
        read = sassay.Verdict.from_dict(data)
        self.assertEqual(read.to_dict(), data)
        self.assertEqual(read.numerics.outputs[0].worst_index, [1, 2])
        self.assertEqual(read.numerics.outputs[0].max_relative_error, 0.0)
        self.assertEqual(read.evidence.family_thread_counts["GMMA"], 4)
        self.assertIs(read.status, sassay.VerdictStatus.INCORRECT_NUMERICAL)
        self.assertEqual(json.loads(json.dumps(read.to_dict())), data)

    def test_what_a_newer_agent_invents_is_no_failure(self):
        read = sassay.Verdict.from_dict({"status": "BRAND_NEW", "brand_new": {"x": 1}, "stages": [{"stage": "DANCE"}]})
        self.assertEqual(read.status, "BRAND_NEW")
        self.assertEqual(str(read.stages[0].stage), "DANCE")

    def test_every_type_can_be_made_and_read(self):
        messages = [kind for kind in TYPES.values() if issubclass(kind, Message)]
        self.assertGreater(len(messages), 20)
        for kind in messages:
            self.assertEqual(kind().to_dict(), {}, kind)
            self.assertEqual(kind.from_dict({}), kind())
            for name, (_, held) in kind._SPEC.items():
                self.assertTrue(held is None or held in TYPES, (kind, name))

    def test_what_says_nothing_about_the_candidate_is_none(self):
        self.assertIs(verdict().correct, True)
        self.assertIs(verdict("RUNTIME_ERROR").correct, False)
        for silent in (verdict("INFRA_ERROR"), verdict("CANCELLED"), verdict("UNSPECIFIED"), verdict(excluded={"reason": "hot"})):
            self.assertIsNone(silent.correct)
            self.assertIsNone(silent.speedup)
            self.assertFalse(silent.counts)
        timed = verdict(timing={"status": "MEASURED", "speedup": 1.5, "candidate": {"samples_ns": [1.0], "median_ns": 1.0}})
        self.assertEqual(timed.speedup, 1.5)
        self.assertEqual(timed.to_row()["candidate_ns"], 1.0)
        self.assertIsNone(verdict().to_row()["speedup"])


class Display(unittest.TestCase):
    def test_hostile_text_is_shown_and_does_nothing(self):
        shown = verdict("RUNTIME_ERROR", reason=HOSTILE, code=HOSTILE, excluded={"reason": HOSTILE},
                        timing={"status": HOSTILE, "reason": HOSTILE})._repr_html_()
        for bad in ("<script", "\x1b", "\u202e", "\"quotes'"):
            self.assertNotIn(bad, shown)
        self.assertIn("&lt;script&gt;", shown)
        self.assertIn("\\u202e", shown)
        for result in (client.Result(0, None, no_candidate=HOSTILE), client.Result(0, None, error=sassay.UsageError(HOSTILE))):
            self.assertNotIn("<script", result._repr_html_())
        self.assertNotIn("\x00", harmless("\x00"))

    def test_samples_are_plotted(self):
        shown = verdict(timing={"status": "MEASURED", "speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1,
                                "candidate": {"samples_ns": [1000.0, 1100.0], "median_ns": 1050.0},
                                "baseline": {"samples_ns": [2000.0, 2100.0, 2050.0], "median_ns": 2050.0}})._repr_html_()
        self.assertEqual(shown.count("<circle"), 5)
        self.assertIn("speed-up 2.000 (1.900 to 2.100)", shown)
        self.assertNotIn("NaN", verdict(timing={"candidate": {"samples_ns": [1.0]}})._repr_html_())


class Failures(unittest.TestCase):
    def test_the_agents_words_are_the_exceptions(self):
        error = agent_error("mini-ptx-agent: warning: x\nmini-ptx-agent: could not ask\n", 3)
        self.assertIsInstance(error, sassay.InfrastructureError)
        self.assertEqual(str(error), "could not ask")
        self.assertIsInstance(agent_error("mini-ptx-agent: --service must be HOST:PORT\n", 2), sassay.UsageError)
        self.assertIn("status -9", str(agent_error("", -9)))

    def test_an_agent_that_is_not_there_is_said(self):
        with self.assertRaisesRegex(sassay.UsageError, "/nowhere"):
            sassay.SyncClient(agent="/nowhere")

    def test_settings_become_flags(self):
        self.assertEqual(client._flag("token_file", "a"), ["--token-file", "a"])
        self.assertEqual(client._flag("insecure", True), ["--insecure"])
        self.assertEqual(client._flag("insecure", False), [])
        self.assertEqual(client._flag("stages", ["evaluate", "timing"]), ["--stages", "evaluate,timing"])


AGENT = pathlib.Path(__file__).resolve().parent / "fake_agent.py"


class Protocol(unittest.IsolatedAsyncioTestCase):
    async def test_each_record_finds_its_candidate(self):
        async with sassay.Client(agent=AGENT) as client:
            right, wrong = await asyncio.gather(client.evaluate("right", workload="a"), client.evaluate("wrong"))
            self.assertEqual((right.status, right.workload, wrong.code), ("CORRECT", "a", "MISMATCH"))
            with self.assertRaises(sassay.UsageError) as caught:
                await client.evaluate("usage")
            self.assertEqual((caught.exception.error, caught.exception.message), ("NOT_FOUND", "no workload"))
            results = [result async for result in client.evaluate_many(["right", {"source": "wrong", "row": 7}, "usage", {"answer": "talk"}] * 50, concurrency=7)]
            self.assertEqual(sorted(result.index for result in results), list(range(200)))
            for result in results:
                self.assertIs(result.correct, [True, False, None, False][result.index % 4])
                json.dumps([result.to_dict(), result.to_row()])
            self.assertEqual({result.index: result.item for result in results}[0], "right")

    async def test_what_is_cancelled_is_told_and_the_agent_ends(self):
        client = sassay.Client(agent=AGENT)
        task = asyncio.ensure_future(client.evaluate("wait"))
        self.assertEqual((await client.evaluate("right")).status, "CORRECT")
        agent = client.agent_pid
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        other = asyncio.ensure_future(client.evaluate("wait"))
        self.assertEqual((await client.evaluate("right")).status, "CORRECT")
        await client.aclose()
        with self.assertRaises(sassay.Cancelled):
            await other
        self.assertFalse(pathlib.Path(f"/proc/{agent}").exists())
        await client.aclose()
        with self.assertRaisesRegex(sassay.UsageError, "closed"):
            await client.evaluate("right")

    async def test_a_loop_that_is_left_cancels_the_rest(self):
        async with sassay.Client(agent=AGENT) as client:
            many = client.evaluate_many(["right", "wait", "wait"], concurrency=3)
            async for result in many:
                self.assertEqual(result.index, 0)
                break
            await many.aclose()
            self.assertEqual((await client.evaluate("right")).status, "CORRECT")

    async def test_a_death_is_told_to_all_and_another_agent_takes_over(self):
        async with sassay.Client(agent=AGENT) as client:
            told = await asyncio.gather(client.evaluate("wait"), client.evaluate("die"), return_exceptions=True)
            self.assertEqual([str(error) for error in told], ["the disk is full"] * 2)
            self.assertIsInstance(told[0], sassay.InfrastructureError)
            self.assertEqual((await client.evaluate("right")).status, "CORRECT")
        async with sassay.Client("nowhere", agent=AGENT) as client:
            with self.assertRaisesRegex(sassay.InfrastructureError, "could not ask for capabilities at nowhere"):
                await client.evaluate("right")

    def test_threads_and_loops_share_nothing(self):
        with sassay.SyncClient(agent=AGENT) as client:
            self.assertEqual(client.evaluate("right").status, "CORRECT")
            found = [(result.index, result.correct) for result in client.evaluate_many(["right", "wrong", "infra"] * 20, concurrency=4)]
            self.assertEqual(sorted(found, key=lambda each: each[0]), [(i, [True, False, None][i % 3]) for i in range(60)])
            for result in client.evaluate_many(["right", "wait"]):
                break
        client = sassay.Client(agent=AGENT)
        for _ in range(2):  # two loops, one client
            self.assertEqual(asyncio.run(client.evaluate("right")).status, "CORRECT")
        asyncio.run(client.aclose())


class FakeClient:
    """Answers items by their text."""

    def __init__(self, verdicts):
        self.verdicts = verdicts

    def evaluate_many(self, items):
        for index, item in reversed(list(enumerate(items))):
            given = self.verdicts[item["answer"]]
            if isinstance(given, sassay.SassayError):
                yield client.Result(index, item, error=given)
            elif isinstance(given, str):
                yield client.Result(index, item, no_candidate=given)
            else:
                yield client.Result(index, item, verdict=given)

    def close(self):
        pass


class Rewards(unittest.TestCase):
    fast = verdict(timing={"status": "MEASURED", "speedup": 1.5})
    fake = FakeClient({
        "right": verdict(), "fast": fast, "wrong": verdict("INCORRECT_NUMERICAL"), "infra": verdict("INFRA_ERROR"),
        "excluded": verdict(excluded={"reason": "hot"}), "cancelled": verdict("CANCELLED"), "unscored": verdict(scorable=False),
        "talk": "no fenced block", "down": sassay.InfrastructureError("gone"), "usage": sassay.UsageError("no workload", "NOT_FOUND", 2)})

    def test_each_completion_gets_what_it_deserves_in_its_place(self):
        reward = sassay.KernelReward(client=self.fake)
        told = ["right", [{"role": "assistant", "content": "wrong"}], "infra", "excluded", "cancelled", "talk", "down", "unscored"]
        with self.assertLogs("sassay", "WARNING"):
            given = reward(prompts=["p"] * 8, completions=told, workload=["w"] * 8, completion_ids=[[1]] * 8, trainer_state=None)
        self.assertEqual(given, [1.0, 0.0, None, None, None, 0.0, None, None])
        self.assertEqual([result.index for result in reward.last], list(range(8)))

    def test_speed_is_rewarded_only_where_it_was_measured(self):
        reward = sassay.KernelReward(client=self.fake, score="speedup")
        self.assertEqual(reward(completions=["fast", "right", "wrong", "talk", "infra"]), [1.5, None, 0.0, 0.0, None])
        own = sassay.KernelReward(client=self.fake, score=lambda result: 7.0, scorable_only=False)
        self.assertEqual(own(completions=["unscored", "infra"]), [7.0, None])

    def test_a_wrong_setting_does_not_train_on(self):
        with self.assertRaises(sassay.UsageError):
            sassay.KernelReward(client=self.fake)(completions=["usage"])
        with self.assertRaises(ValueError):
            sassay.KernelReward(client=self.fake)(completions=["right"], workload=["a", "b"])
        with self.assertRaises(ValueError):
            sassay.KernelReward(client=self.fake, score="fast")

    def test_a_trainer_that_leaves_none_out_learns_from_the_rest(self):
        # What GRPO does with rewards: None is no number, and takes part in no mean.
        reward = sassay.KernelReward(client=self.fake)
        rewards_of = [reward(prompts=[""] * 4, completions=group) for group in
                      (["right", "wrong", "infra", "right"], ["infra", "down", "excluded", "infra"])]
        advantages = []
        for group in rewards_of:
            known = [value for value in group if value is not None]
            mean = sum(known) / len(known) if known else None
            advantages.append([None if value is None else value - mean for value in group])
        self.assertAlmostEqual(sum(value for value in advantages[0] if value is not None), 0.0)
        self.assertIsNone(advantages[0][2])
        self.assertEqual(advantages[1], [None] * 4)


if __name__ == "__main__":
    unittest.main()
