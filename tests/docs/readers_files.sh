# What documents call the reader's own: candidates, items, and a run whose answers are recorded (commands_test.cc).
cp agent/examples/gemm_tiled.cu kernel.cu
cp agent/examples/gemm_tiled.cu new.cu
cp agent/examples/gemm_naive.cu old.cu
cp tests/hostile/hang/endless_loop.cu hangs.cu
jq -n -c --rawfile tiled kernel.cu --rawfile naive old.cu '
  {id: "tiled", workload: "gemm_n256_k256/M=64", source: $tiled}, {id: "naive", workload: "gemm_n256_k256/M=64", source: $naive}' > items.jsonl
cp tests/data/report/published_turns_hopper.csv turns.csv
mkdir runs
mini-ptx-agent run --workload gemm_n256_k256/M=64 --model replay:agent/examples/answers --turns 1 -o runs/first
for name in with-notes without qwen; do cp -r runs/first "runs/$name"; done
