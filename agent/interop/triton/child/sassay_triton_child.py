"""Compiles a Triton candidate without a GPU and writes down what its run() launches.

usage: sassay_triton_child.py TASK.json RESULT.json

Runs in a sandbox with hostile source: the result is data that the caller checks, whatever it says.
"""
import json
import re
import sys
import traceback

import sassay_record
from sassay_record import CANDIDATE as KERNEL
from sassay_record import FORBIDDEN, UNSUPPORTED, Memory, Recorder, Refusal, candidate_line

CALLS = 3


class SilentDriver:
    """What Triton asks of a GPU's driver before it compiles."""

    def __init__(self, arch):
        from triton.backends.compiler import GPUTarget
        self.target = GPUTarget("cuda", arch, 32)
        self.utils = self

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=0):
        return divmod(self.target.arch, 10)

    def get_device_properties(self, device=0):
        rec = sassay_record.recorder()
        return {
            "max_shared_mem": rec.assume("cudaDevAttrMaxSharedMemoryPerBlockOptin"),
            "multiprocessor_count": rec.assume("cudaDevAttrMultiProcessorCount"),
            "max_num_regs": rec.assume("cudaDevAttrMaxRegistersPerBlock"),
            "warpSize": 32,
        }

    def get_active_torch_device(self):
        import torch
        return torch.device("cuda", 0)

    def get_benchmarker(self):
        raise Refusal(UNSUPPORTED, "timing kernels on the host needs a GPU: choose the configuration yourself")

    def get_empty_cache_for_benchmark(self):
        return self.get_benchmarker()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refusal(UNSUPPORTED, f"driver.active.{name} needs a GPU")


class Argument:
    """A kernel's arguments as bytes and places, in the order of its parameters."""

    def __init__(self, name):
        self.name = name
        self.out = []

    def pointer(self, value):
        if value is None:
            self.out.append(["i", "i64", 0])
        elif hasattr(value, "_memory"):
            self.out.append(["p", value._memory.reference(), value._offset * value.dtype.itemsize])
        elif hasattr(value, "base") and hasattr(value.base, "_memory"):  # TensorWrapper of triton.reinterpret
            self.pointer(value.base)
        else:
            raise Refusal(UNSUPPORTED, f"argument {self.name} is {type(value).__name__}, a tensor was expected")

    def descriptor(self, value, meta):
        base, shape, strides = value.base, [int(x) for x in value.shape], [int(x) for x in value.strides]
        if meta is None:
            self.pointer(base)
            flags = [value.padding == "nan", value.round_f32_to_tf32]
            self.out += [["i", "i64", x] for x in shape + strides]
            self.out += [["i", "u1", int(x)] for x in flags]
        else:
            self.tensor_map(value, meta, base, shape, strides)
        self.out += [["i", "i32", x] for x in shape]
        self.out += [["i", "i64", x] for x in strides]

    def tensor_map(self, value, meta, base, shape, strides):
        if meta.get("is_im2col"):
            raise Refusal(UNSUPPORTED, "an im2col tensor descriptor")
        extents = list(shape)
        if meta["fp4_padded"]:
            extents[-1] *= 2
        from triton.backends.nvidia.driver import TMA_DTYPE_DEVICE_TO_HOST
        data_type = 11 if value.round_f32_to_tf32 else TMA_DTYPE_DEVICE_TO_HOST[meta["elem_type"]]
        size = meta["elem_size"]
        self.out.append(["m", {
            "base": base._memory.reference(),
            "offset": base._offset * base.dtype.itemsize,
            "data_type": data_type,
            "dims": list(reversed(extents)),
            "strides": [s * size for s in reversed(strides[:-1])],
            "box": list(reversed([int(x) for x in meta["block_size"]])),
            "swizzle": meta["swizzle"],
            "nan_fill": value.padding == "nan",
        }])

    def add(self, type_name, value, metas):
        if isinstance(type_name, tuple):
            for inner_type, inner in zip(type_name, value):
                self.add(inner_type, inner, metas)
        elif type_name == "constexpr":
            return
        elif type_name.startswith("tensordesc"):
            self.descriptor(value, next(metas, None))
        elif type_name.startswith("*"):
            self.pointer(value)
        elif type_name.startswith("fp") or type_name.startswith("bf"):
            self.out.append(["f", type_name, float(value)])
        else:
            self.out.append(["i", type_name, int(value)])


