"""200 candidates by evaluate_many, with the verdicts that they deserve; prints the seconds that it took.

    many.py ITEMS.jsonl     the items of a batch, each with the `expect` of its verdict in its id ("7 CORRECT")
"""
import asyncio
import json
import sys
import time

import sassay


async def main() -> None:
    items = [json.loads(line) for line in open(sys.argv[1])]
    wrong = []
    begin = time.monotonic()
    seen = set()
    async with sassay.Client(workload="gemm_n256_k256/M=8", stages=["evaluate"], concurrency=32) as client:
        async for result in client.evaluate_many(items, concurrency=32):
            seen.add(result.index)
            expected = items[result.index]["id"].split()[1]
            if result.verdict is None or result.verdict.status != expected:
                wrong.append((result.index, expected, str(result.verdict), str(result.error)))
    took = time.monotonic() - begin
    if wrong or len(seen) != len(items):
        sys.exit(f"{len(seen)} of {len(items)}; wrong: {wrong[:5]}")
    print(took)


asyncio.run(main())
