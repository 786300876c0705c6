# Part of check.sh: two replicas behind the proxy of docker-compose.yml, asked all the time while they are replaced and while
# the release changes.
load=$work/load
compose() { docker compose --profile replicas "$@"; }
replica_load=(${ON_NET:+"$ON_NET"} "$checkout/.venv/bin/python" "$checkout/tests/containers/replica_load.py")
both() { for replica in replica1 replica2; do "$1" "$replica" || return 1; done; }
serves() { # REPLICA: the release that $release names
    compose exec -T "$1" python -c "
import urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open('http://127.0.0.1:8080/health/ready', timeout=20).read().decode())" 2> /dev/null | grep -q "\"name\":\"$release\".*\"indexed\":true"
}
image_of() { docker inspect --format '{{.Config.Image}}' "$(compose ps --quiet "$1")"; }
ask() { "${replica_load[@]}" ask "$key" "$@" > "$load" 2>&1 & asking=$!; sleep 5; }
asked_enough() { # WHAT
    kill -TERM "$asking"
    wait "$asking" || { cat "$load" >&2; failed "$1"; }
    passed "$1: $(head -1 "$load")"
}

key=$(cat evaluation.key)
NEO4J_PASSWORD=$(sed -n 's/^NEO4J_PASSWORD=//p' .env)
export NEO4J_PASSWORD
"${replica_load[@]}" write .
cuihop neo4j push release0.cuihop --graph bolt://localhost:7687 > /dev/null 2>&1 || failed "store"
docker compose --profile service stop service 2> /dev/null
docker compose --profile service rm --force service > /dev/null 2>&1
started=$(documented operations.md "### Two replicas" 1)
run "$started" "$started"
release="1 hops"
within 300 "a replica does not serve the release" both serves
for service in replica1 replica2 proxy; do
    compose exec -T "$service" sh -c '[ "$(id -u)" != 0 ] && ! touch /etc/x 2> /dev/null && grep -q "CapBnd:.*0000000000000000" /proc/1/status && grep -q "NoNewPrivs:.*1" /proc/1/status' \
        || failed "$service has rights, or a file system that it can write"
done
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:8080$distance")" = 401 ] || failed "answers without a key"
passed "two replicas and their proxy: healthy; no root, no capabilities, read-only; no answer without a key"

echo 'LABEL org.opencontainers.image.version="next"' >> Dockerfile
before=$(image_of replica1)
ask 0
rolled=$(documented operations.md "### Two replicas" 2)
run "$rolled" "$rolled"
asked_enough "both replicas replaced by another image, one after the other"
for replica in replica1 replica2; do [ "$(image_of $replica)" != "$before" ] || failed "$replica has the old image"; done

ask 0 1 0
cuihop neo4j push release1.cuihop --graph bolt://localhost:7687 > /dev/null 2>&1 || failed "store"
release="2 hops"
within 300 "a replica does not serve the new release" both serves
cuihop neo4j releases rollback --graph bolt://localhost:7687 > /dev/null 2>&1 || failed "rollback"
release="1 hops"
within 300 "a replica does not serve the release before" both serves
asked_enough "the release switched, and rolled back"

mkdir -p tls
cat "$work/tls.crt" "$work/tls.key" > tls/cuihop.pem
chown -R 99 tls 2> /dev/null || sudo chown -R 99 tls
docker compose --profile replicas up --detach --wait --no-deps --force-recreate proxy 2> /dev/null || failed "the proxy is not healthy with a certificate"
curl -sf --cacert "$work/tls.crt" --connect-to cuihop.example.org:443:127.0.0.1:8443 -H "Authorization: Bearer $key" \
    "https://cuihop.example.org/v1/distance?a=C7777770&b=C7777771" | grep -q '"hops":1,' || failed "no answer over TLS"
passed "with a certificate the proxy speaks TLS"