def describe(kernel):
    """What a launch needs to know of a compiled kernel."""
    meta = kernel.metadata
    if meta.num_ctas > 1:
        raise Refusal(UNSUPPORTED, "num_ctas > 1: clusters of Triton programs are not supported here")
    ptx = kernel.asm["ptx"]
    # Warp specialisation adds warps to those that were asked for; the PTX has them all.
    threads = re.search(r"\.reqntid\s+(\d+)", ptx)
    return {
        "name": meta.name,
        "ptx": ptx,
        "threads": int(threads.group(1)) if threads else meta.num_warps * meta.warp_size,
        "shared": meta.shared,
        "cooperative": bool(meta.launch_cooperative_grid),
        "pdl": bool(meta.launch_pdl),
    }


def install(rec):
    """Puts the recorder where Triton would launch."""
    import triton
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    triton.runtime.driver.set_active(SilentDriver(rec.task["arch_number"]))
    # ptxas runs outside, by the one rule that the service repeats.
    CUDABackend.make_cubin = lambda self, src, metadata, opt, capability: b""
    compile_only = JITFunction.run

    def run(self, *args, grid, warmup, **kwargs):
        kernel = compile_only(self, *args, grid=grid, warmup=True, **kwargs)
        if warmup:
            return kernel
        binder = self.device_caches[0][4]
        bound, _, _ = binder(*args, **kwargs)
        grid = grid(bound) if callable(grid) else grid
        grid = [int(extent) for extent in (grid if hasattr(grid, "__len__") else (grid,))]
        if 0 not in grid:
            rec.add({"launch": launch(rec, self, kernel, bound, grid)})
        return kernel

    JITFunction.run = run

    def choose(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        configs = self.prune_configs(kwargs)
        config = configs[min(rec.task["autotune_config"], len(configs) - 1)]
        if len(configs) > 1:
            rec.warn(f"triton.autotune of {self.base_fn.__name__}: configuration {configs.index(config)} of "
                     f"{len(configs)} was taken, none was timed ({config})")
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        try:
            return self.fn.run(*args, **kwargs, **config.all_kwargs())
        finally:
            self.nargs = None

    Autotuner.run = choose


def launch(rec, function, kernel, bound, grid):
    key = kernel.hash
    if key not in rec.kernel_ids:
        rec.kernel_ids[key] = len(rec.kernels)
        rec.kernels.append(describe(kernel))
    arguments = Argument("")
    metas = iter(getattr(kernel.metadata, "tensordesc_meta", None) or [])
    for (name, value), type_name in zip(bound.items(), kernel.src.signature.values()):
        arguments.name = name
        arguments.add(type_name, value, metas)
    blocks = 1
    for extent in grid:
        blocks *= extent
    for size in (kernel.metadata.global_scratch_size * blocks, kernel.metadata.profile_scratch_size * blocks):
        arguments.out.append(["p", f"a{rec.allocate(size)}", 0] if size > 0 else ["i", "i64", 0])
    return {"kernel": rec.kernel_ids[key], "grid": (grid + [1, 1, 1])[:3], "args": arguments.out}


def make_tensors(rec, call):
    import torch
    tensors = []
    number = 0
    for spec in rec.task["tensors"]:
        if spec["scalar"]:
            tensors.append(spec["value"])
            continue
        dtype = getattr(torch, spec["dtype"])
        memory = Memory("t", number, spec["bytes"], call)
        tensors.append(torch.Tensor(memory, spec["shape"], torch._contiguous_strides(spec["shape"]), dtype))
        number += 1
    return tensors


def check_entry(rec, module):
    import inspect

    run = module.get("run")
    expected = ", ".join(spec["name"] for spec in rec.task["tensors"])
    if not callable(run):
        raise Refusal("ENTRY_MISSING", f"kernel.py defines no run(). Expected: def run({expected})")
    parameters = [p for p in inspect.signature(run).parameters.values()]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    count = len(rec.task["tensors"])
    takes_more = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    if len(needed) > count or (len(positional) < count and not takes_more):
        raise Refusal("ENTRY_SIGNATURE", f"run() takes {len(positional)} parameters, expected {count}: "
                      f"def run({expected}), outputs written in place")
    return run


def execute(rec):
    with open(KERNEL, encoding="utf-8") as file:
        source = file.read()
    code = compile(source, KERNEL, "exec")
    install(rec)
    import linecache
    import types
    module = types.ModuleType("kernel")
    module.__file__ = KERNEL
    sys.modules["kernel"] = module
    linecache.checkcache(KERNEL)
    exec(code, module.__dict__)
    run = check_entry(rec, module.__dict__)
    for call in range(1, CALLS + 1):
        rec.begin_call()
        run(*make_tensors(rec, call))
        rec.end_call()


def line_of(error):
    """The innermost line of the candidate in an exception's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == KERNEL]
    return lines[-1] if lines else 0


def compilation_error(error):
    """Triton's own errors carry the node of the source that they are about, and may wrap each other."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError
    while isinstance(error, CompilationError) and isinstance(error.__cause__, CompilationError):
        error = error.__cause__
    if isinstance(error, CompilationError):
        message = error.error_message or (str(error.__cause__) if error.__cause__ else "the kernel does not compile")
        line = getattr(error.node, "lineno", 0) if getattr(error, "node", None) is not None else 0
        first = first_line(error)
        return {"stage": "compile", "code": "NVCC_ERROR", "message": str(message), "line": first + line if line else 0,
                "column": getattr(error.node, "col_offset", -1) + 1}
    if isinstance(error, (OutOfResources, PTXASError)):
        return {"stage": "compile", "code": "NVCC_ERROR", "message": str(error), "line": 0}
    return None


def first_line(error):
    """Lines of nodes count from the function's first line; CompilationError.src is that function's text."""
    source = getattr(error, "src", None)
    if not source:
        return 0
    with open(KERNEL, encoding="utf-8") as file:
        whole = file.read()
    at = whole.find(source)
    return whole.count("\n", 0, at) if at >= 0 else 0


def text_of(value):
    """What the candidate's own object says of itself, if it says anything: its __str__ is code of the candidate."""
    try:
        return str(value)
    except BaseException:
        return "(its text cannot be had)"


def describe_failure(error):
    if isinstance(error, Refusal):
        return {"stage": "capture", "code": error.code, "message": error.message, "line": error.line}
    if isinstance(error, SyntaxError):
        return {"stage": "compile", "code": "NVCC_ERROR", "message": f"{type(error).__name__}: {text_of(error.msg)}",
                "line": error.lineno or 0, "column": error.offset or 0}
    if isinstance(error, ModuleNotFoundError):
        return {"stage": "capture", "code": FORBIDDEN, "line": line_of(error),
                "message": f"module {text_of(error.name)} is not available: candidates use triton, torch's tensors and Python's "
                "standard library"}
    if isinstance(error, SystemExit):
        return {"stage": "capture", "code": "HOST_EXIT", "line": line_of(error),
                "message": f"host code called exit({text_of(error.code)}): run() must return"}
    compiled = compilation_error(error)
    if compiled is not None:
        return compiled
    return {"stage": "capture", "code": "HOST_CRASH", "line": line_of(error),
            "message": f"run() raised {type(error).__name__}: {text_of(error)}"}


def main():
    task_path, result_path = sys.argv[1:3]
    with open(task_path, encoding="utf-8") as file:
        task = json.load(file)
    rec = Recorder(task)
    sassay_record.RECORDER = rec
    failure = None
    try:
        execute(rec)
    except BaseException as error:  # the candidate may raise anything
        failure = describe_failure(error)
    import triton
    result = {"triton": triton.__version__, "kernels": rec.kernels, "calls": rec.calls,
              "assumptions": rec.assumptions, "warnings": rec.warnings}
    if failure is not None:
        result["failure"] = failure
    # A string of Python may hold half of a surrogate pair, which is no text anywhere else.
    with open(result_path, "w", encoding="utf-8", errors="replace") as file:
        json.dump(result, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
