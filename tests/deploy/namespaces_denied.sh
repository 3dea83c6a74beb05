#!/usr/bin/env bash
# Where user namespaces are denied, Landlock and seccomp hold compilers and host code: inside a user namespace that allows no further one, which is
# what a host or a container that denies them is to its programs. Skips (77) with a reason.
#
#   tests/deploy/namespaces_denied.sh BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
agent=$(realpath "${1:?usage: tests/deploy/namespaces_denied.sh BUILD}")/bin/mini-ptx-agent
skip() { echo "skipped: $1"; exit 77; }
unshare --user --map-root-user true 2>/dev/null || skip "no user namespace can be made to deny them in"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# denied COMMAND…: what is printed goes to $work/out; the status is the command's.
denied() {
  unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh \
    env HOME="$work" "$@" </dev/null >"$work/out" 2>&1
}
# expect STATUS TEXT COMMAND…
expect() {
  local wanted=$1 text=$2 status=0
  shift 2
  denied "$@" || status=$?
  [[ $status == "$wanted" ]] && grep -qF -- "$text" "$work/out" && echo "$* ended with $status and says: $text" && return
  echo "FAILED: $* ended with $status, not $wanted, or does not say: $text" >&2
  cat "$work/out" >&2
  exit 1
}
! denied unshare --user true || { echo "FAILED: user namespaces are not denied" >&2; exit 1; }

denied "$agent" doctor --json || true
jq -re '.checks[] | select(.name == "sandbox") | .found' "$work/out" >"$work/found" || { cat "$work/out" >&2; exit 1; }
grep -q '^Landlock (version' "$work/found" || skip "this kernel has no Landlock: $(cat "$work/found")"
jq -re '.checks[] | select(.name == "sandbox") | .remedy' "$work/out" | tee "$work/remedy"
grep -qF 'sysctl -w user.max_user_namespaces=15000' "$work/remedy" || { echo "FAILED: doctor does not print the command that mends it" >&2; exit 1; }

workload=(--workload gemm_n256_k256/M=64)
expect 0 "" "$agent" compile agent/examples/gemm_tiled.cu "${workload[@]}" -o "$work/gemm.bundle"
expect 1 "COMPILE_ERROR" "$agent" compile tests/hostile/compile/reads_passwd.cu "${workload[@]}" -o "$work/b"
! grep -q '^root:' "$work/out" || { echo "FAILED: /etc/passwd was read" >&2; exit 1; }
expect 1 "COMPILE_ERROR" "$agent" compile tests/hostile/compile/includes_binary.cu "${workload[@]}" -o "$work/b"
# Host code that launches its kernel only where nothing of this succeeds; else capture finds no launch.
sed -e "s#@work@#$work#" tests/deploy/reaches_out.cu >"$work/reaches_out.cu"
expect 0 "captured" "$agent" compile "$work/reaches_out.cu" "${workload[@]}" -o "$work/b"
[[ ! -e $work/left && ! -e $work/shell ]] || { echo "FAILED: host code wrote a file" >&2; exit 1; }
