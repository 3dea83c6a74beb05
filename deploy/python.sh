#!/usr/bin/env bash
# Makes the Python wheel: the package of agent/python with the agent in it, one file that needs glibc and nothing else. Its tag says which
# glibc that is. Host code of candidates runs with the host's C++ runtime; one that is newer than the tag's (PEP 600's policies) is refused.
# Installing the wheel needs neither network nor compiler.
#
#   deploy/python.sh FOLDER [PRESET]      writes FOLDER/sassay-VERSION-py3-none-manylinux_2_NN_x86_64.whl, from build/PRESET [release]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${1:?usage: deploy/python.sh FOLDER [PRESET]}")
preset=${2:-release}
built=build/$preset
[[ -n ${SASSAY_PYTHON_BUILT:-} ]] || deploy/build.sh "$preset" mini-ptx-agent

[[ -f $built/archives/mini-ptx-agent ]] || { echo "python: the agent of build/$preset is not one file; those of sanitizer builds are not" >&2; exit 1; }

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r agent/python/{pyproject.toml,setup.py,README.md,src} "$tree"
cp LICENSE "$tree"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
agent=$tree/src/sassay/_agent
mkdir -p "$agent/bin"
strip -o "$agent/bin/mini-ptx-agent" "$built/bin/mini-ptx-agent"
chmod 755 "$agent/bin/mini-ptx-agent"
carried=$built/agent/carried/tree
deploy/notices.sh "$agent/share/sassay/third-party" $(cat "$built"/archives/mini-ptx-{agent,capture-host}) "$(command -v bwrap)" "$carried/lib"

# newest NAME: the newest version of those symbols that anything in it asks for.
newest() {
  find "$agent/bin" "$carried" -type f -exec objdump -T {} + 2>/dev/null | grep -oE "\b$1_[0-9]+\.[0-9]+(\.[0-9]+)?" | sort -Vu | tail -1
}
glibc=$(newest GLIBC)
for most in GLIBCXX_3.4.29 CXXABI_1.3.13; do
  found=$(newest "${most%%_*}")
  [[ $(printf '%s\n' "$most" "$found" | sort -V | tail -1) == "$most" ]] || {
    echo "python: something needs $found; hosts with glibc ${glibc#GLIBC_} may have $most" >&2
    exit 1
  }
done
export SASSAY_WHEEL_PLATFORM=manylinux_2_${glibc##*.}_$(uname -m)
python=.venv/bin/python
mkdir -p "$target"
log=$tree/log
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation -w "$target" "$tree" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
ls -1 "$target"/sassay-*.whl
