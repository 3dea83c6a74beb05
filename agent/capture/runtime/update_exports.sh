#!/usr/bin/env bash
# Renews exports_*.txt, the .inc files' source of names, from an installed CUDA toolkit.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=${CUDA_HOME:-/usr/local/cuda}
names() { nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | grep "$2" | LC_ALL=C sort -u; }
# Of CUDA 12, too, whose candidates have names of their own (…_v2): SASSAY_LIBCUDART_12=/path/of/libcudart.so.12
{ names "$cuda/lib64/libcudart.so.13" '^_*cuda'
  names "${SASSAY_LIBCUDART_12:?a libcudart.so.12, for example of the wheel nvidia-cuda-runtime-cu12}" '^_*cuda'
} | LC_ALL=C sort -u > "$here/exports_cudart.txt"
names "$cuda/lib64/stubs/libcuda.so" '^cu' > "$here/exports_cuda.txt"
enumerators() { # header enum prefix
  sed -n "/enum __device_builtin__ $2/,/};/p" "$cuda/include/$1" | grep -o "$3[A-Za-z0-9]* *= *[0-9]*" |
    sed 's/ //g; s/\(.*\)=\(.*\)/X(\1, \2)/'
}
enumerators driver_types.h cudaDeviceAttr cudaDevAttr > "$here/../devices/device_attributes.inc"
enumerators driver_types.h cudaError '\(cudaError\|cudaSuccess\)' > "$here/error_names.inc"
