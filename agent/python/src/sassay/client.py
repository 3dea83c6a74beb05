"""Clients: what a program or a notebook judges candidates with."""
from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import tempfile
import threading
from typing import Any, AsyncIterable, AsyncIterator, Dict, Iterable, Iterator, List, Mapping, Optional, TypeVar, Union

from ._agent import AgentProcess, find_agent
from ._display import harmless
from .errors import SassayError, UsageError, error_of
from .types import BatchRecord, Verdict

Source = Union[str, Mapping[str, str]]
Path = Union[str, "os.PathLike[str]"]
Item = Union[str, Mapping[str, Any]]
T = TypeVar("T")

_ITEM_NAMES = ("source", "answer", "path", "paths", "bundle", "workload", "language")


@dataclasses.dataclass
class Result:
    """What became of one candidate of many: exactly one of verdict, error and no_candidate is there."""

    # Place in what was given, from 0, and the item itself.
    index: int
    item: Any
    verdict: Optional[Verdict] = None
    # Why there is no verdict: infrastructure, or an item that cannot be used. It says nothing about the candidate.
    error: Optional[SassayError] = None
    # Of a model's answer: why there is no candidate in it.
    no_candidate: str = ""
    record: Optional[BatchRecord] = None

    @property
    def correct(self) -> Optional[bool]:
        """None where nothing is known about the candidate."""
        if self.no_candidate:
            return False
        return self.verdict.correct if self.verdict is not None else None

    @property
    def speedup(self) -> Optional[float]:
        return self.verdict.speedup if self.verdict is not None else None

    def to_dict(self) -> Dict[str, Any]:
        return self.record.to_dict() if self.record is not None else {"failure": _failure(self.error)}

    def to_row(self) -> Dict[str, Any]:
        """One flat row: pandas.DataFrame([result.to_row() for result in results])."""
        row: Dict[str, Any] = {"index": self.index, "correct": self.correct, "no_candidate": self.no_candidate,
                               "error": self.error.error if self.error is not None else "",
                               "message": self.error.message if self.error is not None else ""}
        if self.verdict is not None:
            row.update(self.verdict.to_row())
        return row

    def _repr_html_(self) -> str:
        if self.verdict is not None:
            return self.verdict._repr_html_()
        if self.no_candidate:
            return f"<pre>no candidate: {harmless(self.no_candidate)}</pre>"
        return f"<pre>{harmless(self.error)}</pre>"


def _failure(error: Optional[SassayError]) -> Dict[str, Any]:
    return {} if error is None else {"exit_status": error.exit_status, "error": error.error, "message": error.message}


class _Base:
    """Settings, and the agent that works with them; what Client and SyncClient share."""

    def __init__(self, service: Optional[str] = None, *, workload: Optional[str] = None, concurrency: int = 64,
                 agent: Optional[Path] = None, cwd: Optional[Path] = None, environment: Optional[Mapping[str, str]] = None,
                 **settings: Any) -> None:
        """`service` and every further keyword are the agent's settings by their names (`mini-ptx-agent batch --help`):
        stages, sanitize, token_file, ca_file, arch, definitions, … What is not given comes from SASSAY_* variables and
        the configuration files, as for the command. No process is started before the first candidate."""
        self._arguments: List[str] = ["--concurrency", str(concurrency)]
        self._concurrency = concurrency
        given = {"service": service, "workload": workload, **settings}
        for name, value in given.items():
            self._arguments += _flag(name, value)
        self._agent = find_agent(os.fspath(agent) if agent is not None else None)
        self._cwd = os.fspath(cwd) if cwd is not None else None
        self._environment = environment
        self._lock = threading.Lock()
        self._process: Optional[AgentProcess] = None
        self._closed = False
        self._bundles: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._bundle_count = 0

    @property
    def agent_pid(self) -> Optional[int]:
        """Of the running agent; None without one."""
        process = self._process
        return process.pid if process is not None and process.usable else None

    def _running(self) -> AgentProcess:
        with self._lock:
            if self._closed:
                raise UsageError("the client is closed; make another one.", "FAILED_PRECONDITION", 2)
            if self._process is None or not self._process.usable:
                self._process = AgentProcess(self._arguments, self._environment, self._cwd, self._agent)
            return self._process

    def _line(self, item: Item) -> Dict[str, Any]:
        if isinstance(item, str):
            return {"source": item}
        # What else stands in a row of a data set is no matter of the agent's.
        line: Dict[str, Any] = {name: item[name] for name in _ITEM_NAMES if item.get(name) is not None}
        for name in ("path", "bundle"):
            if isinstance(line.get(name), os.PathLike):
                line[name] = os.fspath(line[name])
        if "paths" in line:
            line["paths"] = [os.fspath(path) for path in line["paths"]]
        if isinstance(line.get("bundle"), (bytes, bytearray)):
            line["bundle"] = self._keep(bytes(line["bundle"]))
        return line

    def _keep(self, bundle: bytes) -> str:
        with self._lock:
            if self._bundles is None:
                self._bundles = tempfile.TemporaryDirectory(prefix="sassay-bundles-")
            self._bundle_count += 1
            path = pathlib.Path(self._bundles.name) / f"{self._bundle_count}.bundle"
        path.write_bytes(bundle)
        return str(path)

    def _shut(self, cancel: bool = True) -> None:
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.close(cancel)
        if self._bundles is not None:
            self._bundles.cleanup()


