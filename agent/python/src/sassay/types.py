"""What the agent prints, as dataclasses with the names and the words of proto/sassay/v1. Made by generate_types.py."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ._display import VerdictMixin
from ._message import Message, OpenEnum


class BenchOutcome(OpenEnum):
    """How two kernels compare, on one workload or over several."""

    UNSPECIFIED = 'UNSPECIFIED'
    # The whole interval of the ratio lies within the threshold on both sides of 1.
    EQUAL = 'EQUAL'
    # The whole interval lies beyond the threshold.
    FASTER = 'FASTER'
    SLOWER = 'SLOWER'
    # The interval reaches over a threshold: more rounds may tell.
    INCONCLUSIVE = 'INCONCLUSIVE'
    # There is no ratio; a reason says why.
    UNAVAILABLE = 'UNAVAILABLE'


class CaptureProfile(OpenEnum):
    """How strictly host code was held to launching the same work on every call."""

    UNSPECIFIED = 'UNSPECIFIED'
    # Three calls with disjoint pointers had to launch the same work; required for scores.
    STRICT = 'STRICT'
    # One call in a fresh process; the verdict is marked.
    LENIENT = 'LENIENT'


class Diagnosis(OpenEnum):
    """What can be asked for."""

    UNSPECIFIED = 'UNSPECIFIED'
    # Nsight Compute's chosen sections for the candidate's launches; the report file is an artifact.
    NCU = 'NCU'
    # The SASS instructions that executed most, with their source lines.
    HOTSPOTS = 'HOTSPOTS'
    # After a fault or a hang: where every warp stands, out of a GPU core dump.
    DEBUG = 'DEBUG'


class DiagnosisReportOutcome(OpenEnum):
    """How it ended."""

    UNSPECIFIED = 'UNSPECIFIED'
    # It ran.
    DONE = 'DONE'
    # It could not run, or there was nothing to diagnose; `reason` says which.
    UNAVAILABLE = 'UNAVAILABLE'


class EvidenceStatus(OpenEnum):
    """What the evidence says about the workload's required instruction family."""

    UNSPECIFIED = 'UNSPECIFIED'
    # Instructions of the family executed with at least one thread's predicate true.
    DYNAMIC_PRESENT = 'DYNAMIC_PRESENT'
    # The family is in the cubin but never executed.
    DYNAMIC_NOT_EXECUTED = 'DYNAMIC_NOT_EXECUTED'
    # The family is not in the cubin at all.
    CUBIN_SASS_ABSENT = 'CUBIN_SASS_ABSENT'
    # Not known; `reason` says why. Never counted as present or absent.
    UNAVAILABLE = 'UNAVAILABLE'


class Provenance(OpenEnum):
    """Whether the service could rebuild the cubin from the PTX."""

    UNSPECIFIED = 'UNSPECIFIED'
    # ptxas, run by the service on the bundle's PTX, gave the bundle's cubin.
    VERIFIED = 'VERIFIED'
    # It did not, or the service has no ptxas of that release; such a bundle is never scored.
    CLAIMED = 'CLAIMED'
    # The check failed for reasons of the service (its sandbox, its time). Not scored; submit again to have it checked.
    UNAVAILABLE = 'UNAVAILABLE'


class SanitizerReportOutcome(OpenEnum):
    """How it ended."""

    UNSPECIFIED = 'UNSPECIFIED'
    # It saw every launch to its end and found nothing.
    CLEAN = 'CLEAN'
    # It found something; `convicting` and `advisory` tell what that is worth.
    FINDINGS = 'FINDINGS'
    # It is missing, failed, was late, or saw nothing run; `reason` says which. Not clean, not guilty.
    UNAVAILABLE = 'UNAVAILABLE'


class Stage(OpenEnum):
    """The stages of a candidate's life, in the order in which they run."""

    UNSPECIFIED = 'UNSPECIFIED'
    # On the submitter's machine: nvcc.
    COMPILE = 'COMPILE'
    # On the submitter's machine: host code to launch plan.
    CAPTURE = 'CAPTURE'
    # Validation of the bundle, provenance included.
    ADMISSION = 'ADMISSION'
    # Is it right?
    EVALUATE = 'EVALUATE'
    # Is it safe?
    SANITIZE = 'SANITIZE'
    # Which instructions executed?
    EVIDENCE = 'EVIDENCE'
    # How fast?
    TIMING = 'TIMING'
    # What was asked for besides (ProfileRequest.diagnose). Runs after the verdict is certain and never changes it.
    DIAGNOSE = 'DIAGNOSE'


class StageReportOutcome(OpenEnum):
    """How it ended."""

    UNSPECIFIED = 'UNSPECIFIED'
    # It ran and found nothing wrong.
    PASSED = 'PASSED'
    # It ran and decided the verdict.
    FAILED = 'FAILED'
    # It was not asked for, or an earlier stage had decided.
    SKIPPED = 'SKIPPED'
    # It could not run; `reason` says why. Not clean, not guilty.
    UNAVAILABLE = 'UNAVAILABLE'


class TimingStatus(OpenEnum):
    """Whether there is a number at all."""

    UNSPECIFIED = 'UNSPECIFIED'
    # The number stands.
    MEASURED = 'MEASURED'
    # The number stands unless the monitor excludes it; its healthy-through watermark has not passed yet.
    PROVISIONAL = 'PROVISIONAL'
    # No number; `reason` says why ("emulated device").
    UNAVAILABLE = 'UNAVAILABLE'


