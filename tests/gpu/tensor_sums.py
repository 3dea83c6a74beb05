#!/usr/bin/env python3
"""What tensor cores make of sums of products: drawn operands, and results to the bit.

  tensor_sums.py ptx > sums.ptx; ptxas -arch=sm_90a -o sums.cubin sums.ptx     where ptxas is
  tensor_sums.py run sums.cubin > h200_sums.txt                                on the GPU host; needs Python and the driver alone (and bare_gpu.py)

Each line: INSTRUCTION FACTORS COUNT ACCUMULATOR A B RESULT, bits in hexadecimal, factors in the order of k. w_: wgmma, m_: mma.sync; an h behind
w or m: accumulators of f16. profiler_service/emulator/ops/tensor/h200_sums.txt is what an H200 printed; sum_test holds the emulator to it.
"""
import ctypes
import random
import struct
import sys

from bare_gpu import Gpu, address

# bits, exponent bits, mantissa bits, bias
TYPES = {"bf16": (16, 8, 7, 127), "f16": (16, 5, 10, 15), "tf32": (32, 8, 10, 127), "e4m3": (8, 4, 3, 7), "e5m2": (8, 5, 2, 15)}
# name, engine (w: wgmma, m: mma.sync; h: f16 accumulators), type, k
FORMS = [("w_bf16", "w", "bf16", 16), ("w_f16", "w", "f16", 16), ("w_tf32", "w", "tf32", 8), ("w_e4m3", "w", "e4m3", 32), ("w_e5m2", "w", "e5m2", 32),
         ("m_bf16_16", "m", "bf16", 16), ("m_bf16_8", "m", "bf16", 8), ("m_f16_16", "m", "f16", 16), ("m_f16_8", "m", "f16", 8),
         ("m_tf32_8", "m", "tf32", 8), ("m_tf32_4", "m", "tf32", 4), ("m_e4m3_32", "m", "e4m3", 32), ("m_e5m2_32", "m", "e5m2", 32),
         ("wh_f16", "wh", "f16", 16), ("wh_e4m3", "wh", "e4m3", 32), ("wh_e5m2", "wh", "e5m2", 32), ("mh_f16_16", "mh", "f16", 16),
         ("mh_f16_8", "mh", "f16", 8), ("mh_e4m3_32", "mh", "e4m3", 32)]
# Exponents of factors, and of the accumulator (None: zero; "cancel": nearly minus the sum). The same for accumulators of f16.
DRAWS = [((-2, 2), (-2, 4)), ((-6, 6), (-14, 14)), ((-2, 2), None), ((-6, 6), None), ((-3, 3), "cancel"), ((-1, 1), (8, 30)), ((-4, 4), (-30, -8)),
         ((0, 0), None)]
DRAWS_F16 = [((-2, 2), (-2, 4)), ((-3, 3), (-8, 8)), ((-2, 2), (0, 0)), ((-5, 1), (-12, -2)), ((0, 3), (3, 12)), ((-4, 0), (2, 6)), ((-7, -3), (-10, -4)),
             ((-9, 2), (-14, 3))]
ANY_BITS, LEAST, WITH_ZEROS, GREATEST = 8, 9, 10, 11  # draws of their own


def factor(r, name, low, high):
    bits, exponent_bits, mantissa_bits, bias = TYPES[name]
    e = max(1, min((1 << exponent_bits) - 2, r.randint(low, high) + bias))
    m, s = r.getrandbits(mantissa_bits), r.getrandbits(1)
    v = s << (exponent_bits + mantissa_bits) | e << mantissa_bits | m
    return v << 13 if name == "tf32" else v


def value(name, v):
    _, exponent_bits, mantissa_bits, bias = TYPES[name]
    v = v >> 13 if name == "tf32" else v
    s, e, m = v >> (exponent_bits + mantissa_bits), v >> mantissa_bits & ((1 << exponent_bits) - 1), v & ((1 << mantissa_bits) - 1)
    x = (m if e == 0 else m + (1 << mantissa_bits)) * 2.0 ** (max(e, 1) - bias - mantissa_bits)
    return -x if s else x


def special_factor(r, name, draw):
    bits, exponent_bits, mantissa_bits, bias = TYPES[name]
    n = 19 if name == "tf32" else bits
    if draw == ANY_BITS:
        v = r.getrandbits(n)
    elif draw == LEAST:
        v = r.getrandbits(1) << (n - 1) | r.randint(0, 3) << mantissa_bits | r.getrandbits(mantissa_bits)
    elif draw == WITH_ZEROS:
        v = 0 if r.random() < .5 else r.getrandbits(1) << (n - 1) | (bias + r.randint(-2, 2)) << mantissa_bits | r.getrandbits(mantissa_bits)
    else:
        v = r.getrandbits(1) << (n - 1) | ((1 << exponent_bits) - 2 - r.randint(0, 3)) << mantissa_bits | r.getrandbits(mantissa_bits)
    return v << 13 if name == "tf32" else v


