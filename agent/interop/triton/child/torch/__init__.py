"""The part of torch that host code around Triton kernels needs: tensors with shape and place, and empty memory.

Nothing here computes. An operation that would be somebody else's kernel is refused by name.
"""
import functools as _functools

from sassay_record import FORBIDDEN as _FORBIDDEN
from sassay_record import READS_DEVICE as _READS_DEVICE
from sassay_record import UNSUPPORTED as _UNSUPPORTED
from sassay_record import Memory as _Memory
from sassay_record import Refusal as _Refusal
from sassay_record import recorder as _recorder

__version__ = "2.0.0+sassay"


class dtype:

    def __init__(self, name, itemsize, floating=False, signed=True):
        self.name = name
        self.itemsize = itemsize
        self.is_floating_point = floating
        self.is_signed = signed
        self.is_complex = False

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


float64 = double = dtype("float64", 8, True)
float32 = float = dtype("float32", 4, True)
float16 = half = dtype("float16", 2, True)
bfloat16 = dtype("bfloat16", 2, True)
float8_e4m3fn = dtype("float8_e4m3fn", 1, True)
float8_e5m2 = dtype("float8_e5m2", 1, True)
int64 = long = dtype("int64", 8)
int32 = int = dtype("int32", 4)
int16 = short = dtype("int16", 2)
int8 = dtype("int8", 1)
uint8 = dtype("uint8", 1, signed=False)
bool = dtype("bool", 1, signed=False)

_int = type(0)
_bool = type(True)


class Size(tuple):

    def numel(self):
        return _product(self)


class device:

    def __init__(self, type="cuda", index=None):
        name = str(type)
        self.type, _, number = name.partition(":")
        self.index = index if index is not None else (_int(number) if number else 0)
        if self.type != "cuda":
            raise _Refusal(_UNSUPPORTED, f"memory on {name!r}: tensors of a candidate are in GPU memory")

    def __repr__(self):
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return f"{self.type}:{self.index}"

    def __eq__(self, other):
        return str(self) == str(other) or str(other) == self.type

    def __hash__(self):
        return hash(str(self))


_CUDA = device("cuda", 0)


def _product(values):
    return _functools.reduce(lambda a, b: a * b, values, 1)


def _contiguous_strides(shape):
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _shape(args):
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return Size(_int(extent) for extent in args)


