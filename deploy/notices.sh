#!/usr/bin/env bash
# The licences of what a package carries from Debian: one file per Debian package, in FOLDER/share/sassay/third-party. Called when the package
# is installed.
#
#   deploy/notices.sh FOLDER
set -euo pipefail
folder=${1:?usage: deploy/notices.sh FOLDER}
command -v dpkg-query >/dev/null || { echo "notices: no dpkg-query here; add the licences of lib/ by hand" >&2; exit 0; }
notices=$folder/share/sassay/third-party
mkdir -p "$notices"
# Debian 12 records files of /lib and /usr/lib apart, though they are one folder.
mapfile -t files < <(find "$folder/lib" -maxdepth 1 -type f -name '*.so*' \
  -printf '/usr/lib/x86_64-linux-gnu/%f\n/lib/x86_64-linux-gnu/%f\n'; command -v bwrap)
# "libgrpc29:amd64: /usr/lib/…"; files that no package owns are ours.
{ dpkg-query -S "${files[@]}" 2>/dev/null || true; } | grep -v '^diversion' | sed 's/:.*//' | sort -u |
  while read -r package; do
    cp "/usr/share/doc/$package/copyright" "$notices/$package"
  done
