#!/usr/bin/env bash
# Installs Jupyter's converter with a kernel, and mypy, from PyPI into .venv/python_tools: for two tests of the Python package, which are skipped
# without them. About 120 MB.
#
#   bash deploy/install_python_tools.sh           installs
#   bash deploy/install_python_tools.sh --check   says whether they are there; installs nothing
set -euo pipefail
cd "$(dirname "$0")/.."

environment=.venv/python_tools
wanted=(nbconvert==7.16.6 ipykernel==6.29.5 mypy==1.15.0)
missing=()
for wheel in "${wanted[@]}"; do
  compgen -G "$environment/lib/python3*/site-packages/${wheel%%==*}-${wheel##*==}.dist-info" >/dev/null || missing+=("$wheel")
done
if [[ ${1:-} == --check ]]; then
  [[ ${#missing[@]} -eq 0 ]] || { echo "missing in $environment: ${missing[*]}"; exit 1; }
  exit 0
fi
[[ ${#missing[@]} -eq 0 ]] && exit 0
[[ -x $environment/bin/pip ]] || /usr/bin/python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check "${missing[@]}"