class VerdictCode(OpenEnum):
    """The first cause, closed and documented: `mini-ptx-agent explain CODE` describes each."""

    UNSPECIFIED = 'UNSPECIFIED'
    # Nothing to explain.
    OK = 'OK'
    # compile
    NVCC_ERROR = 'NVCC_ERROR'
    PTXAS_ERROR = 'PTXAS_ERROR'
    WRONG_ARCH_PTX = 'WRONG_ARCH_PTX'
    COMPILE_TIMEOUT = 'COMPILE_TIMEOUT'
    COMPILE_LIMIT = 'COMPILE_LIMIT'
    HOST_COMPILER_ERROR = 'HOST_COMPILER_ERROR'
    LINK_ERROR = 'LINK_ERROR'
    # capture
    ENTRY_MISSING = 'ENTRY_MISSING'
    ENTRY_SIGNATURE = 'ENTRY_SIGNATURE'
    HOST_READS_DEVICE = 'HOST_READS_DEVICE'
    PTR_CACHED = 'PTR_CACHED'
    CALLS_DIFFER = 'CALLS_DIFFER'
    SHARED_MEMORY_LIMIT = 'SHARED_MEMORY_LIMIT'
    BLOCK_LIMIT = 'BLOCK_LIMIT'
    LAUNCH_INVALID = 'LAUNCH_INVALID'
    UNSUPPORTED_API = 'UNSUPPORTED_API'
    FORBIDDEN_LIBRARY = 'FORBIDDEN_LIBRARY'
    HOST_CRASH = 'HOST_CRASH'
    HOST_TIMEOUT = 'HOST_TIMEOUT'
    HOST_EXIT = 'HOST_EXIT'
    HOST_LIMIT = 'HOST_LIMIT'
    NO_LAUNCH = 'NO_LAUNCH'
    TENSOR_MAP_INVALID = 'TENSOR_MAP_INVALID'
    POINTER_OUT_OF_BUFFER = 'POINTER_OUT_OF_BUFFER'
    HOST_CUDA_ERROR = 'HOST_CUDA_ERROR'
    # admission
    BUNDLE_MALFORMED = 'BUNDLE_MALFORMED'
    CUBIN_MALFORMED = 'CUBIN_MALFORMED'
    ARCH_MISMATCH = 'ARCH_MISMATCH'
    KERNEL_MISSING = 'KERNEL_MISSING'
    PARAMETERS_MISMATCH = 'PARAMETERS_MISMATCH'
    PLAN_POINTER_INVALID = 'PLAN_POINTER_INVALID'
    PLAN_LIMIT = 'PLAN_LIMIT'
    MEMORY_BUDGET = 'MEMORY_BUDGET'
    DEVICE_RUNTIME = 'DEVICE_RUNTIME'
    WORKLOAD_MISMATCH = 'WORKLOAD_MISMATCH'
    WORKLOAD_UNKNOWN = 'WORKLOAD_UNKNOWN'
    DEVICE_MISMATCH = 'DEVICE_MISMATCH'
    NO_REFERENCE = 'NO_REFERENCE'
    TOO_LARGE_FOR_DEVICE = 'TOO_LARGE_FOR_DEVICE'
    VENDOR_KERNEL = 'VENDOR_KERNEL'
    # sanitize
    OOB_GLOBAL_READ = 'OOB_GLOBAL_READ'
    OOB_GLOBAL_WRITE = 'OOB_GLOBAL_WRITE'
    OOB_SHARED = 'OOB_SHARED'
    OOB_LOCAL = 'OOB_LOCAL'
    MISALIGNED = 'MISALIGNED'
    USE_AFTER_FREE = 'USE_AFTER_FREE'
    UNINITIALIZED_READ = 'UNINITIALIZED_READ'
    SHARED_RACE = 'SHARED_RACE'
    BARRIER_DIVERGENCE = 'BARRIER_DIVERGENCE'
    GUARD_BAND = 'GUARD_BAND'
    INPUT_MODIFIED = 'INPUT_MODIFIED'
    OOB_CONST = 'OOB_CONST'
    # A barrier is used against its rules (a mask without the caller, an mbarrier that nobody initialised).
    BARRIER_MISUSE = 'BARRIER_MISUSE'
    # Memory or registers were touched while an asynchronous unit (TMA, wgmma, tcgen05) still writes or reads there, or without the fence that orders the two.
    ASYNC_RACE = 'ASYNC_RACE'
    # Tensor memory is used against its rules: leaked, freed twice, touched outside of an allocation or by other warps than the instruction allows.
    TENSOR_MEMORY_MISUSE = 'TENSOR_MEMORY_MISUSE'
    # A matrix, instruction or tensor-map descriptor contradicts the ISA, or the layout of the data it describes.
    DESCRIPTOR_INVALID = 'DESCRIPTOR_INVALID'
    # runtime
    ILLEGAL_ADDRESS = 'ILLEGAL_ADDRESS'
    ILLEGAL_INSTRUCTION = 'ILLEGAL_INSTRUCTION'
    TRAP = 'TRAP'
    ASSERT = 'ASSERT'
    LAUNCH_FAILED = 'LAUNCH_FAILED'
    KERNEL_TIMEOUT = 'KERNEL_TIMEOUT'
    BARRIER_DEADLOCK = 'BARRIER_DEADLOCK'
    MBARRIER_DEADLOCK = 'MBARRIER_DEADLOCK'
    LAUNCH_REFUSED = 'LAUNCH_REFUSED'
    # evaluate
    MISMATCH = 'MISMATCH'
    NON_FINITE = 'NON_FINITE'
    UNWRITTEN_OUTPUT = 'UNWRITTEN_OUTPUT'
    NONDETERMINISTIC = 'NONDETERMINISTIC'
    # Found by timing, and no proof of intent: a race looks the same as work that is skipped.
    TIMED_OUTPUT_WRONG = 'TIMED_OUTPUT_WRONG'
    # cheating
    FASTER_THAN_PHYSICS = 'FASTER_THAN_PHYSICS'
    # infrastructure
    EMULATOR_LACKS = 'EMULATOR_LACKS'
    RUNNER_LOST = 'RUNNER_LOST'
    JUDGE_LOST = 'JUDGE_LOST'
    DEVICE_LOST = 'DEVICE_LOST'
    QUEUE_DEADLINE = 'QUEUE_DEADLINE'
    INTERNAL = 'INTERNAL'
    SANDBOX_UNAVAILABLE = 'SANDBOX_UNAVAILABLE'
    DIGEST_BARRED = 'DIGEST_BARRED'
    # others
    CANCELLED_BY_CLIENT = 'CANCELLED_BY_CLIENT'


