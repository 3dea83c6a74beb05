#!/usr/bin/env bash
# A CUDA 12.4 toolkit in .venv/cuda-12.4, beside the one that is there: what `mini-ptx-agent … --cuda 12.4` takes where the
# GPUs' drivers are older than 580. nvcc is Debian 13's (non-free), headers and ptxas are NVIDIA's wheels of the same
# release; nothing is installed into the system. 300 MB. Does nothing where it is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
home=$PWD/.venv/cuda-12.4
if "$home/bin/nvcc" --version >/dev/null 2>&1; then exit 0; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$scratch"/{lists/partial,archives/partial}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie non-free" >"$scratch/sources.list"
touch "$scratch/status"
apt=(apt-get -qq -o Dir::Etc::sourcelist="$scratch/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$scratch/lists"
  -o Dir::Cache="$scratch" -o Dir::State::status="$scratch/status" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$scratch" && "${apt[@]}" download nvidia-cuda-toolkit=12.4.131~12.4.1-2)
dpkg -x "$scratch"/nvidia-cuda-toolkit_*.deb "$scratch/debian"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --no-deps --target "$scratch/wheels" \
  nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cccl-cu12==12.4.127 2>/dev/null

made=$scratch/made debian=$scratch/debian/usr wheels=$scratch/wheels/nvidia
mkdir -p "$made"/{bin,include,lib64,nvvm/bin,nvvm/libdevice}
cp "$debian"/lib/nvidia-cuda-toolkit/bin/nvcc "$debian"/bin/{cudafe++,ptxas,fatbinary,nvlink,nvdisasm,cuobjdump} "$made/bin/"
cp -r "$debian/lib/nvidia-cuda-toolkit/bin/crt" "$made/bin/"
cp "$debian/lib/nvidia-cuda-toolkit/bin/cicc" "$made/nvvm/bin/"
cp "$debian/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc" "$made/nvvm/libdevice/"
for part in cuda_runtime cuda_nvcc cuda_cccl; do cp -r "$wheels/$part/include/." "$made/include/"; done
cp "$wheels/cuda_runtime/lib/libcudart.so.12" "$made/lib64/"
cat >"$made/bin/nvcc.profile" <<'PROFILE'
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH            += $(CICC_PATH):$(_HERE_):
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib64"
PROFILE
"$made/bin/nvcc" --version >/dev/null
chmod -R go+rX "$made"  # the sandbox's user is another one
rm -rf "$home"
mv "$made" "$home"
echo "CUDA 12.4 is in $home: mini-ptx-agent submit kernel.cu --cuda 12.4 …"
