#!/usr/bin/env bash
# A front end and a node that has this host's GPUs: bundles of the package, submitted at the front end, end as they must, although the node is
# killed in between and started again. Nothing runs in the front end.
#
#   tests/gpu/cluster.sh [PACKAGE] [PATTERN]     PATTERN: only the cases whose name it matches (extended regular expression)
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
pattern=${2:-'^(gemm_tiled|gemm_mma_sync|gemm_wgmma_tma|attention_forward_naive|split_k_semaphores|zeros|scaled|last_tile_wrong|trap|illegal_address|store_past_output|endless_loop)$'}
node=

# A session of its own, so that the node's workers die with it as they do when a host does.
start_node() {
  setsid "$package/bin/profiler-service" --role node --join "$address" --join-token-file "$scratch/node.token" --node-name gpus --listen 127.0.0.1:0 \
    --metrics 127.0.0.1:0 --state "$scratch/node" --device auto --device-deadline 3s --lease 6s >>"$out/node.log" 2>&1 &
  node=$!
}
stop_node() { [[ -z $node ]] || kill "$1" -- "-$node" 2>/dev/null; [[ -z $node ]] || wait "$node" 2>/dev/null; node=; }
trap 'stop_node -KILL; stop_service; rm -rf "$scratch"' EXIT

for role in tenant node; do
  "$package/bin/profiler-service" token add "the_$role" --role "$role" --token-file "$scratch/tokens" >"$scratch/$role.token" 2>/dev/null
done
chmod 600 "$scratch"/*.token
export SASSAY_TOKEN_FILE=$scratch/tenant.token
start_service --role frontend --token-file "$scratch/tokens"
start_node
(for _ in $(seq 600); do grep -q 'joined a front end' "$out/node.log" && exit; sleep 0.1; done; exit 1) ||
  { cat "$out/node.log" >&2; conclude cluster 1 "the node did not join"; }

suite() { python3 "$(dirname "${BASH_SOURCE[0]}")/turns.py" suite --package "$package" --service "$address" --out "$out" --jobs 4 --only "$pattern"; }
suite | tee "$scratch/first"
suite >"$scratch/second" &
turns=$!
sleep 2
stop_node -KILL
start_node
wait "$turns"
cat "$scratch/second"
stop_node -TERM
[[ $(cat "$scratch/first" "$scratch/second" | grep -cE '^suite: [1-9][0-9]* passed, 0 failed$') == 2 ]]
conclude cluster $? "a node with GPUs behind a front end: $(grep -h '^suite: ' "$scratch/first") undisturbed, $(grep -h '^suite: ' "$scratch/second") with the node killed once"