class VerdictStatus(OpenEnum):
    """What became of a candidate."""

    UNSPECIFIED = 'UNSPECIFIED'
    # Every stage that ran is content.
    CORRECT = 'CORRECT'
    # nvcc or ptxas refused the source.
    COMPILE_ERROR = 'COMPILE_ERROR'
    # The host code could not be turned into a launch plan.
    CAPTURE_ERROR = 'CAPTURE_ERROR'
    # Admission refused the bundle; `reason` names the field.
    REJECTED = 'REJECTED'
    # Memory or synchronisation was misused.
    SANITIZER_ERROR = 'SANITIZER_ERROR'
    # The kernel faulted or trapped.
    RUNTIME_ERROR = 'RUNTIME_ERROR'
    # The kernel did not end within its deadline.
    TIMEOUT = 'TIMEOUT'
    # The output is wrong.
    INCORRECT_NUMERICAL = 'INCORRECT_NUMERICAL'
    # The output or the time cannot have been come by honestly.
    CHEATING = 'CHEATING'
    # Our fault, or the machine's; says nothing about the candidate. Worth retrying.
    INFRA_ERROR = 'INFRA_ERROR'
    # Somebody asked to stop.
    CANCELLED = 'CANCELLED'


@dataclass(repr=False)
class Advice(Message):
    """Advice that Nsight Compute's rules gave."""

    # Kernel symbol, demangled and short.
    kernel: str = ""
    # Which launch of the call, counted from 0.
    launch: int = 0
    # Rule, for example "SOLBottleneck".
    rule: str = ""
    # One paragraph.
    text: str = ""


Advice._SPEC = {}


@dataclass(repr=False)
class Artifact(Message):
    """A file that a diagnosis made. ReadBlob gives its bytes to the tenant that asked, for as long as blobs are kept."""

    # A file name without folders, for example "gemm.ncu-rep".
    name: str = ""
    # SHA-256 of its bytes, lower-case hex.
    sha256: str = ""
    # Size in bytes.
    size_bytes: int = 0


Artifact._SPEC = {}


@dataclass(repr=False)
class BaselineHistory(Message):
    """The baseline beside its own past: the same program of the same library on the same GPU with the same driver, for the same workload."""

    # Earlier measurements that are remembered, the last 20 at most. With fewer than 5 nothing is concluded.
    measurements: int = 0
    # Median of the medians of those measurements, in nanoseconds; 0 without any.
    median_ns: float = 0.0
    # Median of their medians in SM cycles (time by SM clock); 0 where too few of the clocks are known.
    median_cycles: float = 0.0
    # The baseline's median in this measurement, in nanoseconds.
    measured_ns: float = 0.0
    # The same in SM cycles; 0 where the clock is not known.
    measured_cycles: float = 0.0


BaselineHistory._SPEC = {}


@dataclass(repr=False)
class BaselineProgram(Message):
    """What the candidate is compared with."""

    # "cuBLASLt", "cuDNN", "trusted bundle", or "the candidate itself" in an A/A measurement.
    library: str = ""
    # The library's version as it ran; of a trusted bundle its SHA-256, lower-case hex.
    version: str = ""
    # The algorithm, in words.
    algorithm: str = ""


BaselineProgram._SPEC = {}


@dataclass(repr=False)
class BatchRecord(Message):
    """One line of what `batch` writes: what became of one line of its input."""

    # As the item says it, or the number of its line.
    id: str = ""
    # Line of the input, counted from 1.
    line: int = 0
    # SHA-256 of what was judged (sources or bundle, workload, settings), lower-case hex: a record stands for an item only as long as this stays. Empty for a line that cannot be used.
    item_sha256: str = ""
    # Under which the service knows it; a batch that goes on finds the submission again. Empty if it was not submitted.
    request_id: str = ""
    # One of verdict, failure and no_candidate.
    verdict: Optional[Verdict] = None
    # Why there is no verdict: exit_status 2, the item cannot be used; 3, infrastructure, or it was cancelled.
    failure: Optional[CommandFailure] = None
    # From the line's turn to its record, in nanoseconds.
    wall_ns: int = 0
    # Of that, in the service's queue.
    queued_ns: int = 0
    # Of a model's answer: why there is no candidate in it. The model's fault, and nothing to judge.
    no_candidate: str = ""


BatchRecord._SPEC = {"verdict": ("one", 'Verdict'), "failure": ("one", 'CommandFailure')}


@dataclass(repr=False)
class BatchSummary(Message):
    """What became of a batch."""

    # The file with the records; empty if they went to standard output.
    path: str = ""
    # "finished", or "interrupted".
    state: str = ""
    # Items of the input, those with a record from before included.
    items: int = 0
    # Items whose record was in the file already.
    found: int = 0
    # Of all: CORRECT, at fault, without a verdict that counts (infrastructure, cancelled, excluded), and lines that cannot be used.
    correct: int = 0
    at_fault: int = 0
    not_judged: int = 0
    unusable: int = 0


BatchSummary._SPEC = {}