def _flag(name: str, value: Any) -> List[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (list, tuple)):
        value = ",".join(os.fspath(each) if isinstance(each, os.PathLike) else str(each) for each in value)
    return [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _verdict_of(record: BatchRecord) -> Verdict:
    if record.verdict is not None:
        return record.verdict
    if record.failure is None:
        raise UsageError(record.no_candidate or "the agent's record holds nothing.", "INVALID_ARGUMENT", 2)
    failure = record.failure
    raise error_of(failure.message, failure.error, failure.exit_status, failure.submission_id)


def _result_of(index: int, item: Any, record: Union[BatchRecord, SassayError]) -> Result:
    if isinstance(record, SassayError):
        return Result(index, item, error=record)
    if record.no_candidate:
        return Result(index, item, no_candidate=record.no_candidate, record=record)
    try:
        return Result(index, item, verdict=_verdict_of(record), record=record)
    except SassayError as error:
        return Result(index, item, error=error, record=record)


class Client(_Base):
    """Judges candidates from asyncio, in a script or in a notebook's running loop.

        async with sassay.Client("127.0.0.1:50051", workload="gemm_n256_k256/M=64") as client:
            verdict = await client.evaluate(source=code)
            async for result in client.evaluate_many(codes, concurrency=32):
                print(result.index, result.correct)

    Cancelling a task, or leaving a loop early, cancels what it waited for: compilers die and the service is told. When
    aclose() returns, nothing works on a candidate of this client any more.
    """

    async def evaluate(self, source: Optional[Source] = None, *, answer: Optional[str] = None, path: Optional[Path] = None,
                       paths: Optional[List[Path]] = None, bundle: Union[Path, bytes, None] = None, workload: Optional[str] = None,
                       language: Optional[str] = None) -> Verdict:
        """The verdict on one candidate, right or wrong. Raises UsageError, InfrastructureError or Cancelled, with the
        agent's words, where there is none."""
        item = dict(source=source, answer=answer, path=path, paths=paths, bundle=bundle, workload=workload, language=language)
        return _verdict_of(await self._record(item))

    async def _record(self, item: Item) -> BatchRecord:
        process = self._running()
        future = process.submit(self._line(item))
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            process.cancel(future)
            raise

    async def evaluate_many(self, items: Union[Iterable[Item], AsyncIterable[Item]], *, concurrency: Optional[int] = None
                            ) -> AsyncIterator[Result]:
        """A Result for each item (a source, or a mapping with evaluate's arguments) as soon as it is decided. What has no
        verdict does not end the others. At most `concurrency` are under way; items are taken only as they are needed."""
        limit = concurrency or self._concurrency
        tasks: "set[asyncio.Task[Result]]" = set()
        incoming = _aiter(items)
        index, more = 0, True

        async def one(place: int, item: Item) -> Result:
            try:
                return _result_of(place, item, await self._record(item))
            except SassayError as error:
                return _result_of(place, item, error)

        try:
            while more or tasks:
                while more and len(tasks) < limit:
                    try:
                        item = await incoming.__anext__()
                    except StopAsyncIteration:
                        more = False
                        break
                    tasks.add(asyncio.ensure_future(one(index, item)))
                    index += 1
                if not tasks:
                    break
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.gather(*tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancels what is under way and waits until nothing is left of it. Idempotent."""
        await asyncio.get_running_loop().run_in_executor(None, self._shut)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()


async def _aiter(items: Union[Iterable[T], AsyncIterable[T]]) -> AsyncIterator[T]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


class SyncClient(_Base):
    """The same without asyncio.

        with sassay.SyncClient(workload="gemm_n256_k256/M=64") as client:
            for result in client.evaluate_many(codes):
                print(result.index, result.correct)
    """

    def evaluate(self, source: Optional[Source] = None, *, answer: Optional[str] = None, path: Optional[Path] = None,
                 paths: Optional[List[Path]] = None, bundle: Union[Path, bytes, None] = None, workload: Optional[str] = None,
                 language: Optional[str] = None) -> Verdict:
        """As Client.evaluate. Ctrl-C cancels it in the service, too."""
        item = dict(source=source, answer=answer, path=path, paths=paths, bundle=bundle, workload=workload, language=language)
        process = self._running()
        future = process.submit(self._line(item))
        try:
            return _verdict_of(future.result())
        except KeyboardInterrupt:
            process.cancel(future)
            raise

    def evaluate_many(self, items: Iterable[Item], *, concurrency: Optional[int] = None) -> Iterator[Result]:
        """As Client.evaluate_many. A loop that is left early cancels the rest."""
        limit = concurrency or self._concurrency
        process = self._running()
        decided: "queue.SimpleQueue[concurrent.futures.Future[BatchRecord]]" = queue.SimpleQueue()
        under_way: Dict["concurrent.futures.Future[BatchRecord]", Any] = {}
        incoming = enumerate(items)
        more = True
        try:
            while more or under_way:
                while more and len(under_way) < limit:
                    try:
                        index, item = next(incoming)
                    except StopIteration:
                        more = False
                        break
                    future = process.submit(self._line(item))
                    under_way[future] = (index, item)
                    future.add_done_callback(decided.put)
                if not under_way:
                    break
                future = decided.get()
                index, item = under_way.pop(future)
                error = future.exception()
                if error is not None and not isinstance(error, SassayError):
                    raise error
                yield _result_of(index, item, error if error is not None else future.result())
        finally:
            for future in under_way:
                process.cancel(future)

    def close(self) -> None:
        """Cancels what is under way and waits until nothing is left of it. Idempotent."""
        self._shut()

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
