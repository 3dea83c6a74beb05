"""What host code of a Triton candidate asks for, written down instead of done."""
import os
import sys

# Where the candidate lies. Its line tables and traceback lines carry this path.
CANDIDATE = os.environ.get("SASSAY_CANDIDATE", "/candidate") + "/kernel.py"

# The verdict codes that a refusal may name.
READS_DEVICE = "HOST_READS_DEVICE"
FORBIDDEN = "FORBIDDEN_LIBRARY"
UNSUPPORTED = "UNSUPPORTED_API"


class Refusal(BaseException):
    """Ends the candidate; no `except Exception` of its own catches it."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = candidate_line()


def candidate_line():
    """The innermost line of the candidate that is being executed; 0 if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == CANDIDATE:
            return frame.f_lineno
        frame = frame.f_back
    return 0


class Recorder:
    """The steps of each call, and the memory that they speak of."""

    def __init__(self, task):
        self.task = task
        self.calls = []
        self.kernels = []
        self.kernel_ids = {}
        self.assumptions = {}
        self.warnings = []
        self.allocations = 0
        self.inside = False

    def begin_call(self):
        self.calls.append([])
        self.allocations = 0
        self.inside = True

    def end_call(self):
        self.inside = False

    @property
    def call(self):
        return len(self.calls)

    def add(self, step):
        if not self.inside:
            raise Refusal(UNSUPPORTED, "work outside of run(): allocate and launch in run() only")
        step["line"] = candidate_line()
        self.calls[-1].append(step)

    def allocate(self, size_bytes):
        number = self.allocations
        self.add({"alloc": {"id": number, "bytes": size_bytes}})
        self.allocations += 1
        return number

    def assume(self, name):
        value = self.task["device"]["attributes"].get(name)
        if value is None:
            raise Refusal(UNSUPPORTED, f"the device table has no {name}")
        self.assumptions[name] = value
        return value

    def warn(self, text):
        if text not in self.warnings:
            self.warnings.append(text)


RECORDER = None


def recorder():
    return RECORDER


class Memory:
    """One piece of fake device memory: a tensor of the workload ("t") or an allocation of a call ("a")."""

    def __init__(self, kind, number, size_bytes, call):
        self.kind = kind
        self.number = number
        self.size_bytes = size_bytes
        self.call = call
        # Distinct in every call, as real pointers would be; aligned as cudaMalloc's.
        self.address = 0x7F0000000000 + (call * 4096 + (2048 if kind == "a" else 0) + number) * 0x40000000

    def reference(self):
        rec = recorder()
        if self.call != rec.call:
            what = "tensor" if self.kind == "t" else "allocation"
            raise Refusal("PTR_CACHED", f"call {rec.call} uses an {what} of call {self.call}: "
                          "use the tensors of this call, and allocate workspace in every call")
        return f"{self.kind}{self.number}"