@dataclass(repr=False)
class BenchResult(Message):
    """What `bench` prints."""

    # "kernel.cu" and what it was compared with; "baseline" for the workload's own.
    candidate: str = ""
    against: str = ""
    # Differences up to this do not count, as a fraction.
    threshold: float = 0.0
    outcome: BenchOutcome = BenchOutcome.UNSPECIFIED
    shapes: List[BenchShape] = field(default_factory=list)
    # Geometric mean over all shapes; 0 if one has no ratio.
    geomean: float = 0.0
    geomean_low: float = 0.0
    geomean_high: float = 0.0


BenchResult._SPEC = {"outcome": ("one", 'BenchOutcome'), "shapes": ("many", 'BenchShape')}


@dataclass(repr=False)
class BenchShape(Message):
    """What `bench` found on one workload."""

    # "definition/AXIS=value,…".
    workload: str = ""
    outcome: BenchOutcome = BenchOutcome.UNSPECIFIED
    # Why there is no ratio.
    reason: str = ""
    # Speed of the candidate over speed of what it is compared with: above 1 the candidate is faster. With its 95 % interval.
    ratio: float = 0.0
    ratio_low: float = 0.0
    ratio_high: float = 0.0
    # The ratio of each round, in order.
    rounds: List[float] = field(default_factory=list)
    # Medians over the rounds, in nanoseconds.
    candidate_ns: float = 0.0
    against_ns: float = 0.0
    # The verdict that is the reason why there is no ratio.
    verdict: Optional[Verdict] = None


BenchShape._SPEC = {"outcome": ("one", 'BenchOutcome'), "rounds": ("many", None), "verdict": ("one", 'Verdict')}


@dataclass(repr=False)
class CommandFailure(Message):
    """The one document that a command prints when it could not do its work: exit status 2 or 3."""

    # 2: the command was used wrongly. 3: the machine's or the service's fault, worth retrying.
    exit_status: int = 0
    # gRPC's name of the error, for example "UNAVAILABLE".
    error: str = ""
    # What was expected, what came, what to do.
    message: str = ""
    # The submission concerned, if one was already accepted: `mini-ptx-agent attach ID` finds it again.
    submission_id: str = ""


CommandFailure._SPEC = {}


@dataclass(repr=False)
class DeadLaunch(Message):
    """A launch that nothing was seen to depend on."""

    # Position among the launches of one call, counted from 0.
    launch: int = 0
    # Mangled kernel symbol.
    kernel: str = ""


DeadLaunch._SPEC = {}


@dataclass(repr=False)
class DiagnosisReport(Message):
    """What became of one diagnosis."""

    # Which one.
    kind: Diagnosis = Diagnosis.UNSPECIFIED
    outcome: DiagnosisReportOutcome = DiagnosisReportOutcome.UNSPECIFIED
    # One line; with a missing tool the command that would install it.
    reason: str = ""
    # Version of the tool; empty where it could not be asked.
    version: str = ""
    # A few lines for people.
    summary: List[str] = field(default_factory=list)
    # NCU: what was measured; bounded.
    metrics: List[Metric] = field(default_factory=list)
    # NCU: what its rules advise; bounded.
    advice: List[Advice] = field(default_factory=list)
    # HOTSPOTS: hottest first; bounded.
    hot: List[HotInstruction] = field(default_factory=list)
    # Files. DEBUG's warps are in VerdictDetails.warps.
    artifacts: List[Artifact] = field(default_factory=list)
    # Wall time in nanoseconds.
    wall_ns: int = 0


DiagnosisReport._SPEC = {"kind": ("one", 'Diagnosis'), "outcome": ("one", 'DiagnosisReportOutcome'), "summary": ("many", None), "metrics": ("many", 'Metric'), "advice": ("many", 'Advice'), "hot": ("many", 'HotInstruction'), "artifacts": ("many", 'Artifact')}


@dataclass(repr=False)
class Diagnostic(Message):
    """One compiler message."""

    # "error", "warning" or "note".
    severity: str = ""
    # Path inside the candidate.
    file: str = ""
    # Line, counted from 1; 0 where unknown.
    line: int = 0
    # Column, counted from 1; 0 where unknown.
    column: int = 0
    # The message, without paths of the machine.
    message: str = ""
    # Text of the source line.
    source_text: str = ""
    # Which tool spoke: "nvcc", "ptxas", "host compiler", "linker".
    tool: str = ""


Diagnostic._SPEC = {}


@dataclass(repr=False)
class Dim3(Message):
    """Three extents, as CUDA's dim3. A missing extent (0) is refused by admission."""

    # Extent in x.
    x: int = 0
    # Extent in y.
    y: int = 0
    # Extent in z.
    z: int = 0


Dim3._SPEC = {}


@dataclass(repr=False)
class DroppedLaunches(Message):
    """What became of the outputs when single launches of a call were left out, each in a call of its own."""

    # Launches of a call.
    launches: int = 0
    # How many of them were left out; chosen at random where not all were.
    tried: int = 0
    # Those without which the outputs were right all the same, in the plan's order. Reported, never held against the candidate: it may be a mere zero-fill.
    dead: List[DeadLaunch] = field(default_factory=list)
    # Why not all were tried; empty if all were.
    reason: str = ""


DroppedLaunches._SPEC = {"dead": ("many", 'DeadLaunch')}


