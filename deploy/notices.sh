#!/usr/bin/env bash
# The licences of what a package carries from Debian: one file per Debian package, in FOLDER. Called when the package is installed.
#
#   deploy/notices.sh FOLDER FILE…      FILE: a library, an archive or a program that is carried or went into what is
#                                       carried; of a folder, the shared libraries in it
set -euo pipefail
folder=${1:?usage: deploy/notices.sh FOLDER FILE…}
shift
command -v dpkg-query >/dev/null || { echo "notices: no dpkg-query here; add the licences of what is carried by hand" >&2; exit 0; }
mkdir -p "$folder"
# Debian 12 records files of /lib and /usr/lib apart, though they are one folder; and gcc names its archives by detours.
all=()
for name in "$@"; do
  if [[ -d $name ]]; then all+=("$name"/*.so*); else all+=("$name"); fi
done
mapfile -t files < <(for file in "${all[@]}"; do
  printf '%s\n' "$file" "$(realpath "$file")" "/usr/lib/x86_64-linux-gnu/${file##*/}" "/lib/x86_64-linux-gnu/${file##*/}"
done | sort -u)
# "libgrpc29:amd64: /usr/lib/…"; files that no package owns are ours.
{ dpkg-query -S "${files[@]}" 2>/dev/null || true; } | grep -v '^diversion' | sed 's/:.*//' | sort -u |
  while read -r package; do
    cp "/usr/share/doc/$package/copyright" "$folder/$package"
  done
