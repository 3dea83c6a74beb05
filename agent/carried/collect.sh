#!/usr/bin/env bash
# Copies programs and libraries into FOLDER, stripped, each finding what it needs beside it.
#
#   collect.sh FOLDER PATCHELF ENTRY… -- ORIGINAL…      the first entry is the first original, and so on
set -euo pipefail
folder=$1
patchelf=$2
shift 2
entries=()
while [[ $1 != -- ]]; do
  entries+=("$1")
  shift
done
shift
for entry in "${entries[@]}"; do
  copy=$folder/$entry
  mkdir -p "${copy%/*}"
  rm -f "$copy"
  strip -o "$copy" "$1"
  case $entry in
    bin/*-child) "$patchelf" --force-rpath --set-rpath "\$ORIGIN/../lib/sassay-capture" "$copy" ;;
    libexec/*) "$patchelf" --force-rpath --set-rpath "\$ORIGIN/../lib" "$copy" ;;
    lib/lib*) "$patchelf" --force-rpath --set-rpath "\$ORIGIN" "$copy" ;;
  esac
  shift
done
