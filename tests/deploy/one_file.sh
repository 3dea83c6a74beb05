#!/usr/bin/env bash
# The agent, and all that it carries, asks for nothing newer than glibc 2.34 and for no library but glibc's; the capture child, in whose process
# the candidate runs, for the host's C++ runtime of 2021 besides.
#
#   tests/deploy/one_file.sh BUILD
set -euo pipefail
build=${1:?usage: tests/deploy/one_file.sh BUILD}
carried=$build/agent/carried/tree
failed=0

newest() { objdump -T "$1" | grep -oE "\b$2_[0-9]+(\.[0-9]+)+" | sort -Vu | tail -1; }
# at_most FILE SYMBOLS VERSION
at_most() {
  local found
  found=$(newest "$1" "$2")
  [[ -z $found || $(printf '%s\n' "$found" "$2_$3" | sort -V | tail -1) == "$2_$3" ]]
}
check() {
  local file=$1 allowed=$2 needed
  at_most "$file" GLIBC 2.34 || { echo "$file asks for $(newest "$file" GLIBC); 2.34 is the newest allowed" >&2; failed=1; }
  at_most "$file" GLIBCXX 3.4.29 || { echo "$file asks for $(newest "$file" GLIBCXX); 3.4.29 is the newest allowed" >&2; failed=1; }
  needed=$(objdump -p "$file" | awk '$1 == "NEEDED" {print $2}' | grep -vxE "$allowed" || true)
  [[ -z $needed ]] || { echo "$file needs" $needed >&2; failed=1; }
  echo "$(stat -c %s "$file") bytes, $(newest "$file" GLIBC): $file"
}

glibc='lib(c|m|dl|rt|pthread|resolv)\.so\.[0-9]+|ld-linux-x86-64\.so\.2'
beside='lib(cap|selinux|pcre2-8)\.so\.[0-9]+'
check "$build/bin/mini-ptx-agent" "$glibc"
check "$carried/bin/mini-ptx-capture-host" "$glibc"
for file in "$carried/libexec/bwrap" "$carried"/lib/*.so.*; do check "$file" "$glibc|$beside"; done
for file in "$carried/bin/mini-ptx-capture-child" "$carried/lib/sassay-capture/libcudart.so.13"; do
  check "$file" "$glibc|libcudart\.so\.13|libstdc\+\+\.so\.6|libgcc_s\.so\.1"
done

# This check must be able to say no: this machine's C++ runtime is newer.
if at_most "$(realpath "$(g++ -print-file-name=libstdc++.so.6)")" GLIBC 2.34 && at_most "$(realpath "$(gcc -print-file-name=libc.so.6)")" GLIBC 2.34; then
  echo "the check finds nothing newer than 2.34 in libraries that are" >&2
  failed=1
fi
exit "$failed"
