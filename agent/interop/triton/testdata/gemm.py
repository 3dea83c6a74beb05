# expect: CORRECT OK workload=gemm_n256_k256/M=64
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * K + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        b = tl.load(B + rn[:, None] * K + (k + rk)[None, :], mask=rn[:, None] < N, other=0.0)
        acc += tl.dot(a, tl.trans(b))
    tl.store(C + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=(rm[:, None] < M) & (rn[None, :] < N))


def run(A, B, C):
    M, K = A.shape
    N, _ = B.shape
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul[grid](A, B, C, M, N, K, BM=64, BN=64, BK=64, num_warps=4, num_stages=3)
