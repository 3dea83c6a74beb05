#!/usr/bin/env bash
# A cluster on this machine, to try one out: a front end and nodes, each a process of its own, on free loopback ports, with
# tokens of its own. Installs and builds what is missing. Runs until Ctrl-C, and then ends all of it.
#
#   bash deploy/cluster.sh                          # a front end and two nodes, each with an emulated device
#   bash deploy/cluster.sh --nodes 4 --device emulated:sm_100a
#   bash deploy/cluster.sh --state DIR              # keeps everything in DIR, and goes on there next time
#   bash deploy/cluster.sh --programs DIR           # programs that are built already
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
nodes=2 device=emulated:sm_90a state='' programs=''
while (($# > 0)); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --nodes | --device | --state | --programs)
      (($# > 1)) || { echo "cluster.sh: $1 needs a value; --help shows examples" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) echo "cluster.sh: $1 is not known; --help shows what is" >&2; exit 2 ;;
  esac
done
[[ $nodes =~ ^[1-9][0-9]?$ ]] || { echo "cluster.sh: --nodes: expected 1 to 99, got '$nodes'" >&2; exit 2; }

if [[ -z $programs ]]; then
  deploy/install_dependencies.sh
  deploy/build.sh release programs
  programs=$PWD/build/release/bin
fi
service=$programs/profiler-service

remove=''
[[ -n $state ]] || { state=$(mktemp -d); remove=$state; }
mkdir -p "$state"
state=$(cd "$state" && pwd)

front_end='' node_pids=()
# Nodes first: they give back what they run, and say that they go.
stop() {
  trap - EXIT INT TERM
  for pid in "${node_pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${node_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [[ -n $front_end ]]; then
    kill -TERM "$front_end" 2>/dev/null || true
    wait "$front_end" 2>/dev/null || true
  fi
  [[ -z $remove ]] || rm -rf "$remove"
}
trap stop EXIT
trap 'echo; echo "cluster.sh: ending"; exit 0' INT TERM

token() {
  [[ -s $state/$1.token ]] ||
    (umask 077; "$service" token add "$1" --role "$2" --token-file "$state/tokens" >"$state/$1.token" 2>/dev/null)
}
token user tenant
token operator admin
token nodes node

# A service in a session of its own, so that Ctrl-C ends it in our order. Its pid is in `started`.
start() {
  local name=$1
  shift
  rm -f "$state/$name.port"
  setsid "$service" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file "$state/$name.port" --state "$state/$name" "$@" \
    >"$state/$name.log" 2>&1 &
  started=$!
}

ready() {
  local name=$1 pid=$2
  for _ in $(seq 600); do
    [[ -s $state/$name.port ]] && return
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  cat "$state/$name.log" >&2
  echo "cluster.sh: $name did not become ready" >&2
  exit 3
}

start front_end --role frontend --token-file "$state/tokens"
front_end=$started
ready front_end "$front_end"
address=127.0.0.1:$(cat "$state/front_end.port")
for i in $(seq "$nodes"); do
  start "node$i" --role node --join "$address" --join-token-file "$state/nodes.token" --node-name "node$i" --device "$device"
  node_pids+=("$started")
done
for i in $(seq "$nodes"); do ready "node$i" "${node_pids[i - 1]}"; done

cat <<END
A front end at $address, and $nodes nodes with $device. In another terminal, in $PWD:

  export SASSAY_SERVICE=$address SASSAY_TOKEN_FILE=$state/user.token
  $programs/mini-ptx-agent submit agent/examples/gemm_tiled.cu --workload gemm_n256_k256/M=256
  SASSAY_TOKEN_FILE=$state/operator.token $programs/sassay-admin gpus
  kill -KILL ${node_pids[0]}                 # a node dies: what it ran goes on elsewhere

Logs: $state/*.log. Ctrl-C ends it.
END
while kill -0 "$front_end" 2>/dev/null; do
  wait -n 2>/dev/null || true
  for i in $(seq "$nodes"); do
    pid=${node_pids[i - 1]}
    if [[ -n $pid ]] && ! kill -0 "$pid" 2>/dev/null; then
      echo "node$i has ended; the others go on (its last words: $(tail -n 1 "$state/node$i.log"))"
      node_pids[i - 1]=''
    fi
  done
done
echo "cluster.sh: the front end has ended: $(tail -n 1 "$state/front_end.log")" >&2
exit 3
