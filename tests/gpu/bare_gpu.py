"""The first GPU through the driver alone, for probes that need no library of ours: one module, its kernels, and buffers."""
import ctypes
import sys


class Gpu:
    def __init__(self, cubin, sizes):
        """Loads `cubin` and makes a buffer of each of `sizes` bytes."""
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        with open(cubin, "rb") as file:
            self.call("cuModuleLoadData", ctypes.byref(self.module), file.read())
        self.buffers = [ctypes.c_uint64() for _ in sizes]
        for buffer, size in zip(self.buffers, sizes):
            self.call("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(size))

    def call(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        if result != 0:
            sys.exit(f"{name} returned {result}")

    def write(self, buffer, data):
        self.call("cuMemcpyHtoD_v2", self.buffers[buffer], data, ctypes.c_size_t(len(data)))

    def read(self, buffer, output):
        self.call("cuMemcpyDtoH_v2", output, self.buffers[buffer], ctypes.c_size_t(ctypes.sizeof(output)))

    def launch(self, kernel, threads, arguments):
        """One block; `arguments` are addresses of the parameters' values."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, kernel.encode())
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, (ctypes.c_void_p * len(arguments))(*arguments), None)
        self.call("cuCtxSynchronize")


def address(value):
    return ctypes.cast(ctypes.byref(value), ctypes.c_void_p)