def f32(r, low, high):
    return r.getrandbits(1) << 31 | (r.randint(low, high) + 127) << 23 | r.getrandbits(23)


def f16(r, low, high):
    return r.getrandbits(1) << 15 | (15 + r.randint(low, high)) << 10 | r.getrandbits(10)


def special_accumulator(r, draw, half):
    if draw == ANY_BITS:
        return r.getrandbits(16 if half else 32)
    if draw == LEAST:
        return r.getrandbits(1) << 15 | r.randint(0, 3) << 10 | r.getrandbits(10) if half else r.getrandbits(1) << 31 | r.randint(0, 4) << 23 | r.getrandbits(23)
    if draw == WITH_ZEROS:
        return r.choice([0, 1 << 15, f16(r, -2, 2)] if half else [0, 1 << 31, f32(r, -2, 2)])
    return r.getrandbits(1) << 15 | (28 + r.randint(0, 2)) << 10 | r.getrandbits(10) if half else f32(r, 120, 127)


def operands(form, draw):
    name, engine, kind, k = form
    half, rows, r = engine.endswith("h"), 64 if engine[0] == "w" else 16, random.Random(f"{name} {draw} 0")
    if draw >= ANY_BITS:
        a = [[special_factor(r, kind, draw) for _ in range(k)] for _ in range(rows)]
        b = [[special_factor(r, kind, draw) for _ in range(k)] for _ in range(8)]
        return a, b, [[special_accumulator(r, draw, half) for _ in range(8)] for _ in range(rows)]
    factors, accumulators = (DRAWS_F16 if half else DRAWS)[draw]
    a = [[factor(r, kind, *factors) for _ in range(k)] for _ in range(rows)]
    b = [[factor(r, kind, *factors) for _ in range(k)] for _ in range(8)]

    def accumulator(i, j):
        if half:
            return 0 if draw == 2 else f16(r, *accumulators)
        if accumulators == "cancel":
            total = sum(value(kind, a[i][x]) * value(kind, b[j][x]) for x in range(k))
            return struct.unpack("<I", struct.pack("<f", -total * (1 + r.choice([0, 2.0 ** -20, -2.0 ** -16, 2.0 ** -12]))))[0]
        return 0 if accumulators is None else f32(r, *accumulators)
    return a, b, [[accumulator(i, j) for j in range(8)] for i in range(rows)]


def wgmma_kernel(name, kind, k, half):
    registers = ", ".join(f"%r{i}" for i in range(2 if half else 4))
    scales = ", 1, 1" + (", 0, 0" if kind in ("bf16", "f16") else "")
    wide, out = (8, "v2") if half else (16, "v4")
    return f"""
.visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{ .reg .b64 %a, %b, %c, %d, %x, %da, %db; .reg .b32 %t, %s, %u, %r<4>, %q<4>; .reg .pred %p;
.shared .align 1024 .b8 sa[2048]; .shared .align 1024 .b8 sb[256];
ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; ld.param.u64 %d, [pd]; mov.u32 %t, %tid.x;
mul.wide.u32 %x, %t, 16; add.u64 %a, %a, %x; mov.u32 %s, sa; mad.lo.u32 %s, %t, 16, %s;
ld.global.v4.b32 {{%q0, %q1, %q2, %q3}}, [%a]; st.shared.v4.b32 [%s], {{%q0, %q1, %q2, %q3}};
setp.lt.u32 %p, %t, 16; mov.u32 %u, sb; mad.lo.u32 %u, %t, 16, %u; add.u64 %b, %b, %x;
@%p ld.global.v4.b32 {{%q0, %q1, %q2, %q3}}, [%b]; @%p st.shared.v4.b32 [%u], {{%q0, %q1, %q2, %q3}};
fence.proxy.async; bar.sync 0;
mul.wide.u32 %x, %t, {wide}; add.u64 %c, %c, %x; ld.global.{out}.b32 {{{registers}}}, [%c];
mov.u32 %s, sa; shr.u32 %s, %s, 4; cvt.u64.u32 %da, %s; or.b64 %da, %da, {(1024 >> 4) << 16 | (128 >> 4) << 32};
mov.u32 %s, sb; shr.u32 %s, %s, 4; cvt.u64.u32 %db, %s; or.b64 %db, %db, {(128 >> 4) << 16 | (256 >> 4) << 32};
wgmma.fence.sync.aligned; setp.eq.u32 %p, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k{k}.{'f16' if half else 'f32'}.{kind}.{kind} {{{registers}}}, %da, %db, %p{scales};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
add.u64 %d, %d, %x; st.global.{out}.b32 [%d], {{{registers}}}; ret; }}
"""


