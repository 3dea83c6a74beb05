#!/usr/bin/env bash
# Stands before the compiler on a link's command line and names archives in place of shared libraries, all but glibc's; sassay_one_file
# (one_file.cmake) makes it a program's linker launcher. Leaves the archives' paths in archives/PROGRAM below the build folder, for the
# licences (deploy/notices.sh).
set -euo pipefail
# What libraries want of others, which a shared library says itself and an archive does not.
of_others=(nghttp2 idn2 unistring psl zstd brotlidec brotlicommon cares elf lzma bz2 z)
# common/portable has it.
ours='^libfmt$'

compiler=$1
shift
archive() {
  local path
  path=$("$compiler" -print-file-name="$1.a")
  [[ $path == /* ]] || {
    echo "link_archives: no $1.a to link a program as one file: is its package here (deploy/install_dependencies.sh)?" >&2
    exit 1
  }
  echo "$path"
}

arguments=(-Wl,--start-group)
program=
previous=
for argument in "$@"; do
  [[ $previous != -o ]] || program=${argument##*/}
  previous=$argument
  case $argument in
    -l[cm] | -ldl | -lrt | -lpthread) arguments+=("$argument") ;;
    -l*) library=$(archive "lib${argument#-l}") && arguments+=("$library") ;;
    */lib*.so | */lib*.so.*)
      name=${argument##*/}
      name=${name%%.so*}
      [[ $name =~ $ours ]] || { library=$(archive "$name") && arguments+=("$library"); }
      ;;
    *) arguments+=("$argument") ;;
  esac
done
for name in "${of_others[@]}"; do library=$(archive "lib$name") && arguments+=("$library"); done
mkdir -p archives
{ printf '%s\n' "${arguments[@]}" | grep '^/.*\.a$'; archive libstdc++; archive libgcc; } | sort -u >"archives/$program"
exec "$compiler" "${arguments[@]}" -Wl,--end-group
