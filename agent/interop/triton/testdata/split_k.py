# expect: CORRECT OK workload=gemm_n256_k256/M=64
# Two kernels, workspace in every call, a cleared counter, and autotuning that cannot be done here.
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BK": 64}, num_warps=4), triton.Config({"BK": 32}, num_warps=8)], key=["K"])
@triton.jit
def partial(a, b, work, M, N, K, SPLITS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    split = tl.program_id(2)
    ks = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(split * (K // SPLITS), (split + 1) * (K // SPLITS), BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :], mask=rows[:, None] < M, other=0.0)
        right = tl.load(b + columns[:, None] * K + (k + ks)[None, :])
        sums += tl.dot(left, tl.trans(right))
    tl.atomic_add(work + rows[:, None] * N + columns[None, :], sums, mask=rows[:, None] < M)


@triton.jit
def finish(work, c, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + at, tl.load(work + at, mask=at < count, other=0.0).to(tl.bfloat16), mask=at < count)


def run(A, B, C):
    M, K = A.shape
    N = B.shape[0]
    work = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    partial[(triton.cdiv(M, 64), triton.cdiv(N, 64), 2)](A, B, work, M, N, K, SPLITS=2, BM=64, BN=64)
    finish[(triton.cdiv(M * N, 1024),)](work, C, C.numel(), BLOCK=1024)