@dataclass(repr=False)
class Evidence(Message):
    """PTXBench's words, so that results compare."""

    # The four-valued answer.
    status: EvidenceStatus = EvidenceStatus.UNSPECIFIED
    # Why the status is UNAVAILABLE, or how it was derived ("executed PTX mapped to SASS families").
    reason: str = ""
    # Executed opcodes, those of a family first, then most executed first; bounded by the service.
    opcodes: List[OpcodeCount] = field(default_factory=list)
    # Predicate-true thread counts by family: "GMMA", "TMA", "HMMA", "TCGEN", "TMEM".
    family_thread_counts: Dict[str, int] = field(default_factory=dict)
    # FLOPs that executed tensor-core instructions account for, divided by the FLOPs the workload needs; absent where the opcode does not tell.
    tensor_core_flop_share: Optional[float] = None
    # Total thread-instructions executed, predicate true.
    thread_instructions: int = 0
    # Total warp-instructions executed.
    warp_instructions: int = 0
    # FLOPs that executed tensor-core instructions account for, by the shape in their opcode; absent where one of them does not tell.
    tensor_core_flops: Optional[float] = None
    # Why tensor_core_flop_share is absent; empty where it is there.
    tensor_core_flop_share_reason: str = ""
    # What each launch of the counted call executed, in the plan's order; bounded by the service. Empty on an emulated device.
    launches: List[LaunchEvidence] = field(default_factory=list)
    # CRC of the cubin whose instructions were counted, as CUPTI computes it; 0 on an emulated device.
    cubin_crc: int = 0
    # What single launches are good for; absent for a plan of one launch, and where a plan was not tried. Independent of `status`.
    dropped_launches: Optional[DroppedLaunches] = None


Evidence._SPEC = {"status": ("one", 'EvidenceStatus'), "opcodes": ("many", 'OpcodeCount'), "family_thread_counts": ("map", None), "launches": ("many", 'LaunchEvidence'), "dropped_launches": ("one", 'DroppedLaunches')}


@dataclass(repr=False)
class Exclusion(Message):
    """A monitor's decision that a turn does not count."""

    # The incident that caused it.
    incident_id: str = ""
    # One line.
    reason: str = ""


Exclusion._SPEC = {}


@dataclass(repr=False)
class Finding(Message):
    """One misuse of memory or synchronisation."""

    # What kind.
    code: VerdictCode = VerdictCode.UNSPECIFIED
    # One sentence for people, with every number that matters.
    message: str = ""
    # Who did it.
    where: Optional[ThreadLocation] = None
    # The other side of a race; absent otherwise.
    other: Optional[ThreadLocation] = None
    # The buffer concerned: tensor name, "workspace 0", symbol, or "shared".
    buffer: str = ""
    # Signed distance in bytes: >= 0 counts from the buffer's end, < 0 from its start. 0 with in-bounds findings.
    distance_bytes: int = 0
    # Size of the access in bytes.
    access_bytes: int = 0
    # How often it was seen (at least).
    count: int = 0


Finding._SPEC = {"code": ("one", 'VerdictCode'), "where": ("one", 'ThreadLocation'), "other": ("one", 'ThreadLocation')}


@dataclass(repr=False)
class HotInstruction(Message):
    """One SASS instruction that executed often."""

    # Mangled kernel symbol.
    kernel: str = ""
    # Offset in the kernel, in bytes.
    pc: int = 0
    # Disassembled text.
    sass: str = ""
    # Times a warp executed it.
    warp_count: int = 0
    # Times a thread executed it, predicate true.
    thread_count: int = 0
    # CUDA source line ("kernel.cu:23"); empty where the cubin has no line information.
    source_line: str = ""
    # Text of that line, where the bundle carries the source.
    source_text: str = ""


HotInstruction._SPEC = {}


@dataclass(repr=False)
class LaunchEvidence(Message):
    """What one launch executed."""

    # Position among the launches of one call, counted from 0.
    launch: int = 0
    # How many consecutive launches of the same kernel, from that one on, were counted together: 1 but for very long plans.
    launches: int = 0
    # Mangled kernel symbol.
    kernel: str = ""
    # Warp-instructions executed.
    warp_instructions: int = 0
    # Thread-instructions executed, predicate true.
    thread_instructions: int = 0
    # Predicate-true thread counts by family, as in Evidence.
    family_thread_counts: Dict[str, int] = field(default_factory=dict)
    # FLOPs of its tensor-core instructions; absent where one of them does not tell.
    tensor_core_flops: Optional[float] = None


LaunchEvidence._SPEC = {"family_thread_counts": ("map", None)}


@dataclass(repr=False)
class Metric(Message):
    """One number that Nsight Compute measured."""

    # Kernel symbol, demangled and short.
    kernel: str = ""
    # Which launch of the call, counted from 0.
    launch: int = 0
    # Section, for example "GPU Speed Of Light Throughput".
    section: str = ""
    # Name, for example "Memory Throughput".
    name: str = ""
    # Unit, for example "%"; empty for a plain number.
    unit: str = ""
    # Value as the tool printed it, without thousands separators.
    value: str = ""


Metric._SPEC = {}


@dataclass(repr=False)
class Numerics(Message):
    """The numerical side of a verdict: the peer's rule and ours, both reported."""

    # One entry per output, of the worst case seen.
    outputs: List[OutputComparison] = field(default_factory=list)
    # Whether every output passes abs > 1e-2 and rel > 1e-2 (PTXBench).
    peer_rule_passed: bool = False
    # Whether every output passes the deciding rule.
    passed: bool = False
    # Inputs tried: distribution names in order.
    distributions: List[str] = field(default_factory=list)
    # The distribution of the case that `outputs` describes.
    worst_distribution: str = ""
    # The library whose own error on the same inputs scales the deciding rule: "cuDNN 9.19.0". Empty where the noise is the model's alone.
    library: str = ""
    # Why no library scales it, where the workload names one and the judge is on a GPU.
    library_unavailable: str = ""


Numerics._SPEC = {"outputs": ("many", 'OutputComparison'), "distributions": ("many", None)}


