"""Questions about the GPU, answered from the device table and written down as assumptions of the plan."""
from sassay_record import FORBIDDEN, Refusal, recorder


class _Properties:
    """As torch.cuda.get_device_properties gives them; only what is asked for is an assumption."""

    _ATTRIBUTES = {
        "multi_processor_count": "cudaDevAttrMultiProcessorCount",
        "shared_memory_per_block_optin": "cudaDevAttrMaxSharedMemoryPerBlockOptin",
        "shared_memory_per_block": "cudaDevAttrMaxSharedMemoryPerBlock",
        "shared_memory_per_multiprocessor": "cudaDevAttrMaxSharedMemoryPerMultiprocessor",
        "regs_per_multiprocessor": "cudaDevAttrMaxRegistersPerMultiprocessor",
        "max_threads_per_multi_processor": "cudaDevAttrMaxThreadsPerMultiProcessor",
        "warp_size": "cudaDevAttrWarpSize",
        "L2_cache_size": "cudaDevAttrL2CacheSize",
        "major": "cudaDevAttrComputeCapabilityMajor",
        "minor": "cudaDevAttrComputeCapabilityMinor",
    }

    def __getattr__(self, name):
        if name == "name":
            return recorder().task["device"]["name"]
        if name == "total_memory":
            return recorder().task["device"]["memory_bytes"]
        if name in self._ATTRIBUTES:
            return recorder().assume(self._ATTRIBUTES[name])
        raise AttributeError(name)


class Stream:
    """The one stream that there is."""
    cuda_stream = 0

    def synchronize(self):
        pass

    def wait_stream(self, other):
        pass


class device:
    """A context that changes nothing: there is one GPU."""

    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


def is_available():
    return True


def device_count():
    return 1


def current_device():
    return 0


def set_device(index):
    pass


def current_stream(device=None):
    return Stream()


def synchronize(device=None):
    pass


def get_device_properties(device=0):
    return _Properties()


def get_device_name(device=0):
    return _Properties().name


def get_device_capability(device=0):
    return (_Properties().major, _Properties().minor)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise Refusal(FORBIDDEN, f"torch.cuda.{name} is not available to candidates")