def mma_kernel(name, kind, k, half):
    per = 32 // TYPES[kind][0]
    count_a, count_b = 2 * k // (4 * per), k // (4 * per)
    registers = ", ".join(f"%r{i}" for i in range(2 if half else 4))
    wide, out, result = (8, "v2", "f16") if half else (16, "v4", "f32")
    loads = "".join(f"ld.global.b32 %a{i}, [%pa+{128 * i}];\n" for i in range(count_a)) + "".join(
        f"ld.global.b32 %b{i}, [%pb+{128 * i}];\n" for i in range(count_b))
    return f"""
.visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{ .reg .b64 %pa, %pb, %pc, %pd, %x; .reg .b32 %t, %a<4>, %b<2>, %r<4>;
ld.param.u64 %pa, [pa]; ld.param.u64 %pb, [pb]; ld.param.u64 %pc, [pc]; ld.param.u64 %pd, [pd]; mov.u32 %t, %tid.x;
mul.wide.u32 %x, %t, 4; add.u64 %pa, %pa, %x; add.u64 %pb, %pb, %x; mul.wide.u32 %x, %t, {wide}; add.u64 %pc, %pc, %x; add.u64 %pd, %pd, %x;
{loads}ld.global.{out}.b32 {{{registers}}}, [%pc];
mma.sync.aligned.m16n8k{k}.row.col.{result}.{kind}.{kind}.{result} {{{registers}}}, {{{', '.join(f'%a{i}' for i in range(count_a))}}}, {{{', '.join(
        f'%b{i}' for i in range(count_b))}}}, {{{registers}}};
st.global.{out}.b32 [%pd], {{{registers}}}; ret; }}
"""


def packed(elements, kind):
    return b"".join(v.to_bytes(TYPES[kind][0] // 8, "little") for v in elements)


def image(matrix, kind):
    """As wgmma reads it without a swizzle: 16 bytes of eight rows, the next eight rows, then the next 16 bytes along k."""
    out = bytearray(len(matrix) * 32)
    for i, row in enumerate(matrix):
        raw = packed(row, kind)
        for piece in range(2):
            at = piece * 16 * len(matrix) + i // 8 * 128 + i % 8 * 16
            out[at:at + 16] = raw[16 * piece:16 * piece + 16]
    return bytes(out)


def results(gpu, form, draw):
    name, engine, kind, k = form
    half, (a, b, c) = engine.endswith("h"), operands(form, draw)
    if engine[0] == "w":
        threads, inputs = 128, [image(a, kind), image(b, kind)]
    else:
        per = 32 // TYPES[kind][0]
        threads = 32
        inputs = [b"".join(packed([a[l // 4 + 8 * (r % 2)][l % 4 * per + r // 2 * 4 * per + e] for e in range(per)], kind)
                           for r in range(2 * k // (4 * per)) for l in range(32)),
                  b"".join(packed([b[l // 4][l % 4 * per + r * 4 * per + e] for e in range(per)], kind) for r in range(k // (4 * per)) for l in range(32))]

    def place(thread, i):
        return thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2), thread % 4 * 2 + i % 2
    places = [place(thread, i) for thread in range(threads) for i in range(4)]
    inputs.append(b"".join(struct.pack("<H" if half else "<I", c[i][j]) for i, j in places))
    output = ((ctypes.c_uint16 if half else ctypes.c_uint32) * len(places))()
    for buffer, data in enumerate(inputs):
        gpu.write(buffer, data)
    gpu.launch(name, threads, [address(buffer) for buffer in gpu.buffers])
    gpu.read(3, output)
    return a, b, c, dict(zip(places, output))


def main():
    if sys.argv[1:] == ["ptx"]:
        print(".version 8.8\n.target sm_90a\n.address_size 64")
        for name, engine, kind, k in FORMS:
            print((wgmma_kernel if engine[0] == "w" else mma_kernel)(name, kind, k, engine.endswith("h")))
    elif len(sys.argv) == 3 and sys.argv[1] == "run":
        gpu, chosen = Gpu(sys.argv[2], [8192] * 4), random.Random(5)
        for form in FORMS:
            for draw in range(12):
                a, b, c, result = results(gpu, form, draw)
                digits = TYPES[form[2]][0] // 4
                for _ in range(3):
                    i, j = chosen.randrange(len(a)), chosen.randrange(8)
                    print(form[0], form[2], form[3], f"{c[i][j]:x}", "".join(f"{v:0{digits}x}" for v in a[i]), "".join(f"{v:0{digits}x}" for v in b[j]),
                          f"{result[i, j]:x}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
