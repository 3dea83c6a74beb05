"""A reward for reinforcement learning: the service's verdict as a number, or None where nothing is known.

    trainer = GRPOTrainer(model=…, reward_funcs=[sassay.KernelReward(service=…)], …)

The data set's column `workload` says what each kernel is to compute.
"""
from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .client import Result, SyncClient

_log = logging.getLogger("sassay")
Score = Union[str, Callable[[Result], Optional[float]]]


def by_correctness(result: Result) -> Optional[float]:
    """1 for a correct kernel, 0 for one that is at fault."""
    return None if result.correct is None else float(result.correct)


def by_speedup(result: Result) -> Optional[float]:
    """The speed-up over the baseline; 0 for a kernel that is at fault, None for a correct one that was not timed."""
    return 0.0 if result.correct is False else result.speedup


_SCORES: Dict[str, Callable[[Result], Optional[float]]] = {"correct": by_correctness, "speedup": by_speedup}


class KernelReward:
    """A reward function of the shape that TRL's GRPOTrainer calls: (prompts, completions, **columns) -> list of float or None.

    A completion is a text or a list of messages; the kernel is taken from its fenced block by the rule of rollouts, and
    without one the reward is 0. None, never 0, where the verdict says nothing about the kernel: infrastructure, excluded,
    cancelled. With `scorable_only` (the default) also where a CORRECT kernel may not be scored, for example because the
    service could not sanitize it: what was not checked is not rewarded. `score` is "correct", "speedup" or a function of a
    Result. Further keywords are SyncClient's.

    Threads: one call at a time. Life cycle: close(), or with the process.
    """

    def __init__(self, service: Optional[str] = None, *, score: Score = "correct", scorable_only: bool = True,
                 language: Optional[str] = None, client: Optional[SyncClient] = None, **settings: Any) -> None:
        if isinstance(score, str) and score not in _SCORES:
            raise ValueError(f"score must be one of {', '.join(sorted(_SCORES))}, or a function, not {score!r}.")
        self._score = _SCORES[score] if isinstance(score, str) else score
        self._scorable_only = scorable_only
        self._language = language
        self._client = client if client is not None else SyncClient(service, **settings)
        self._told = False
        # What trainers call a reward in their logs.
        self.__name__ = f"sassay_{score}" if isinstance(score, str) else "sassay"
        # Results of the last call, in its order.
        self.last: List[Result] = []

    def __call__(self, prompts: Optional[Sequence[Any]] = None, completions: Sequence[Any] = (),
                 workload: Union[str, Sequence[Optional[str]], None] = None, **columns: Any) -> List[Optional[float]]:
        workloads: Sequence[Optional[str]] = (
            [workload] * len(completions) if workload is None or isinstance(workload, str) else workload)
        if len(workloads) != len(completions):
            raise ValueError(f"{len(completions)} completions came with {len(workloads)} workloads.")
        items = [{"answer": text_of(completion), "workload": name, "language": self._language}
                 for completion, name in zip(completions, workloads)]
        results: List[Optional[Result]] = [None] * len(items)
        for result in self._client.evaluate_many(items):
            results[result.index] = result
        self.last = [result for result in results if result is not None]
        return [self.reward_of(result) for result in self.last]

    def reward_of(self, result: Result) -> Optional[float]:
        """The reward of one result."""
        if result.error is not None and result.error.exit_status == 2:
            raise result.error  # a wrong workload or setting: training on would teach nothing
        if result.correct is None:
            return None
        if result.correct and self._scorable_only and result.verdict is not None and not result.verdict.scorable:
            if not self._told:
                _log.warning("correct kernels that may not be scored get no reward (%s)", _why_not(result))
                self._told = True
            return None
        return self._score(result)

    def close(self) -> None:
        self._client.close()


def _why_not(result: Result) -> str:
    details = result.verdict.details if result.verdict is not None else None
    notes = details.notes if details is not None else []
    return notes[-1] if notes else "the verdict's notes say why"


def text_of(completion: Any) -> str:
    """The text of a completion: itself, or what the assistant says in a list of messages."""
    if isinstance(completion, str):
        return completion
    said = [str(message.get("content") or "") for message in completion if message.get("role", "assistant") == "assistant"]
    return "\n".join(said)
