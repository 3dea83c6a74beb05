# expect: CORRECT OK workload=gemm_n256_k256/M=64
# GEMM with tensor descriptors made by host code: TMA and wgmma on Hopper.
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    c.store([row, column], sums.to(tl.bfloat16))


def run(A, B, C):
    BM, BN, BK = 64, 128, 64
    M, K = A.shape
    N = B.shape[0]
    a = TensorDescriptor.from_tensor(A, [BM, BK])
    b = TensorDescriptor.from_tensor(B, [BN, BK])
    c = TensorDescriptor.from_tensor(C, [BM, BN])
    matmul[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, c, K, BM, BN, BK, num_warps=4, num_stages=3)
