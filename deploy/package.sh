#!/usr/bin/env bash
# Puts the programs and the shared libraries they need into one folder that runs on any x86-64 Linux with this machine's glibc or a
# newer one: bin/, lib/ and libexec/ (bubblewrap). The GPU driver's own libraries are found at run time and are never packed.
#
#   deploy/package.sh FOLDER        needs a built `release` preset (deploy/build.sh release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:?usage: deploy/package.sh FOLDER}

cmake --install build/release --prefix "$folder" --strip >/dev/null
mkdir -p "$folder/lib" "$folder/libexec"
cp "$(command -v bwrap)" "$folder/libexec/bwrap"

# glibc belongs to the host; everything else travels.
closure() {
  ldd "$@" 2>/dev/null | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux-x86-64)\.so'
}
mapfile -t programs < <(find "$folder/bin" "$folder/libexec" -type f -perm -u+x)
while read -r library; do
  cp -Lu "$library" "$folder/lib/"
done < <(closure "${programs[@]}")
du -sh "$folder" | cut -f1 >&2