@dataclass(repr=False)
class OpcodeCount(Message):
    """Executions of one opcode in one kernel, over all launches of one call."""

    # Mangled kernel symbol.
    kernel: str = ""
    # SASS opcode with modifiers ("HGMMA.64x128x16.F32.BF16"); on an emulated device the PTX opcode.
    opcode: str = ""
    # Warp-level executions.
    warp_count: int = 0
    # Thread-level executions with the predicate true. A row whose count is 0 was reached and never executed.
    thread_count: int = 0
    # Its family ("GMMA", "TMA", …); empty for an opcode of none.
    family: str = ""


OpcodeCount._SPEC = {}


@dataclass(repr=False)
class OutputComparison(Message):
    """How one output compares with its reference."""

    # Output tensor name.
    output: str = ""
    # Elements compared.
    elements: int = 0
    # Elements wrong by the deciding rule.
    wrong: int = 0
    # Elements that were not finite where the reference is.
    non_finite: int = 0
    # Elements that still held the poison.
    unwritten: int = 0
    # Index of the worst element, outermost axis first.
    worst_index: List[int] = field(default_factory=list)
    # Expected value there.
    worst_expected: float = 0.0
    # Actual value there.
    worst_actual: float = 0.0
    # Largest absolute error.
    max_abs_error: float = 0.0
    # Root mean square error divided by the root mean square of the reference.
    relative_rms_error: float = 0.0
    # The rule's allowance for relative_rms_error.
    allowed_relative_rms_error: float = 0.0
    # Where the errors are, in words ("all errors have row >= 192"); empty where no pattern was found.
    pattern: str = ""
    # Elements wrong by the peer's rule: abs > 1e-2 and rel > 1e-2.
    peer_rule_wrong: int = 0
    # Root mean square error of the vendor library's own output on the same inputs, divided by what the noise model allows an ideal kernel. Above 1 it widens the rule, up to 4 times. 0 where no library ran (Numerics.library).
    library_error_ratio: float = 0.0
    # Largest |actual - expected| / (|expected| + 1e-8) over the elements that are finite on both sides, as FlashInfer-Bench has it. Absent where it was not measured (verdicts of older services).
    max_relative_error: Optional[float] = None


OutputComparison._SPEC = {"worst_index": ("many", None)}


@dataclass(repr=False)
class RooflineFloor(Message):
    """The shortest time that the GPU can need for one call: work and bytes over peak rates."""

    # The larger of the two below, in nanoseconds.
    floor_ns: float = 0.0
    # flop at the tensor cores' peak rate and the highest clock, in nanoseconds; 0 where there is no such rate.
    compute_ns: float = 0.0
    # Bytes beyond the L2's size at the memory's peak rate, in nanoseconds.
    memory_ns: float = 0.0
    # Floating-point operations of one call.
    flop: float = 0.0
    # Bytes of all inputs and outputs.
    bytes: int = 0


RooflineFloor._SPEC = {}


@dataclass(repr=False)
class SanitizerReport(Message):
    """What one tool of the sanitizer said."""

    # "memcheck", "synccheck", "initcheck", "racecheck", or "emulator".
    tool: str = ""
    # Version of the tool; empty where it could not be asked.
    version: str = ""
    outcome: SanitizerReportOutcome = SanitizerReportOutcome.UNSPECIFIED
    # One line: why it is UNAVAILABLE, or the first finding.
    reason: str = ""
    # The workload it saw, as "definition/AXIS=value": the submission's, or its smaller sanitize shape.
    workload: str = ""
    # Findings that convict: memcheck's in global memory, and all of the emulator's. First cause first; bounded.
    convicting: List[Finding] = field(default_factory=list)
    # Findings that only advise, because the tool is known to err or a plain run has not confirmed them; bounded.
    advisory: List[Finding] = field(default_factory=list)
    # Errors as the tool counted them, printed or not.
    errors: int = 0
    # Wall time in nanoseconds.
    wall_ns: int = 0


SanitizerReport._SPEC = {"outcome": ("one", 'SanitizerReportOutcome'), "convicting": ("many", 'Finding'), "advisory": ("many", 'Finding')}


@dataclass(repr=False)
class StageReport(Message):
    """What one stage took and said."""

    # Which stage.
    stage: Stage = Stage.UNSPECIFIED
    # How it ended.
    outcome: StageReportOutcome = StageReportOutcome.UNSPECIFIED
    # One line.
    reason: str = ""
    # Wall time in nanoseconds.
    wall_ns: int = 0
    # Time the device was held in nanoseconds.
    device_ns: int = 0
    # It did not run for this submission: an identical one of this tenant (Verdict.reused_from) had settled it. The times are of then.
    cached: bool = False


StageReport._SPEC = {"stage": ("one", 'Stage'), "outcome": ("one", 'StageReportOutcome')}


@dataclass(repr=False)
class ThreadLocation(Message):
    """A thread of a launch."""

    # Mangled kernel symbol.
    kernel: str = ""
    # blockIdx.
    block: Optional[Dim3] = None
    # threadIdx.
    thread: Optional[Dim3] = None
    # CUDA source line ("kernel.cu:23"), where the PTX carries line information.
    source_line: str = ""
    # Text of that line, where the bundle carries the source.
    source_text: str = ""
    # Line in the bundle's PTX, counted from 1; 0 where unknown.
    ptx_line: int = 0
    # Text of the PTX instruction.
    ptx_text: str = ""


ThreadLocation._SPEC = {"block": ("one", 'Dim3'), "thread": ("one", 'Dim3')}


