#!/usr/bin/env bash
# What CPack makes of the agent: the files of the .tar.gz and of the .deb, the licences of what is inside it, and, as root, the .deb installed,
# used and removed in bare Debian (the roots of bare_roots.sh).
#
#   tests/deploy/packages.sh BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:?usage: tests/deploy/packages.sh BUILD}")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

cpack --config "$build/CPackAgent.cmake" -B "$made" >"$made/log" 2>&1 || { cat "$made/log" >&2; fail "cpack"; }
version=$("$build/bin/mini-ptx-agent" --version | sed 's/.* //')
deb=$made/sassay-agent_${version}_amd64.deb
tgz=$made/sassay-agent-$version-Linux-x86_64.tar.gz
[[ -f $deb && -f $tgz ]] || { ls "$made" >&2; fail "no $deb or no $tgz"; }

expected="bin/mini-ptx-agent
share/doc/sassay-agent/CHANGELOG.md
share/doc/sassay-agent/README.md
share/doc/sassay-agent/copyright"
# compare WHAT: the list of files on standard input but for the licences.
compare() { diff <(echo "$expected") <(grep -vE '/$|^$|/third-party/' | sort) || fail "$1 holds other files than expected"; }
tar tzf "$tgz" | sed "s#^sassay-agent-$version-Linux-x86_64/##" | compare "$tgz"
dpkg-deb --fsys-tarfile "$deb" | tar t | sed 's#^\./usr/##' | compare "$deb"
licences=$(tar tzf "$tgz" | sed -n 's#.*/third-party/##p')
for package in bubblewrap libcap2 libcurl4-openssl-dev libdw-dev libgrpc-dev libprotobuf-dev libssl-dev libstdc++-12-dev; do
  grep -qx "$package" <<<"$licences" || fail "no licence of $package"
done
[[ $(dpkg-deb -f "$deb" Package Version Architecture Depends | tr '\n' ';') == "Package: sassay-agent;Version: $version;Architecture: amd64;Depends: libc6 (>= 2.34);" ]] ||
  { dpkg-deb -f "$deb" >&2; fail "the .deb says something else of itself"; }
echo "$(stat -c %s "$deb") bytes: ${deb##*/}; $(stat -c %s "$tgz") bytes: ${tgz##*/}; $(wc -l <<<"$licences") licences"

mkdir "$made/anywhere"
tar xzf "$tgz" -C "$made/anywhere" --strip-components=2 --wildcards '*/bin/mini-ptx-agent'
[[ $(env -i "$made/anywhere/mini-ptx-agent" --version) == "mini-ptx-agent $version" ]] || fail "the unpacked agent does not start"

if [[ $(id -u) != 0 || ! -d .venv/roots/trixie ]]; then
  echo "not installed anywhere: that takes root, and the roots of tests/deploy/bare_roots.sh --make .venv/roots"
  exit
fi
for root in bookworm trixie; do
  mkdir "$made/$root"
  unshare --mount bash -euc '
    mount -t tmpfs none "$1"
    mkdir "$1"/{upper,work,root}
    mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
    cp "$3" "$1/root/tmp/agent.deb"
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    chroot "$1/root" dpkg -i /tmp/agent.deb
    chroot "$1/root" mini-ptx-agent --version
    chroot "$1/root" dpkg -r sassay-agent
    ! chroot "$1/root" test -e /usr/bin/mini-ptx-agent' - "$made/$root" "$PWD/.venv/roots/$root" "$deb" >"$made/log" 2>&1 ||
    { cat "$made/log" >&2; fail "the .deb in bare $root"; }
  grep -qx "mini-ptx-agent $version" "$made/log" || fail "the agent installed in $root does not start"
  echo "installed, started and removed in bare $root"
done
