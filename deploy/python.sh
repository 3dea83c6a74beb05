#!/usr/bin/env bash
# Makes the Python wheel: the package of agent/python with the agent in it, and the libraries that the agent needs besides glibc and the C++
# runtime (libstdc++, libgcc_s), which are the host's, as for every manylinux wheel. Its tag says which glibc that is; a C++ runtime that is newer than
# the tag's (PEP 600's policies) is refused. Installing it needs neither network nor compiler.
#
#   deploy/python.sh FOLDER [PRESET]      writes FOLDER/sassay-VERSION-py3-none-manylinux_2_NN_x86_64.whl, from build/PRESET [release]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${1:?usage: deploy/python.sh FOLDER [PRESET]}")
preset=${2:-release}
built=build/$preset
[[ -n ${SASSAY_PYTHON_BUILT:-} ]] || deploy/build.sh "$preset" mini-ptx-agent mini-ptx-capture-host

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r agent/python/{pyproject.toml,setup.py,README.md,src} "$tree"
cp LICENSE "$tree"
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
agent=$tree/src/sassay/_agent
mkdir -p "$agent"/{bin,lib/sassay-capture,libexec}
programs=("$built"/bin/mini-ptx-{agent,capture-host,capture-child})
cp "${programs[@]}" "$agent/bin"
cp "$built/lib/sassay-capture/libcudart.so.13" "$agent/lib/sassay-capture"
cp "$(command -v bwrap)" "$agent/libexec/bwrap"
of_host='/(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nss_.*|anl|mvec|stdc\+\+|gcc_s))\.so'
{ for program in "${programs[@]}" "$agent/libexec/bwrap"; do ldd "$program"; done; } | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  { grep -vE "$of_host|sassay-capture" || true; } | while read -r library; do cp -L "$library" "$agent/lib"; done
strip --strip-unneeded "$agent"/bin/* "$agent"/libexec/* "$agent"/lib/*.so* 2>/dev/null || true
patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$agent"/bin/mini-ptx-{agent,capture-host} "$agent/libexec/bwrap"
patchelf --force-rpath --set-rpath '$ORIGIN/../lib/sassay-capture:$ORIGIN/../lib' "$agent/bin/mini-ptx-capture-child"
for library in "$agent"/lib/*.so*; do patchelf --force-rpath --set-rpath '$ORIGIN' "$library"; done
# A wheel holds no links. Who asks for libcuda gets a library that is empty but for its need of the other one.
echo | gcc -shared -nostdlib -Wl,-soname,libcuda.so.1,--no-as-needed,-rpath,'$ORIGIN' -x c - -x none "$agent/lib/sassay-capture/libcudart.so.13" \
  -o "$agent/lib/sassay-capture/libcuda.so.1"
chmod 755 "$agent"/bin/* "$agent"/libexec/*
deploy/notices.sh "$agent"

# newest NAME: the newest version of those symbols that anything in it asks for.
newest() {
  find "$agent/bin" "$agent/lib" "$agent/libexec" -type f -exec objdump -T {} + 2>/dev/null | grep -oE "\b$1_[0-9]+\.[0-9]+(\.[0-9]+)?" | sort -Vu | tail -1
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