@dataclass(repr=False)
class Timing(Message):
    """A measurement of the candidate and, where the workload has one, its baseline."""

    # Whether there is a number.
    status: TimingStatus = TimingStatus.UNSPECIFIED
    # Why there is none, or what to keep in mind.
    reason: str = ""
    # The candidate's samples.
    candidate: Optional[TimingSeries] = None
    # The baseline's samples; absent where the workload has no baseline or none was measured.
    baseline: Optional[TimingSeries] = None
    # Baseline over candidate, from medians of neighbouring blocks (docs/timing_method.md); 0 where there is no baseline.
    speedup: float = 0.0
    # 95 % interval of the speedup, lower end.
    speedup_low: float = 0.0
    # 95 % interval of the speedup, upper end.
    speedup_high: float = 0.0
    # SM clock seen around the samples, lowest, in MHz.
    sm_clock_min_mhz: int = 0
    # SM clock seen around the samples, highest, in MHz.
    sm_clock_max_mhz: int = 0
    # NVML clock-event reasons seen around the samples, as NVML's bit mask.
    clock_event_reasons: int = 0
    # Samples thrown away, by reason.
    voided_samples: Dict[str, int] = field(default_factory=dict)
    # How it was measured ("events; cold L2; one program").
    method: str = ""
    # What it was compared with; absent where no baseline was measured.
    baseline_program: Optional[BaselineProgram] = None
    # Why there is no speedup although there is a time; empty otherwise.
    no_speedup_reason: str = ""
    # Relative standard error of the speedup (of the candidate's median where there is no baseline).
    relative_standard_error: float = 0.0
    # SM clock measured on the GPU across the candidate's blocks, median, in MHz; 0 if unknown.
    candidate_clock_mhz: float = 0.0
    # The same of the baseline.
    baseline_clock_mhz: float = 0.0
    # What to keep in mind, one line each ("the candidate ran at a clock 1.4 % lower than the baseline").
    warnings: List[str] = field(default_factory=list)
    # Blocks measured, void ones included.
    blocks: int = 0
    # Void ones among them.
    void_blocks: int = 0
    # Whole measurements that were void before this one.
    void_measurements: int = 0
    # Timed calls whose outputs were compared, chosen secretly after they had run.
    checked_calls: int = 0
    # Sets of tensors that the calls went round.
    tensor_sets: int = 0
    # Sets whose contents were renewed during the measurement.
    renewed_sets: int = 0
    # Allocations of each call that were made once, ahead of the calls.
    hoisted_allocations: int = 0
    # The shortest time that this GPU can need; absent for a GPU whose peaks are not known.
    floor: Optional[RooflineFloor] = None
    # What the baseline took before; absent where no baseline was measured, or only the candidate itself.
    baseline_history: Optional[BaselineHistory] = None
    # The candidate's times as seen from outside its process.
    candidate_wall: Optional[WallTimes] = None
    # The same of the baseline; absent where none was measured.
    baseline_wall: Optional[WallTimes] = None


Timing._SPEC = {"status": ("one", 'TimingStatus'), "candidate": ("one", 'TimingSeries'), "baseline": ("one", 'TimingSeries'), "voided_samples": ("map", None), "baseline_program": ("one", 'BaselineProgram'), "warnings": ("many", None), "floor": ("one", 'RooflineFloor'), "baseline_history": ("one", 'BaselineHistory'), "candidate_wall": ("one", 'WallTimes'), "baseline_wall": ("one", 'WallTimes')}


@dataclass(repr=False)
class TimingSeries(Message):
    """Samples of one program under one protocol."""

    # Every kept sample, in the order measured, in nanoseconds of device time for one call.
    samples_ns: List[float] = field(default_factory=list)
    # Median of the samples in nanoseconds.
    median_ns: float = 0.0
    # 95 % bootstrap interval of the median, lower end, nanoseconds.
    median_low_ns: float = 0.0
    # 95 % bootstrap interval of the median, upper end, nanoseconds.
    median_high_ns: float = 0.0


TimingSeries._SPEC = {"samples_ns": ("many", None)}


@dataclass(repr=False)
class Verdict(VerdictMixin, Message):
    """What became of one candidate for one workload."""

    # The submission's id.
    submission_id: str = ""
    # What became of it.
    status: VerdictStatus = VerdictStatus.UNSPECIFIED
    # The stage that decided (the last one that ran, if CORRECT).
    stage: Stage = Stage.UNSPECIFIED
    # The first cause.
    code: VerdictCode = VerdictCode.UNSPECIFIED
    # One line that helps to repair the kernel.
    reason: str = ""
    # What stands behind it.
    details: Optional[VerdictDetails] = None
    # How the outputs compare.
    numerics: Optional[Numerics] = None
    # Which instructions executed.
    evidence: Optional[Evidence] = None
    # How fast.
    timing: Optional[Timing] = None
    # Whether the PTX gives the cubin.
    provenance: Provenance = Provenance.UNSPECIFIED
    # Whether the result may be scored: CORRECT, sanitized, VERIFIED, strict capture, fresh seeds and not excluded. A note says why a CORRECT one may not. In an event it is said as of decided_at and under one condition: that no Excluded event of the same attempt follows. So a PROVISIONAL timing does not make it false, but who scores waits for Event.last, and counts no attempt that was excluded then or later. The agent prints false where it was excluded.
    scorable: bool = False
    # The workload, as "definition/AXIS=value".
    workload: str = ""
    # SHA-256 of the definition, lower-case hex.
    definition_sha256: str = ""
    # SHA-256 of the bundle, lower-case hex; empty where there is no bundle.
    bundle_sha256: str = ""
    # How it was captured.
    capture_profile: CaptureProfile = CaptureProfile.UNSPECIFIED
    # Who had a say.
    versions: Optional[Versions] = None
    # Reproduces the worst case: `mini-ptx-agent replay ID`.
    replay_id: str = ""
    # One report per stage, in order.
    stages: List[StageReport] = field(default_factory=list)
    # An excluded turn counts nowhere. Events keep verdicts as they were reached, with the Excluded event beside them; who puts a turn's last word together from them (the agent) sets this where the turn is not run again.
    excluded: Optional[Exclusion] = None
    # When the verdict was reached.
    decided_at: str = ""
    # Attempts made, this one included.
    attempt: int = 0
    # One report per tool of the sanitizer that was asked, in the order in which they ran.
    sanitizers: List[SanitizerReport] = field(default_factory=list)
    # One report per diagnosis that was asked for.
    diagnoses: List[DiagnosisReport] = field(default_factory=list)
    # The submission that stages marked `cached` ran for; empty where there are none.
    reused_from: str = ""


