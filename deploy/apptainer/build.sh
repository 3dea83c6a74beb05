#!/usr/bin/env bash
# Builds sassay-agent.sif and sassay-service.sif with apptainer (or singularity), in FOLDER. No root is needed where apptainer has --fakeroot.
#
#   deploy/apptainer/build.sh FOLDER [agent] [service]        default: both
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(realpath -m "${1:?usage: deploy/apptainer/build.sh FOLDER [agent] [service]}")
shift
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(agent service)
builder=$(command -v apptainer || command -v singularity) ||
  { echo "build: needs apptainer (https://apptainer.org; Debian 12 has no package)" >&2; exit 1; }

[[ -d build/package/bin ]] || deploy/package.sh build/package
mkdir -p "$folder"
for part in "${parts[@]}"; do
  [[ -f deploy/apptainer/$part.def ]] || { echo "build: no deploy/apptainer/$part.def; there are agent and service" >&2; exit 2; }
  "$builder" build --force "$folder/sassay-$part.sif" "deploy/apptainer/$part.def" >&2
  echo "$folder/sassay-$part.sif"
done
