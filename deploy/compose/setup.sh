#!/usr/bin/env bash
# Makes what compose.yaml wants to find beside it: passwords, tokens and certificates in secrets/, folders in state/, ids in .env. What is
# there stays; remove a file to have it made anew. All of it belongs to who runs this, and so do the containers that read it.
#
#   deploy/compose/setup.sh [FOLDER]      FOLDER: where compose.yaml lies (default: here)
#
# $PROFILER_SERVICE is the program that makes tokens (default: build/package/bin/profiler-service).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${PROFILER_SERVICE:-$here/../../build/package/bin/profiler-service}
cd "${1:-$here}"
[[ -x $program ]] || { echo "setup: no $program: run deploy/package.sh build/package, or set PROFILER_SERVICE" >&2; exit 1; }
[[ $(id -u) -ne 0 ]] || echo "setup: run as root, so containers run as root, too; better as an ordinary user" >&2

umask 077
mkdir -p secrets state/frontend state/node state/builder state/grafana/dashboards/sassay
password() { [[ -s $1 ]] || openssl rand -hex 24 >"$1"; }
password secrets/postgres_password
password secrets/grafana_password
[[ -s secrets/pgpass ]] || echo "postgres:5432:sassay:sassay:$(cat secrets/postgres_password)" >secrets/pgpass

# The program makes it for every user to read; one that is there keeps its mode.
[[ -e secrets/tokens ]] || : >secrets/tokens
# Printed once by the program, on standard output alone.
token() {
  [[ -s secrets/$1_token ]] || "$program" token add "$1" --role "$2" --token-file secrets/tokens >"secrets/$1_token"
}
token admin admin
token client tenant
token node node

if [[ ! -s secrets/ca.crt ]]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=Sassay in compose" \
    -keyout secrets/ca.key -out secrets/ca.crt 2>/dev/null
fi
certificate() {
  [[ ! -s secrets/$1.crt ]] || return 0
  [[ -s secrets/ca.key ]] || { echo "setup: no secrets/ca.key to sign secrets/$1.crt with: put it back, or remove secrets/ca.crt and *.crt" >&2; exit 1; }
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "secrets/$1.key" \
    -out "secrets/$1.csr" 2>/dev/null
  openssl x509 -req -in "secrets/$1.csr" -CA secrets/ca.crt -CAkey secrets/ca.key -CAcreateserial -days 825 \
    -extfile <(echo "subjectAltName=DNS:$1,DNS:localhost,IP:127.0.0.1") -out "secrets/$1.crt" 2>/dev/null
  rm "secrets/$1.csr"
}
certificate frontend
certificate builder

[[ -s .env ]] || printf 'SASSAY_UID=%s\nSASSAY_GID=%s\n' "$(id -u)" "$(id -g)" >.env
echo "ready: docker compose up --build --wait" >&2
echo "then:  mini-ptx-agent submit … --service localhost:50051 --ca-file $PWD/secrets/ca.crt --token-file $PWD/secrets/client_token" >&2