Verdict._SPEC = {"status": ("one", 'VerdictStatus'), "stage": ("one", 'Stage'), "code": ("one", 'VerdictCode'), "details": ("one", 'VerdictDetails'), "numerics": ("one", 'Numerics'), "evidence": ("one", 'Evidence'), "timing": ("one", 'Timing'), "provenance": ("one", 'Provenance'), "capture_profile": ("one", 'CaptureProfile'), "versions": ("one", 'Versions'), "stages": ("many", 'StageReport'), "excluded": ("one", 'Exclusion'), "sanitizers": ("many", 'SanitizerReport'), "diagnoses": ("many", 'DiagnosisReport')}


@dataclass(repr=False)
class VerdictDetails(Message):
    """What stands behind `reason`, structured."""

    # Compiler messages, errors first; bounded.
    diagnostics: List[Diagnostic] = field(default_factory=list)
    # Sanitizer findings, first cause first; bounded.
    findings: List[Finding] = field(default_factory=list)
    # Where the warps stood when a kernel did not end; bounded.
    warps: List[WarpState] = field(default_factory=list)
    # What the candidate printed on the device; capped, and marked as capped.
    device_output: str = ""
    # Notes of the stages ("sanitize: UNAVAILABLE: compute-sanitizer not found").
    notes: List[str] = field(default_factory=list)
    # Warnings of capture, repeated from the plan.
    warnings: List[str] = field(default_factory=list)


VerdictDetails._SPEC = {"diagnostics": ("many", 'Diagnostic'), "findings": ("many", 'Finding'), "warps": ("many", 'WarpState'), "notes": ("many", None), "warnings": ("many", None)}


@dataclass(repr=False)
class Versions(Message):
    """Versions of everything that had a say."""

    # Rules that decided, for example "2026.1".
    rules: str = ""
    # Sassay itself.
    sassay: str = ""
    # GPU model, or "emulated sm_90a".
    device: str = ""
    # Driver version; empty on an emulated device.
    driver: str = ""
    # Toolkit that compiled the candidate.
    toolkit: str = ""
    # Libraries: "cublas", "cudnn", "compute-sanitizer", …
    libraries: Dict[str, str] = field(default_factory=dict)


Versions._SPEC = {"libraries": ("map", None)}


@dataclass(repr=False)
class WallTimes(Message):
    """What the wall clock says of one side, in the service's process; what device times must agree with (docs/timing_method.md)."""

    # Wall time per sample that its device time does not explain, at least, in nanoseconds; 0 if unknown.
    rest_ns: float = 0.0
    # Wall time per call of the fastest warm-up, back to back, in nanoseconds; 0 if unknown.
    warm_call_ns: float = 0.0
    # Host time to launch one small kernel beside it, at least, in nanoseconds; 0 if unknown.
    enqueue_ns: float = 0.0


WallTimes._SPEC = {}


@dataclass(repr=False)
class WarpState(Message):
    """Where a warp stood when the kernel did not end."""

    # First thread of the warp.
    where: Optional[ThreadLocation] = None
    # Warp index in its block.
    warp: int = 0
    # What it was doing: "running", "waiting at barrier 0", "exited".
    state: str = ""
    # How many warps (of all blocks) stood just so.
    count: int = 0
    # The function that the instruction is in, where that is not the kernel itself; mangled. From a core dump.
    function: str = ""
    # Offset of the instruction in that function (or the kernel), in bytes. From a core dump.
    pc: int = 0
    # The instruction, disassembled. From a core dump.
    sass: str = ""


WarpState._SPEC = {"where": ("one", 'ThreadLocation')}


# As the protos nest them.
setattr(DiagnosisReport, 'Outcome', DiagnosisReportOutcome)
setattr(Evidence, 'Status', EvidenceStatus)
setattr(SanitizerReport, 'Outcome', SanitizerReportOutcome)
setattr(StageReport, 'Outcome', StageReportOutcome)
setattr(Timing, 'Status', TimingStatus)

TYPES: Dict[str, Any] = {kind.__name__: kind for kind in (
    BenchOutcome,
    CaptureProfile,
    Diagnosis,
    DiagnosisReportOutcome,
    EvidenceStatus,
    Provenance,
    SanitizerReportOutcome,
    Stage,
    StageReportOutcome,
    TimingStatus,
    VerdictCode,
    VerdictStatus,
    Advice,
    Artifact,
    BaselineHistory,
    BaselineProgram,
    BatchRecord,
    BatchSummary,
    BenchResult,
    BenchShape,
    CommandFailure,
    DeadLaunch,
    DiagnosisReport,
    Diagnostic,
    Dim3,
    DroppedLaunches,
    Evidence,
    Exclusion,
    Finding,
    HotInstruction,
    LaunchEvidence,
    Metric,
    Numerics,
    OpcodeCount,
    OutputComparison,
    RooflineFloor,
    SanitizerReport,
    StageReport,
    ThreadLocation,
    Timing,
    TimingSeries,
    Verdict,
    VerdictDetails,
    Versions,
    WallTimes,
    WarpState,
)}
