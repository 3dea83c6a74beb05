"""One `mini-ptx-agent batch` behind pipes: items go in as JSON lines, records come out, each finds its future."""
from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import weakref
from typing import Any, Dict, IO, List, Mapping, Optional

from .errors import Cancelled, SassayError, UsageError, agent_error
from .types import BatchRecord

# How long the agent has to cancel what is under way and see it end; it waits for 10 s itself.
_PATIENCE_S = 20.0


def find_agent(path: Optional[str] = None) -> str:
    """The agent program: the one named, $SASSAY_AGENT, the one in this package, or the first one in PATH."""
    bundled = pathlib.Path(__file__).resolve().parent / "_agent" / "bin" / "mini-ptx-agent"
    named = path or os.environ.get("SASSAY_AGENT")
    if named:
        if not os.access(named, os.X_OK):
            raise UsageError(f"{named} is no program that can be run; it was named as the agent.", "NOT_FOUND", 2)
        return str(named)
    if os.access(bundled, os.X_OK):
        return str(bundled)
    found = shutil.which("mini-ptx-agent")
    if found:
        return found
    raise UsageError("mini-ptx-agent is neither in this package nor in PATH; install the wheel, or set SASSAY_AGENT.", "NOT_FOUND", 2)


class AgentProcess:
    """A running agent.

    Life cycle: started by the constructor, ends with close(), with this process however it ends (the agent sees its
    pipes close, cancels what is under way and goes), or by itself when it cannot work; then every future fails with what it said.
    Threads: safe.
    """

    def __init__(self, arguments: List[str], environment: Optional[Mapping[str, str]], cwd: Optional[str], agent: str) -> None:
        self._lock = threading.Lock()
        self._futures: Dict[str, "concurrent.futures.Future[BatchRecord]"] = {}
        self._next = 0
        self._closing = False
        self._reason: Optional[SassayError] = None  # why it has ended
        self._ended = threading.Event()
        self._stderr = tempfile.TemporaryFile()
        # A session of its own: Ctrl-C in a terminal is this process's to handle.
        self._process = subprocess.Popen(
            [agent, "batch", "-", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
            cwd=cwd, env=dict(environment) if environment is not None else None, start_new_session=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        # Whoever forgets to close must not leave an agent that waits for items for ever.
        self._finalizer = weakref.finalize(self, _close_quietly, self._input)
        reader = threading.Thread(target=_read, args=(weakref.ref(self), self._output), name="sassay-agent", daemon=True)
        reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def usable(self) -> bool:
        return not self._closing and not self._ended.is_set()

    def submit(self, item: Mapping[str, Any]) -> "concurrent.futures.Future[BatchRecord]":
        """The future of an item's record. Its `sassay_id` names it for cancel()."""
        future: "concurrent.futures.Future[BatchRecord]" = concurrent.futures.Future()
        future.set_running_or_notify_cancel()  # only its record ends it
        with self._lock:
            if not self.usable:
                future.set_exception(self._reason or Cancelled("the client is closed.", "CANCELLED"))
                return future
            self._next += 1
            name = str(self._next)
            future.sassay_id = name  # type: ignore[attr-defined]
            self._futures[name] = future
            self._write({**item, "id": name})
        return future

    def cancel(self, future: "concurrent.futures.Future[BatchRecord]") -> None:
        """Asks for an item to be given up; its record still comes, when nothing works on it any more."""
        with self._lock:
            name = getattr(future, "sassay_id", None)
            if name in self._futures:
                self._write({"cancel": name})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._input.write(json.dumps(line).encode() + b"\n")
            self._input.flush()
        except (OSError, ValueError):
            pass  # it has ended; its reader says why

    def close(self, cancel: bool = True) -> None:
        """Ends the agent: gives up what is under way (or lets it come to its end), and waits until nothing is left of it."""
        with self._lock:
            self._closing = True
            if cancel:
                for name in self._futures:
                    self._write({"cancel": name})
            _close_quietly(self._input)
        try:
            self._process.wait(_PATIENCE_S if cancel else None)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._ended.wait(_PATIENCE_S)

    def _take(self, line: bytes) -> None:
        record = BatchRecord.from_dict(json.loads(line))
        with self._lock:
            future = self._futures.pop(record.id, None)
        if future is not None:
            future.set_result(record)

    def _finish(self) -> None:
        self._process.wait()
        why = self._reason = self._why()
        self._stderr.close()
        self._ended.set()
        with self._lock:
            futures, self._futures = self._futures, {}
        for future in futures.values():
            future.set_exception(why)

    def _why(self) -> SassayError:
        if self._closing:
            return Cancelled("the client was closed before there was a verdict.", "CANCELLED")
        self._stderr.seek(0)
        return agent_error(self._stderr.read().decode("utf-8", "replace"), self._process.returncode)


def _close_quietly(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        pass


def _read(agent: "weakref.ref[AgentProcess]", output: IO[bytes]) -> None:
    """The reader's thread. It holds the agent weakly while it waits, so that a forgotten client ends."""
    for line in output:
        process = agent()
        if process is None:
            break
        process._take(line)
        del process
    process = agent()
    if process is not None:
        process._finish()
    output.close()
