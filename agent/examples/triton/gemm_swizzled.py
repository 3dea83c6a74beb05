# expect: CORRECT OK workload=gemm_n256_k256/M=256
# at least 0.85 of the library's speed: gemm_n7168_k5120/M=8192
#
# C = A * B^T in Triton, with tensor descriptors made by host code, of which Triton makes TMA and wgmma on Hopper.
# Workload: gemm_n7168_k5120/M=8192 (any M).
#
#   mini-ptx-agent submit agent/examples/triton/gemm_swizzled.py --workload gemm_n256_k256/M=256
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a, b, c, K, rows, columns, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # Blocks that run at once read GROUP rows of tiles and the same columns, which then are in L2.
    first = tl.program_id(0) // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    at = tl.program_id(0) - first * columns
    row = (first + at % height) * BM
    column = at // height * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    c.store([row, column], sums.to(tl.bfloat16))


def run(A, B, C):
    BM, BN, BK = 128, 256, 64
    M, K = A.shape
    N = B.shape[0]
    rows, columns = triton.cdiv(M, BM), triton.cdiv(N, BN)
    a = TensorDescriptor.from_tensor(A, [BM, BK])
    b = TensorDescriptor.from_tensor(B, [BN, BK])
    c = TensorDescriptor.from_tensor(C, [BM, BN])
    matmul[(rows * columns,)](a, b, c, K, rows, columns, BM, BN, BK, GROUP=8, num_warps=8, num_stages=3)
