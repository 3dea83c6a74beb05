#!/usr/bin/env python3
"""What TMA brings by tensor maps of interleaved layouts: which 16 bytes of global memory lie where in shared memory.

  tma_interleave.py ptx > interleave.ptx; ptxas -arch=sm_90a -o interleave.cubin interleave.ptx     where ptxas is
  tma_interleave.py run interleave.cubin                         on the GPU host; needs Python, bare_gpu.py and the driver alone

A line for each map: what it says, and the pieces of the box in the order of shared memory, counted from the tensor's base ("." untouched, "z" zeros).
profiler_service/emulator/descriptor/tensor_geometry_test.cc holds the emulator to what an H200 printed.
"""
import ctypes
import sys

from bare_gpu import Gpu, address

SHARED = 16384
SIZES = {0: 1, 1: 2, 7: 4}  # bytes by CUtensorMapDataType


def kernel(rank):
    coordinates = ", ".join(["%x", "%y", "%z", "%w", "%v"][:rank])
    return f"""
.visible .entry load{rank}(.param .align 64 .b8 map[128], .param .s32 px, .param .s32 py, .param .s32 pz, .param .s32 pw, .param .s32 pv, .param .u64 out)
{{ .reg .b32 %x, %y, %z, %w, %v, %s, %b, %i, %t, %f; .reg .b64 %o, %m; .reg .pred %p;
.shared .align 1024 .b8 s[{SHARED}]; .shared .align 8 .b64 bar;
ld.param.s32 %x, [px]; ld.param.s32 %y, [py]; ld.param.s32 %z, [pz]; ld.param.s32 %w, [pw]; ld.param.s32 %v, [pv]; ld.param.u64 %o, [out];
mov.u32 %s, s; mov.u32 %b, bar; mov.b64 %m, map; cvta.param.u64 %m, %m; mov.u32 %i, 0;
fill: add.u32 %t, %s, %i; st.shared.b32 [%t], 0xffffffff; add.u32 %i, %i, 4; setp.lt.u32 %p, %i, {SHARED}; @%p bra fill;
mbarrier.init.shared.b64 [%b], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {{{coordinates}}}], [%b];
mov.u32 %i, 0;
wait: nanosleep.u32 1000; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 200; @%p bra wait;
mov.u32 %i, 0;
dump: add.u32 %t, %s, %i; ld.shared.b32 %f, [%t]; st.global.b32 [%o], %f; add.u64 %o, %o, 4; add.u32 %i, %i, 4; setp.lt.u32 %p, %i, {SHARED}; @%p bra dump;
ret; }}
"""


def maps():
    """(data type, interleave, extents, strides, box, coordinates, element strides)"""
    for data_type, size in SIZES.items():
        for interleave in (1, 2):
            slice_bytes, channels = 16 * interleave, 16 * interleave // size
            row = 32 * slice_bytes
            for extent, box, at in ((64, 1, 1), (64, channels, 1), (64, 2 * channels, 1), (64, 2 * channels, -1), (64, 2 * channels, 63), (20, 4 * channels, 1),
                                    (8, 1, 7), (8, 1, 8)):
                yield data_type, interleave, (32, extent, 6), (row, 8 * row), (16, box, 2), (1, at, 1), (1, 1, 1)
            yield data_type, interleave, (30, 64, 6), (row, 8 * row), (16, channels, 2), (20, 1, 1), (1, 1, 1)
            yield data_type, interleave, (30, 64, 6), (row, 8 * row), (16, channels, 2), (-3, 1, 1), (1, 1, 1)
            yield data_type, interleave, (32, 64, 6), (row, 8 * row), (16, channels, 2), (1, 1, 1), (2, 1, 1)
            yield data_type, interleave, (32, 64, 6), (row, 8 * row), (4, channels, 2), (1, 1, 1), (1, 1, 1)
            yield data_type, interleave, (32, 4, 64, 3), (row, 4 * row, 32 * row), (16, 3, 2 * channels, 2), (1, 2, 1, 1), (1, 1, 1, 1)
            yield data_type, interleave, (32, 4, 2, 64, 3), (row, 4 * row, 8 * row, 64 * row), (16, 2, 2, 2 * channels, 2), (1, 1, 0, 1, 0), (1, 1, 1, 1, 1)


def describe(words):
    if all(word == 0xffffffff for word in words):
        return "."
    return "z" if not any(words) else str(words[0] // 4)


def main():
    if sys.argv[1:] == ["ptx"]:
        print(".version 8.8\n.target sm_90a\n.address_size 64", *[kernel(rank) for rank in (3, 4, 5)])
        return
    if len(sys.argv) != 3 or sys.argv[1] != "run":
        sys.exit(__doc__)
    gpu = Gpu(sys.argv[2], [1 << 20, SHARED])
    gpu.write(0, (ctypes.c_uint32 * (1 << 18))(*range(1 << 18)))
    memory = ctypes.create_string_buffer(256)
    base = ctypes.c_void_p((ctypes.addressof(memory) + 63) // 64 * 64)
    for data_type, interleave, extents, strides, box, at, steps in maps():
        text = f"type {data_type} interleave {interleave} extents {extents} strides {strides} box {box} steps {steps} at {at}:"
        result = gpu.cuda.cuTensorMapEncodeTiled(base, data_type, len(extents), gpu.buffers[0], (ctypes.c_uint64 * 5)(*extents), (ctypes.c_uint64 * 5)(*strides),
                                                 (ctypes.c_uint32 * 5)(*box), (ctypes.c_uint32 * 5)(*steps), interleave, interleave - 1, 0, 0)
        if result != 0:
            print(text, "refused by the driver")
            continue
        coordinates = [ctypes.c_int32(x) for x in (at + (0, 0))[:5]]
        gpu.launch(f"load{len(extents)}", 1, [base, *[address(x) for x in coordinates], address(gpu.buffers[1])])
        output = (ctypes.c_uint32 * (SHARED // 4))()
        gpu.read(1, output)
        pieces = [describe(output[4 * i:4 * i + 4]) for i in range(SHARED // 16)]
        while pieces and pieces[-1] == ".":
            pieces.pop()
        print(text, *pieces)


if __name__ == "__main__":
    main()
