#!/usr/bin/env bash
# Builds the image, starts docker-compose.yml from empty volumes by the commands of the documentation, and breaks it: no
# release, a wrong password, a cache folder that is full or read-only, a proxy in the environment, no database.
# Then two replicas behind a proxy, replaced and switched under load: replicas.sh.
# About seven minutes; needs the ports 7474, 7687, 8080, 8443, 50051 and 50443 of this machine.
#
# Runs with any Docker engine of version 25 or later. Two hooks for one that is not reached as usual:
#   DOCKER   the client (default: docker)
#   ON_NET   a program that runs its arguments where the ports are published (default: none; this machine)
# CUIHOP names the project's program (default: .venv/bin/cuihop of the checkout).
set -euo pipefail
checkout=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
cd "$work"
if ! "${DOCKER:-docker}" info > /dev/null 2>&1; then
    rmdir "$work"
    echo "no Docker engine answers, and this check needs one" >&2
    exit 1
fi

began=$(date +%s)
passed() { echo "ok   $(($(date +%s) - began)) s   $1"; checks=$((checks + 1)); }
failed() {
    echo "FAIL $(($(date +%s) - began)) s   $1" >&2
    { docker compose "${profiles[@]}" ps --all; docker compose "${profiles[@]}" logs --tail 20; } >&2 || true
    for name in "${alone[@]}"; do echo "--- $name" >&2; docker logs --tail 20 "$name" >&2 || true; done
    exit 1
}
finish() {
    docker rm --force --volumes "${alone[@]}" > /dev/null 2>&1 || true
    docker compose "${profiles[@]}" down --volumes > /dev/null 2>&1 || true
    rm -rf "$work"
}
checks=0 alone=() profiles=(--profile service --profile replicas)
project=$work/project

# The documentation's programs: the client, cuihop where the ports are, and sudo, which a check in a container lacks.
mkdir "$work/bin" "$project"
wrapper() { printf '#!/bin/sh\nPATH="%s"\n%s "$@"\n' "$PATH" "$2" > "$work/bin/$1" && chmod 755 "$work/bin/$1"; }
wrapper docker "exec $(command -v "${DOCKER:-docker}")"
wrapper cuihop "exec ${ON_NET:-} ${CUIHOP:-$checkout/.venv/bin/cuihop}"
wrapper sudo "exec"
wrapper curl "exec ${ON_NET:-} $(command -v curl)"
[ "$(id -u)" = 0 ] || rm "$work/bin/sudo"
PATH=$work/bin:$PATH
unset NEO4J_PASSWORD NEO4J_PASSWORD_FILE REDIS_PASSWORD CUIHOP_KEYS CUIHOP_WORKERS CUIHOP_IMAGE COMPOSE_FILE COMPOSE_PROFILES
export COMPOSE_PROJECT_NAME=cuihop-check NEO4J_HEAP=1g NEO4J_PAGE_CACHE=256m
trap finish EXIT  # not before the project has its name: volumes of others are not touched

