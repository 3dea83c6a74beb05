#!/usr/bin/env bash
# Makes what is installed elsewhere. What goes in is said by deploy/cmake/package.cmake; NVIDIA's driver and libraries are found where it runs.
#
#   deploy/package.sh FOLDER              everything, in a folder that travels: bin/, lib/, libexec/ (bubblewrap), share/; glibc 2.36 or newer
#   deploy/package.sh FILE.tar.gz         the same, packed by CPack
#   deploy/package.sh --agent FOLDER      into FOLDER: the agent, one file that needs glibc 2.34 and nothing else, as .tar.gz and .deb
#   deploy/package.sh --service FOLDER    into FOLDER: the service and what belongs to it, in /opt/sassay, as .deb
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage="usage: deploy/package.sh FOLDER|FILE.tar.gz, or --agent|--service FOLDER"
part=
case ${1:-} in
  --agent) part=Agent ;;
  --service) part=Service ;;
  -* | "") echo "$usage" >&2; exit 2 ;;
esac
[[ -z $part ]] || shift
target=${1:?$usage}

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# pack CONFIG: what CPack makes, in $made.
pack() {
  cpack --config "build/release/$1.cmake" -B "$made" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
  rm -rf "$made/_CPack_Packages"
}

if [[ $part == Agent ]]; then
  deploy/build.sh release mini-ptx-agent
else
  deploy/build.sh release programs
  # What admission knows of vendor libraries: those of this machine. A host with others makes lists of its own.
  build/release/bin/vendor-kernels -o build/release/vendor_kernels >&2 ||
    echo "the package carries no lists of vendor kernels" >&2
fi
if [[ -n $part ]]; then
  pack "CPack$part"
  mkdir -p "$target"
  rm "$made/log"
  for file in "$made"/*; do
    cp "$file" "$target/"
    du -sh "$target/${file##*/}" >&2
  done
  exit
elif [[ $target == *.tar.gz ]]; then
  pack CPackConfig
  mv "$made"/*.tar.gz "$target"
else
  cmake --install build/release --prefix "$(realpath -m "$target")" --strip >/dev/null
fi
du -sh "$target" >&2
