#!/usr/bin/env bash
# The agent's one file in bare Debian 12 and 13 (dpkg's essential packages: no C++ runtime, no certificates, no bubblewrap), as an ordinary user,
# against a service on this machine over TLS. Once as it is there, and once where user namespaces are denied: in a chroot, where the kernel
# refuses them. Skips (77) with a reason.
#
#   tests/deploy/bare_roots.sh BUILD                BUILD: build/dev or build/release
#   tests/deploy/bare_roots.sh --make FOLDER        the roots, by mmdebstrap, as root: bookworm, trixie, and each with g++ (1.2 GB)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
releases=(bookworm trixie)

if [[ ${1:-} == --make ]]; then
  for release in "${releases[@]}"; do
    for more in "" g++; do
      root=$2/$release${more:+-$more}
      [[ ! -d $root ]] || continue
      mkdir -p "$2"
      mmdebstrap --quiet --variant=essential ${more:+--include=$more} "$release" "$root.new"
      printf '127.0.0.1\tlocalhost\n' >"$root.new/etc/hosts"
      mv "$root.new" "$root"
    done
  done
  exit
fi

build=$(realpath "${1:?usage: tests/deploy/bare_roots.sh BUILD, or --make FOLDER}")
agent=$build/bin/mini-ptx-agent
roots=$PWD/.venv/roots
skip() { echo "skipped: $1"; exit 77; }
[[ $(id -u) == 0 ]] || skip "needs root, to enter a root folder"
for release in "${releases[@]}"; do
  [[ -d $roots/$release && -d $roots/$release-g++ ]] ||
    skip "no root folder of Debian $release: as root, tests/deploy/bare_roots.sh --make .venv/roots"
done
for toolkit in "${SASSAY_CUDA_HOME:-}" "${CUDA_HOME:-}" /usr/local/cuda .venv/cuda; do
  [[ -z $toolkit || ! -x $toolkit/bin/nvcc ]] || break
done
toolkit=$(realpath "$toolkit")
bwrap --bind / / true 2>/dev/null || skip "bubblewrap does not start here"

work=$(mktemp -d)
service=
finish() {
  if [[ -n $service ]]; then kill -TERM "$service" 2>/dev/null && wait "$service" || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "FAILED: $1" >&2; [[ ! -s $work/out ]] || cat "$work/out" >&2; exit 1; }

# ---- a service, with a certificate for a name that must be resolved ----
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
mkdir "$work/files"
"$build/bin/profiler-service" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file "$work/port" --state "$work/state" --device emulated:sm_90a \
  --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" >"$work/log" 2>&1 &
service=$!
until [[ -s $work/port ]]; do
  kill -0 "$service" 2>/dev/null || { cat "$work/log" >&2; fail "the service does not start"; }
  read -rt 0.1 <> <(:) || true
done
address=localhost:$(cat "$work/port")

strip -o "$work/files/mini-ptx-agent" "$agent"
cp "$work/cert.pem" agent/examples/gemm_tiled.cu tests/hostile/compile/reads_passwd.cu "$work/files/"
sed "s#@work@#/home/user#" tests/deploy/reaches_out.cu >"$work/files/reaches_out.cu"
HOME=$work "$agent" compile agent/examples/gemm_tiled.cu --workload gemm_n256_k256/M=64 -o "$work/files/gemm.bundle" >"$work/out" 2>&1 ||
  fail "compiling on this machine"
chmod -R a+rX "$work" "$work/files"

# ---- inside ----
# inside ROOT COMMAND…: as user 1000; $denied: where user namespaces are denied. What is printed goes to $work/out; the status is the command's.
denied=
inside() {
  local root=$roots/$1 top=${denied:+/srv}
  shift
  local -a as_user=(setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set=-all --inh-caps=-all)
  [[ -z $denied ]] || as_user=(/usr/sbin/chroot /srv "${as_user[@]}")
  # The whole of /proc: a sandbox in there makes its own only where nothing of the outer one is covered.
  bwrap --ro-bind "$root" / ${denied:+--ro-bind "$root" /srv} --bind /proc "$top/proc" --dev "$top/dev" --perms 1777 --tmpfs "$top/tmp" \
    --tmpfs "$top/home" --dir "$top/home/user" --tmpfs "$top/usr/local" --ro-bind "$toolkit" "$top/usr/local/cuda" --ro-bind "$work/files" "$top/mnt" \
    --cap-add ALL --die-with-parent sh -c "chown 1000:1000 $top/home/user && exec \"\$@\"" sh "${as_user[@]}" \
    env -i HOME=/home/user PATH=/usr/bin:/bin SASSAY_SERVICE="$address" SASSAY_CA_FILE=/mnt/cert.pem "$@" >"$work/out" 2>&1
}
# expect ROOT STATUS TEXT COMMAND…
expect() {
  local root=$1 wanted=$2 text=$3 status=0
  shift 3
  inside "$root" "$@" || status=$?
  [[ $status == "$wanted" ]] || fail "$root${denied:+, without user namespaces}: $* ended with $status, not $wanted"
  grep -qF -- "$text" "$work/out" || fail "$root${denied:+, without user namespaces}: $* does not say: $text"
  echo "$root${denied:+, without user namespaces}: ${*/\/mnt\//}: $text"
}

workload=(--workload gemm_n256_k256/M=64)
for root in "${releases[@]}"; do
  ! compgen -G "$roots/$root/usr/lib/*/libstdc++.so*" >/dev/null || fail "$root is not bare: it has a C++ runtime"
  denied=
  expect "$root" 0 "mini-ptx-agent 0." /mnt/mini-ptx-agent --version
  expect "$root" 0 "namespaces and seccomp, by /home/user/.cache/sassay/programs/" /mnt/mini-ptx-agent doctor
  expect "$root" 0 "CORRECT" /mnt/mini-ptx-agent submit /mnt/gemm.bundle "${workload[@]}"
  expect "$root" 2 "apt-get install g++" /mnt/mini-ptx-agent submit /mnt/gemm_tiled.cu "${workload[@]}"
  expect "$root-g++" 0 "CORRECT" /mnt/mini-ptx-agent submit /mnt/gemm_tiled.cu "${workload[@]}"
  denied=yes
  expect "$root" 0 "Landlock (version" /mnt/mini-ptx-agent doctor
  expect "$root-g++" 0 "CORRECT" /mnt/mini-ptx-agent submit /mnt/gemm_tiled.cu "${workload[@]}"
  expect "$root-g++" 1 "COMPILE_ERROR" /mnt/mini-ptx-agent submit /mnt/reads_passwd.cu "${workload[@]}"
  ! grep -q "root:" "$work/out" || fail "$root: /etc/passwd was read"
  expect "$root-g++" 0 "CORRECT" /mnt/mini-ptx-agent submit /mnt/reaches_out.cu "${workload[@]}"
done
echo "the agent is one file that runs in bare Debian: ${releases[*]}"