documented() { # PAGE HEADING NUMBER: an indented listing of a section
    awk -v heading="$2" -v number="$3" '
        /^##* / { inside = ($0 == heading) }
        inside && /^    / { if (!listing) { count++; listing = 1 } if (count == number) print substr($0, 5) }
        !/^    / { listing = 0 }' "$checkout/docs/$1" | grep . || failed "$1 has no listing $3 below $2"
}
run() { # WHAT COMMANDS: run them as they stand
    bash -euo pipefail -c "$2" > "$work/out" 2>&1 || { cat "$work/out" >&2; failed "$1"; }
}
within() { # SECONDS WHAT COMMAND...: wait until it holds
    local end=$(($(date +%s) + $1)) what=$2
    shift 2
    until "$@"; do [ "$(date +%s)" -lt "$end" ] || failed "$what"; sleep 0.5; done
}
start_alone() { # NAME OPTIONS... IMAGE [ARGUMENTS]: a service of its own, confined as those of compose
    alone+=("$1")
    docker run --detach --name "$1" --network "$network" --read-only --tmpfs /tmp --cap-drop ALL \
        --security-opt no-new-privileges:true --restart unless-stopped --volume "$work/alone:/alone:ro" \
        --env CUIHOP_KEYS_FILE=/alone/keys.json --env CUIHOP_GRAPH=bolt://neo4j:7687 \
        --env NEO4J_PASSWORD="${password:-}" "${@:2}" > /dev/null
}
asked() { # NAME PATH: what a service says at a path
    docker exec "$1" python -c "
import os, urllib.error, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
request = urllib.request.Request('http://127.0.0.1:8080$2', headers={'Authorization': 'Bearer ' + open('/alone/key').read().strip()})
try:
    print(opener.open(request, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(error)
" 2>&1
}
says() { grep -q -- "$3" <<< "$(asked "$1" "$2")"; }
healthy() { [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" = healthy ]; }
never_restarted() {
    [ "$(docker inspect --format '{{.RestartCount}}' "$1")" = 0 ] || failed "$1 was started again"
}
distance="/v1/distance?a=C0006121&b=C0018670"

cd "$project"
git -C "$checkout" ls-files -z --cached --others --exclude-standard | tar -C "$checkout" --null --files-from=- -c | tar -x
network=${COMPOSE_PROJECT_NAME}_default
mkdir umls "$work/alone"
(cd "$checkout/tests" && "$checkout/.venv/bin/python" - "$project/umls" << 'PYTHON'
import sys
from pathlib import Path
from example_graph import EDGES, NAMES
from loader.rrf_made import isa, name, written
rows = {"MRREL": [isa(parent, child) for child, parent in EDGES if child != parent]}
rows["MRCONSO"] = [name(cui, names[0]) for cui, names in NAMES.items()]
written(Path(sys.argv[1]), rows)
PYTHON
)

# Refusals and the image

if docker compose up --detach > "$work/out" 2>&1; then failed "started without a password"; fi
grep -q "set NEO4J_PASSWORD" "$work/out" || failed "the missing password is not named"
passed "no password, no start"

order=$(documented operations.md "## One machine: compose" 1)
first=$(sed '/compose up/q' <<< "$order")
run "$first" "$first"
password=$(sed -n 's/^NEO4J_PASSWORD=//p' .env)
[ "$(stat -c %a .env)" = 600 ] || failed ".env is open to others"
passed "Neo4j is healthy, with a password from .env"

neo4j=$(docker compose ps --quiet neo4j)
docker exec "$neo4j" sh -c '[ "$(id -u)" = 7474 ] && grep -q "CapBnd:.*0000000000000000" /proc/1/status && grep -q "NoNewPrivs:.*1" /proc/1/status' \
    || failed "Neo4j has rights"
passed "Neo4j: no root, no capabilities"

docker compose --profile service build --quiet > "$work/out" 2>&1 || { tail -20 "$work/out" >&2; failed "the image is not built"; }
own=$(docker history --human=false --no-trunc --format '{{.Size}} {{.CreatedBy}}' cuihop \
    | awk '/ COPY .*\/(opt\/cuihop|added) / {sum += $1} END {printf "%.0f", sum / 1000000}')
[ "$own" -le 330 ] || failed "our layers of the image have $own MB"
passed "the image is built: $(docker image ls cuihop:latest --format '{{.Size}}'), $own MB of it ours"

# An empty database first

cuihop service keys create alone --keys-file "$work/alone/keys.json" > "$work/alone/key" 2> /dev/null
chown -R 10001 "$work/alone" 2> /dev/null || sudo chown -R 10001 "$work/alone"
start_alone cuihop-check-empty --env CUIHOP_WORKERS=2 cuihop
within 300 "nothing said of the empty database" says cuihop-check-empty /health/ready "503 .*unavailable.*no release"
never_restarted cuihop-check-empty
passed "on an empty database the service says so"

rest=$(sed '1,/compose up/d' <<< "$order")
run "$rest" "$rest"
passed "the documented order: loaded, stored, keys made, the service is healthy"

within 300 "not ready after the load" says cuihop-check-empty "$distance" '"hops":3'
never_restarted cuihop-check-empty
docker stop --time 30 cuihop-check-empty > /dev/null
passed "the service that was started first answers, without a restart"

# The service

key=$(cat evaluation.key)
cuihop service keys create metrics --scope metrics --keys-file keys/keys.json > metrics.key 2> /dev/null
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:8080$distance")" = 401 ] || failed "answers without a key"
curl -sf -H "Authorization: Bearer $key" "http://127.0.0.1:8080$distance" | grep -q '"hops":3,' || failed "HTTP"
CUIHOP_API_KEY=$key cuihop distance C0006121 C0018670 --graph grpc://127.0.0.1:50051 | grep -q '^3 hops' || failed "gRPC"
metrics() { curl -sf -H "Authorization: Bearer $(cat metrics.key)" http://127.0.0.1:8080/metrics | grep -q "$1"; }
within 120 "metrics" metrics '^cuihop_workers{state="ready"} 2.0'
passed "HTTP and gRPC answer 3, with a key only; metrics count two workers"

for service in service redis; do
    docker compose --profile service exec -T "$service" sh -c '[ "$(id -u)" != 0 ] && ! touch /etc/x 2> /dev/null && grep -q "CapBnd:.*0000000000000000" /proc/1/status' \
        || failed "$service has rights, or a file system that it can write"
done
[ "$(docker compose --profile service ps --format '{{.Name}}' | wc -l)" = 3 ] || failed "compose needs more than .env"
passed "service and Redis: no root, no capabilities, read-only"

memory=$(documented operations.md "## Memory" 1)
run "$memory" "$memory"
grep -q '^[1-9][0-9]* MB$' "$work/out" || failed "no memory"
passed "memory of two workers and their supervisor, as documented: $(cat "$work/out")"

# The code of the image

cuihop load umls --output alone.cuihop > /dev/null 2>&1 || failed "no snapshot"
cp alone.cuihop "$work/alone/graph.cuihop"
chmod 644 "$work/alone/graph.cuihop"
start_alone cuihop-check-code --env CUIHOP_GRAPH=/alone/graph.cuihop cuihop
within 120 "no answer from a snapshot" says cuihop-check-code "$distance" '"hops":3'
[ -z "$(docker exec cuihop-check-code find /var/cache/cuihop -name '*.nbc')" ] || failed "a first start compiles"
docker stop --time 30 cuihop-check-code > /dev/null
passed "a first start compiles nothing"

# What is not as it should be: each in a service of its own, all at once

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=cuihop.example.org -keyout "$work/tls.key" -out "$work/tls.crt" 2> /dev/null
install -m 644 graph.cuihop "$work/tls.crt" "$work/tls.key" "$work/alone/" 2> /dev/null || sudo install -m 644 graph.cuihop "$work/tls.crt" "$work/tls.key" "$work/alone/"
proxy=http://192.0.2.1:3128
start_alone cuihop-check-proxy --volume cuihop-check-cache:/var/cache/cuihop:ro --env CUIHOP_GRAPH=/alone/graph.cuihop \
    --env http_proxy=$proxy --env https_proxy=$proxy --env HTTP_PROXY=$proxy --env HTTPS_PROXY=$proxy \
    --env CUIHOP_TLS_CERTIFICATE=/alone/tls.crt --env CUIHOP_TLS_KEY=/alone/tls.key --env 'CUIHOP_HOSTS=["cuihop.example.org"]' cuihop
start_alone cuihop-check-wrong --env NEO4J_PASSWORD=not-the-password --env CUIHOP_WORKERS=2 cuihop
start_alone cuihop-check-read-only --volume cuihop-check-cache:/var/cache/cuihop:ro cuihop
start_alone cuihop-check-full --tmpfs /var/cache/cuihop:size=8m,uid=10001,gid=10001 --entrypoint sh cuihop \
    -c 'cat /dev/zero > /var/cache/cuihop/filler; exec cuihop serve'
within 300 "nothing said of the wrong password" says cuihop-check-wrong /health/ready "503 .*refuses user 'neo4j'"
for _ in 1 2 3 4 5 6 7 8; do
    NEO4J_PASSWORD=$password cuihop neo4j releases list --graph bolt://localhost:7687 > /dev/null 2>&1 || failed "the user neo4j is locked"
done
never_restarted cuihop-check-wrong
passed "a wrong password is named, and locks nobody out"

within 300 "nothing said of the read-only folder" says cuihop-check-read-only /health/ready '"degraded".*no index'
says cuihop-check-read-only "$distance" '"hops":3.*"tier":"cypher"' || failed "no answer by Cypher"
within 300 "degraded, and not healthy" healthy cuihop-check-read-only
passed "a read-only cache folder: degraded, answers by Cypher"

within 300 "nothing said of the full folder" says cuihop-check-full /health/ready '"degraded".*no index'
says cuihop-check-full "$distance" '"hops":3.*"tier":"c' || failed "no answer by Cypher"
docker exec cuihop-check-full rm /var/cache/cuihop/filler
within 300 "not recovered when there was room" says cuihop-check-full "$distance" '"hops":3.*"tier":"index"'
never_restarted cuihop-check-full
passed "a full cache folder: degraded, answers by Cypher; with room again by its index"

within 300 "a proxy, TLS or a host name made it unhealthy" healthy cuihop-check-proxy
passed "healthy behind a proxy in the environment, with TLS, a host name and a read-only cache folder"
docker rm --force --volumes "${alone[@]}" > /dev/null
docker volume rm cuihop-check-cache > /dev/null
alone=()

# The database away, filled from files, and with another password

ready() { curl -s http://127.0.0.1:8080/health/ready | grep -q "\"status\":\"$1\""; }
docker kill "$neo4j" > /dev/null
within 10 "not degraded after the database was killed" ready degraded
curl -sf -H "Authorization: Bearer $key" "http://127.0.0.1:8080$distance" | grep -q '"hops":3,' || failed "no answer without the database"
passed "without its database it is degraded, and answers"

cp graph.cuihop 2026AB.cuihop
bulk=$(documented neo4j.md "### From files, with Docker" 1)
run "$bulk" "export NEO4J_PASSWORD=$password CUIHOP_NEO4J=bolt://localhost:7687
$bulk"
within 120 "not ready after the import" ready ready
passed "filled from files, as documented"

change=$(documented operations.md "### Passwords" 1)
run "$(sed '$d' <<< "$change")" "$(sed '$d' <<< "$change")"
docker compose --profile service stop service redis 2> /dev/null
[ "$(docker compose --profile service ps --all --format '{{.ExitCode}}' service)" = 0 ] || failed "the service did not end by itself"
docker compose --profile service down 2> /dev/null
run "$(sed -n '$p' <<< "$change")" "$(sed -n '$p' <<< "$change")"
ready ready || failed "not ready with the new password"
if NEO4J_PASSWORD=$password cuihop neo4j releases list --graph bolt://localhost:7687 > /dev/null 2>&1; then failed "the old password opens"; fi
curl -sf -H "Authorization: Bearer $key" "http://127.0.0.1:8080$distance" | grep -q '"hops":3,' || failed "the graph is gone"
passed "down and up again with the password changed as documented: the graph is still there"

# shellcheck source=tests/containers/replicas.sh
. "$checkout/tests/containers/replicas.sh"
echo "$checks passed, 0 failed"
