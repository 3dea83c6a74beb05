# expect: CORRECT OK workload=gemm_n256_k256/M=64
# A GEMM without tensor cores: each program makes 16 elements of one row.
import triton
import triton.language as tl


@triton.jit
def rows(a, b, c, N, K: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, K)
    left = tl.load(a + row * K + ks).to(tl.float32)
    right = tl.load(b + columns[:, None] * K + ks[None, :]).to(tl.float32)
    tl.store(c + row * N + columns, tl.sum(left[None, :] * right, axis=1).to(tl.bfloat16))


def run(A, B, C):
    M, K = A.shape
    N = B.shape[0]
    rows[(M, N // 16)](A, B, C, N, K=K, BN=16, num_warps=4)
