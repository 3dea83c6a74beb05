# expect: CORRECT OK workload=mha_with_lse_d128/B=1,H=2,S=256
# at least 0.55 of the library's speed: mha_with_lse_d128/B=4,H=48,S=4096
#
# O = softmax(Q K^T / sqrt(D)) V and the natural log-sum-exp of each row of scores, in Triton: one pass over keys and
# values for each tile of queries (online softmax). Workload: mha_with_lse_d128/B=4,H=48,S=4096 (any B, H and S).
#
#   mini-ptx-agent submit agent/examples/triton/attention_forward.py --workload mha_with_lse_d128/B=1,H=2,S=256
import math

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def attention(q, k, v, o, lse, S, SCALE: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * S
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    queries = q.load([head + tl.program_id(0) * BM, 0])
    largest = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for column in range(0, S, BN):
        scores = tl.dot(queries, k.load([head + column, 0]).T) * SCALE
        # Rows behind the last one belong to the next head.
        scores = tl.where((column + tl.arange(0, BN))[None, :] < S, scores, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - top[:, None])
        shrink = tl.math.exp2(largest - top)
        total = total * shrink + tl.sum(weights, 1)
        sums = tl.dot(weights.to(tl.bfloat16), v.load([head + column, 0]), sums * shrink[:, None])
        largest = top
    place = head + rows
    inside = rows < S
    tl.store(o + place[:, None] * D + tl.arange(0, D)[None, :], (sums / total[:, None]).to(tl.bfloat16), inside[:, None])
    # Scores are in units of log2(e).
    tl.store(lse + place, (largest + tl.math.log2(total)) * 0.6931471805599453, inside)


def run(Q, K, V, O, LSE):
    BM, BN = 128, 64
    B, H, S, D = Q.shape
    q = TensorDescriptor.from_tensor(Q.view(B * H * S, D), [BM, D])
    k = TensorDescriptor.from_tensor(K.view(B * H * S, D), [BN, D])
    v = TensorDescriptor.from_tensor(V.view(B * H * S, D), [BN, D])
    scale = math.log2(math.e) / math.sqrt(D)
    attention[(triton.cdiv(S, BM), B * H)](q, k, v, O, LSE, S, scale, D, BM, BN, num_warps=8, num_stages=3)
