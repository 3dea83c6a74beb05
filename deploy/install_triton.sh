#!/usr/bin/env bash
# Installs Triton from PyPI into .venv/triton, an environment of its own: for `mini-ptx-agent triton`. About 1.1 GB.
#
#   bash deploy/install_triton.sh           installs
#   bash deploy/install_triton.sh --check   says whether it is there; installs nothing
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.9.0
environment=.venv/triton

installed() { compgen -G "$environment/lib/python3*/site-packages/triton-$version.dist-info" >/dev/null; }

if [[ ${1:-} == --check ]]; then
  if installed; then echo "Triton $version is in $environment"; else
    echo "Triton $version is not in $environment: bash deploy/install_triton.sh"
    exit 1
  fi
  exit 0
fi
installed && exit 0
# The sandbox shows /usr and no other Python.
python=/usr/bin/python3
[[ -x $python ]] || { echo "no $python: apt-get install python3 python3-venv" >&2; exit 1; }
$python -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps "triton==$version"
# The sandbox's user is another one.
chmod -R go+rX "$environment"
echo "Triton $version is in $environment"
