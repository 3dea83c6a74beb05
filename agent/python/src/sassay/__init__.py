"""Sassay from Python: what a GPU kernel is really made of, judged by a profiling service."""
from .client import Client, Result, SyncClient
from .errors import Cancelled, InfrastructureError, SassayError, UsageError
from .rewards import KernelReward
from .types import Timing, Verdict, VerdictCode, VerdictStatus
from ._version import __version__

__all__ = ["Cancelled", "Client", "InfrastructureError", "KernelReward", "Result", "SassayError", "SyncClient", "Timing",
           "UsageError", "Verdict", "VerdictCode", "VerdictStatus", "__version__"]