class Tensor:
    """Where a tensor lies and how it is laid out; never what is in it."""

    def __init__(self, memory, shape, strides, dtype, offset=0):
        self._memory = memory
        self.shape = Size(shape)
        self._strides = tuple(strides)
        self.dtype = dtype
        self._offset = offset  # in elements
        self.device = _CUDA
        self.is_cuda = True
        self.requires_grad = False
        self.layout = "strided"

    # Place and layout.
    def data_ptr(self):
        return self._memory.address + self._offset * self.dtype.itemsize

    def storage_offset(self):
        return self._offset

    def stride(self, axis=None):
        return self._strides if axis is None else self._strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def dim(self):
        return len(self.shape)

    ndimension = dim

    @property
    def ndim(self):
        return len(self.shape)

    def numel(self):
        return _product(self.shape)

    nelement = numel

    def element_size(self):
        return self.dtype.itemsize

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.numel() * self.dtype.itemsize

    def is_contiguous(self, memory_format=None):
        expected = _contiguous_strides(self.shape)
        return all(extent <= 1 or a == b for extent, a, b in zip(self.shape, self._strides, expected))

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def get_device(self):
        return 0

    # Other views of the same memory.
    def _view(self, shape, strides, offset=None):
        return Tensor(self._memory, shape, strides, self.dtype, self._offset if offset is None else offset)

    def detach(self):
        return self

    def contiguous(self, memory_format=None):
        if self.is_contiguous():
            return self
        raise _Refusal(_FORBIDDEN, "contiguous() of a tensor that is not would copy with torch's own kernel: "
                       "pass the strides to your kernel")

    def cuda(self, *args, **kwargs):
        return self

    def to(self, *args, **kwargs):
        for what in list(args) + list(kwargs.values()):
            if isinstance(what, dtype) and what is not self.dtype:
                raise _Refusal(_FORBIDDEN, f"to({what!r}) would convert with torch's own kernel: convert in yours")
            if isinstance(what, str):
                device(what)
        return self

    def view(self, *shape):
        if len(shape) == 1 and isinstance(shape[0], dtype):
            if shape[0].itemsize != self.dtype.itemsize:
                raise _Refusal(_UNSUPPORTED, "view() as a type of another size")
            return Tensor(self._memory, self.shape, self._strides, shape[0], self._offset)
        shape = list(_shape(shape))
        if -1 in shape:
            known = _product(extent for extent in shape if extent != -1)
            shape[shape.index(-1)] = self.numel() // max(known, 1)
        if _product(shape) != self.numel():
            raise RuntimeError(f"shape {tuple(shape)} is invalid for input of size {self.numel()}")
        if not self.is_contiguous():
            raise _Refusal(_UNSUPPORTED, "view() or reshape() of a tensor that is not contiguous")
        return self._view(shape, _contiguous_strides(shape))

    reshape = view

    def flatten(self, start_dim=0, end_dim=-1):
        end_dim %= max(self.dim(), 1)
        middle = _product(self.shape[start_dim:end_dim + 1])
        return self.view(*self.shape[:start_dim], middle, *self.shape[end_dim + 1:])

    def permute(self, *axes):
        axes = _shape(axes)
        return self._view([self.shape[a] for a in axes], [self._strides[a] for a in axes])

    def transpose(self, a, b):
        axes = list(range(self.dim()))
        axes[a], axes[b] = axes[b], axes[a]
        return self.permute(*axes)

    def t(self):
        return self.transpose(0, 1) if self.dim() == 2 else self

    @property
    def T(self):
        return self.permute(*reversed(range(self.dim())))

    @property
    def mT(self):
        return self.transpose(-1, -2)

    def unsqueeze(self, axis):
        axis %= self.dim() + 1
        shape, strides = list(self.shape), list(self._strides)
        strides.insert(axis, strides[axis] * shape[axis] if axis < self.dim() else 1)
        shape.insert(axis, 1)
        return self._view(shape, strides)

    def squeeze(self, axis=None):
        axes = range(self.dim()) if axis is None else [axis % self.dim()]
        kept = [i for i in range(self.dim()) if i not in axes or self.shape[i] != 1]
        return self.permute(*kept)

    def expand(self, *shape):
        shape = list(_shape(shape))
        extra = len(shape) - self.dim()
        strides = [0] * extra + list(self._strides)
        for i in range(extra, len(shape)):
            own = self.shape[i - extra]
            shape[i] = own if shape[i] == -1 else shape[i]
            if own != shape[i]:
                strides[i] = 0
        return self._view(shape, strides)

    def select(self, axis, index):
        key = [slice(None)] * self.dim()
        key[axis] = index
        return self[tuple(key)]

    def narrow(self, axis, start, length):
        key = [slice(None)] * self.dim()
        key[axis] = slice(start, start + length)
        return self[tuple(key)]

    def __getitem__(self, key):
        key = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in key:
            at = key.index(Ellipsis)
            key[at:at + 1] = [slice(None)] * (self.dim() - sum(k is not None for k in key) + 1)
        shape, strides, offset, axis = [], [], self._offset, 0
        for k in key:
            if k is None:
                shape.append(1)
                strides.append(1)
                continue
            if isinstance(k, slice):
                start, stop, step = k.indices(self.shape[axis])
                offset += start * self._strides[axis]
                shape.append(max(0, -(-(stop - start) // step)))
                strides.append(self._strides[axis] * step)
            elif isinstance(k, _int) and not isinstance(k, _bool):
                if not -self.shape[axis] <= k < self.shape[axis]:
                    raise IndexError(f"index {k} is out of bounds for axis {axis} with size {self.shape[axis]}")
                offset += (k % self.shape[axis]) * self._strides[axis]
            else:
                raise _Refusal(_FORBIDDEN, "indexing with a tensor or a list would gather with torch's own kernel")
            axis += 1
        return self._view(shape + list(self.shape[axis:]), strides + list(self._strides[axis:]), offset)

    def unbind(self, axis=0):
        return tuple(self.select(axis, i) for i in range(self.shape[axis]))

    # Fills, which become memsets of the launch plan.
    def zero_(self):
        if not self.is_contiguous():
            raise _Refusal(_UNSUPPORTED, "zero_() of a tensor that is not contiguous")
        _recorder().add({"memset": {"buffer": self._memory.reference(),
                                    "offset": self._offset * self.dtype.itemsize, "bytes": self.nbytes, "value": 0}})
        return self

    def fill_(self, value):
        if value == 0:
            return self.zero_()
        raise _Refusal(_FORBIDDEN, "fill_() with another value than 0 would run torch's own kernel")

    # New memory of the same kind.
    def new_empty(self, *shape, dtype=None, device=None):
        return empty(*shape, dtype=dtype or self.dtype)

    def new_zeros(self, *shape, dtype=None, device=None):
        return zeros(*shape, dtype=dtype or self.dtype)

    # What needs the contents.
    def _reads(self, name):
        raise _Refusal(_READS_DEVICE, f"{name} reads the tensor's contents on the host: "
                       "what is launched must not depend on data")

    def item(self):
        self._reads("item()")

    def tolist(self):
        self._reads("tolist()")

    def cpu(self):
        self._reads("cpu()")

    def numpy(self, **kwargs):
        self._reads("numpy()")

    def __bool__(self):
        self._reads("a condition on a tensor")

    def __int__(self):
        self._reads("int()")

    __index__ = __int__

    def __float__(self):
        self._reads("float()")

    def __iter__(self):
        return iter(self.unbind(0))

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"tensor(shape={tuple(self.shape)}, dtype={self.dtype!r})"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _Refusal(_FORBIDDEN, f"Tensor.{name} is not available: torch's operations run kernels that are not the "
                       "candidate's own; do the work in your @triton.jit kernel")


def _refuse_operator(symbol):

    def refuse(self, *args):
        raise _Refusal(_FORBIDDEN, f"the operator {symbol} on a tensor would run torch's own kernel: "
                       "do the work in your @triton.jit kernel")

    return refuse


for _name, _symbol in {
        "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
        "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"
}.items():
    for _form in ("__{}__", "__r{}__", "__i{}__"):
        setattr(Tensor, _form.format(_name), _refuse_operator(_symbol))
for _name, _symbol in {"neg": "-", "invert": "~", "abs": "abs", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
                       "setitem": "[]="}.items():
    setattr(Tensor, f"__{_name}__", _refuse_operator(_symbol))


def _allocate(shape, dtype, strides=None):
    dtype = dtype or float32
    strides = _contiguous_strides(shape) if strides is None else tuple(strides)
    elements = 0 if 0 in shape else 1 + sum((e - 1) * s for e, s in zip(shape, strides))
    size = max(elements * dtype.itemsize, 1)
    number = _recorder().allocate(size)
    return Tensor(_Memory("a", number, size, _recorder().call), shape, strides, dtype)


def _on_gpu(where):
    if where is not None:
        device(where)


def empty(*shape, dtype=None, device=None, **kwargs):
    _on_gpu(device)
    return _allocate(_shape(shape), dtype)


def empty_strided(size, stride, dtype=None, device=None, **kwargs):
    _on_gpu(device)
    return _allocate(_shape((size,)), dtype, stride)


def empty_like(tensor, dtype=None, device=None, **kwargs):
    return _allocate(tensor.shape, dtype or tensor.dtype)


def zeros(*shape, dtype=None, device=None, **kwargs):
    return empty(*shape, dtype=dtype, device=device).zero_()


def zeros_like(tensor, dtype=None, device=None, **kwargs):
    return empty_like(tensor, dtype=dtype).zero_()


def full(size, fill_value, dtype=None, device=None, **kwargs):
    return empty(size, dtype=dtype, device=device).fill_(fill_value)


def is_tensor(value):
    return isinstance(value, Tensor)


def numel(tensor):
    return tensor.numel()


class no_grad:
    """Also inference_mode: a context and a decorator that change nothing."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def __call__(self, function):
        return function


inference_mode = enable_grad = no_grad


def device_count():
    return 1


from . import cuda  # noqa: E402
from . import version  # noqa: E402


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise _Refusal(_FORBIDDEN, f"torch.{name} is not available: torch's operations run kernels that are not the "
                   "candidate's own; do the work in your @triton.jit kernel")
