"""The deployment, checked as far as possible without a container engine and a cluster."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import trustme
import yaml
from prometheus_client.parser import text_string_to_metric_families

from cuihop.remote.statuses import STATUSES
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.callers import ANONYMOUS
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.observe.metrics import STATES, Metrics
from cuihop_service.request_context import Answer
from cuihop_service.settings import ServiceSettings
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from shared_data import ROOT
from waiting import wait_for

PROGRAMS = Path(sys.executable).parent
DOCKERFILE = ROOT / "Dockerfile"
KUBERNETES = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = KUBERNETES / "kustomization.yaml"
MANIFESTS = sorted(set(KUBERNETES.glob("*.yaml")) - {KUSTOMIZATION})
SETTINGS = {f"CUIHOP_{name.upper()}" for name in ServiceSettings.model_fields} | {"CUIHOP_CONFIG"}
CLIENT = {"NEO4J_PASSWORD"}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


# The image


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.M))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def image_environment() -> dict[str, str]:
    last = max(i for i, (name, _) in enumerate(instructions()) if name == "FROM")
    pairs = [shlex.split(rest) for name, rest in instructions()[last:] if name == "ENV"]
    return dict(pair.split("=", 1) for line in pairs for pair in line)


def test_the_dockerfile_has_no_fault_that_its_linter_knows() -> None:
    done = run(str(PROGRAMS / "hadolint"), "Dockerfile")
    assert done.returncode == 0, done.stdout


def test_all_that_the_image_copies_is_there_and_all_else_is_kept_out() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    included = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = set()
    for name, rest in instructions():
        if name == "COPY" and "--from" not in rest:
            copied |= set(rest.split()[:-1])
    assert copied == included
    assert all((ROOT / source).exists() for source in copied)
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = built["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *(part["path"] for part in built["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]),
        *built["project"]["license-files"],
        *wheel["packages"],
        *wheel["force-include"],
    }
    assert all(any(f"{path}/".startswith(f"{source}/") for source in copied) for path in needed)
    extras = set(re.findall(r"--extra (\w+)", DOCKERFILE.read_text()))
    assert extras == {"mcp", "service", "traces"} <= set(built["project"]["optional-dependencies"])
    assert not any(fnmatch("keys/keys.json", pattern) for pattern in included)


def test_the_image_runs_the_service_as_nobody_special_and_holds_no_secret() -> None:
    found = dict(instructions())
    user, group = found["USER"].split(":")
    assert int(user) >= 1000
    assert int(group) >= 1000
    assert yaml.safe_load(found["ENTRYPOINT"]) == ["cuihop"]
    assert run(str(PROGRAMS / "cuihop"), *yaml.safe_load(found["CMD"]), "--help").returncode == 0
    environment = image_environment()
    assert {name for name in environment if name.startswith("CUIHOP_")} <= SETTINGS
    assert not any(re.search("password|secret|token|redis", name, re.I) for name in environment)
    written = [value for name, value in environment.items() if name.endswith(("_DIR", "_FOLDER"))]
    assert written
    assert all(value.startswith(found["VOLUME"] + "/") for value in written)
    assert found["EXPOSE"].split() == [
        str(ServiceSettings.model_fields["http_port"].default),
        str(ServiceSettings.model_fields["grpc_port"].default),
    ]


def probe(service: RunningService, **environment: str) -> subprocess.CompletedProcess[str]:
    """The health check of the image, for this service."""
    (check,) = [rest for name, rest in instructions() if name == "HEALTHCHECK"]
    command = yaml.safe_load(check[check.index("[") :])
    assert command[0] == "python"
    given = {"CUIHOP_GRAPH": "x.cuihop", "CUIHOP_HTTP_PORT": str(service.http_port)} | environment
    return subprocess.run(
        [sys.executable, *command[1:]], env=given, check=False, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_the_probe_of_the_image_tells_ready_from_not_ready_and_says_why() -> None:
    with running_service(example_graph()) as service:
        assert probe(service).returncode == 0
        service.holder.set_state("unavailable", "the database is away")
        done = probe(service)
        assert done.returncode == 1
        assert done.stdout.startswith("503: ")
        assert "the database is away" in done.stdout
    gone = probe(service)
    assert gone.returncode == 1
    assert gone.stdout.startswith("no answer: ")
    assert gone.stderr == ""


def test_the_probe_of_the_image_asks_no_proxy() -> None:
    proxy = "http://127.0.0.1:9"  # nobody listens there
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy"), proxy)
    with running_service(example_graph()) as service:
        assert probe(service, **proxies).returncode == 0


@pytest.mark.slow
def test_the_probe_of_the_image_reads_hosts_from_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "cuihop.toml"
    with running_service(example_graph(), hosts=["graph.example.org"]) as service:
        assert probe(service).stdout.startswith("400: ")
        file.write_text('hosts = ["graph.example.org"]\n')
        assert probe(service, CUIHOP_CONFIG=str(file)).returncode == 0
        file.write_text("hots = []\n")
        assert "hots" in probe(service, CUIHOP_CONFIG=str(file)).stdout


@pytest.mark.parametrize("callers_show_one", [False, True])
def test_the_probe_of_the_image_works_with_tls(tmp_path: Path, callers_show_one: bool) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("graph.example.org")
    certificate, key, ca = tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt"
    own.cert_chain_pems[0].write_to_path(str(certificate))
    own.private_key_pem.write_to_path(str(key))
    authority.cert_pem.write_to_path(str(ca))
    files = TlsFiles(certificate, key, ca if callers_show_one else None)
    environment = {"CUIHOP_TLS_CERTIFICATE": str(certificate), "CUIHOP_TLS_KEY": str(key)}
    if callers_show_one:
        environment["CUIHOP_TLS_CLIENT_CA"] = str(ca)
    with running_service(example_graph(), tls=files) as service:
        done = probe(service, **environment)
        assert done.returncode == 0, done.stdout
        assert probe(service).returncode == 1  # plain HTTP to a port that speaks TLS


def test_secrets_stay_out_of_git_and_of_the_image() -> None:
    for name in (".env", "keys/keys.json", "keys/other"):
        assert run("git", "check-ignore", "--quiet", name).returncode == 0, name
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert "**/.env" in rules[rules.index("!service") :]


# Compose


def compose_services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services


def test_the_compose_file_is_as_its_specification_says() -> None:
    done = run(str(PROGRAMS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")
    assert done.returncode == 0, done.stdout


def test_the_profile_is_confined_and_checked() -> None:
    services = compose_services()
    profiles = {name: set(service.get("profiles", ())) for name, service in services.items()}
    assert {name for name, found in profiles.items() if "service" in found} == {"service", "redis"}
    assert {name for name, found in profiles.items() if "replicas" in found} == {
        "replica1",
        "replica2",
        "proxy",
        "redis",
    }
    for name, service in services.items():
        own = service["image"] == services["service"]["image"]  # the image has a user and a health check of its own
        published = [port.replace("${CUIHOP_TLS_ADDRESS:-127.0.0.1}", "127.0.0.1") for port in service.get("ports", ())]
        assert all(port.startswith("127.0.0.1:") for port in published), name
        assert "healthcheck" in service or own, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["tmpfs"], name
        assert "privileged" not in service, name
        assert own or int(service["user"].split(":")[0]) > 0, name
    for name in set(services) - {"neo4j"}:  # Neo4j's entrypoint writes its configuration
        assert services[name]["read_only"] is True
    for name in ("service", "replica1", "replica2"):
        service = services[name]
        assert set(service["environment"]) <= SETTINGS | CLIENT
        assert set(service["depends_on"]) == {"neo4j", "redis"}
        grace = seconds(service["stop_grace_period"])
        drained = sum(float(service["environment"].get(f"CUIHOP_DRAIN_{part}", 0)) for part in ("DELAY", "SECONDS"))
        assert grace > 10 + drained
        keys_folder = str(Path(service["environment"]["CUIHOP_KEYS_FILE"]).parent)
        assert any(volume.endswith(f":{keys_folder}:ro") for volume in service["volumes"])


def test_the_proxy_of_the_compose_file_passes_on_to_its_replicas() -> None:
    services = compose_services()
    shell, flag, script = services["proxy"]["command"]
    config = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
    (network,) = set(re.findall(r"\$\{CUIHOP_NETWORK:-([\d.]+)\}", (ROOT / "docker-compose.yml").read_text()))

    def filled(text: str) -> str:
        return text.replace(f"${{CUIHOP_NETWORK:-{network}}}", network)

    script = filled(script).replace("$$", "$").replace("/usr/local/etc/haproxy/cuihop.cfg", str(config))
    script = script[: script.index("> /tmp")]
    done = subprocess.run([shell, flag, script], capture_output=True, text=True, check=True)
    addresses = {
        name: filled(services[name]["networks"]["replicas"]["ipv4_address"]) for name in ("replica1", "replica2")
    }
    servers = re.findall(r"^ +server (\w+) ([\d.]+):(\d+)(?:.* port (\d+))?", done.stdout, re.M)
    assert sorted(servers) == sorted(
        (name, address, port, check)
        for name, address in addresses.items()
        for port, check in (("8080", ""), ("50051", "8080"))
    )
    assert re.findall(r"^ +bind (\S+)", done.stdout, re.M) == [":8080", ":50051"]  # no certificate, no TLS
    assert "127.0.0.1" not in re.sub("#.*", "", done.stdout)
    (proxies,) = {filled(services[name]["environment"]["CUIHOP_PROXIES"]) for name in addresses}
    assert yaml.safe_load(proxies) == [filled(services["proxy"]["networks"]["replicas"]["ipv4_address"])]


def test_compose_passes_passwords_on_and_holds_none() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name, service in compose_services().items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|AUTH|REDIS", variable):
                assert re.search(r"\$\{(NEO4J|REDIS)_PASSWORD:[?-]", value), f"{name}: {variable}"
    assert 'requirepass "$${REDIS_PASSWORD:?' in text


def test_redis_starts_only_with_a_password() -> None:
    shell, flag, script = compose_services()["redis"]["command"]
    script = script.replace("$$", "$").replace("exec redis-server", "echo redis-server")
    refused = subprocess.run([shell, flag, script], env={"REDIS_PASSWORD": ""}, capture_output=True, check=False)
    assert refused.returncode != 0
    assert b"set REDIS_PASSWORD" in refused.stderr
    started = subprocess.run([shell, flag, script], env={"REDIS_PASSWORD": "abc"}, capture_output=True, check=False)
    assert started.stdout.startswith(b"redis-server --requirepass abc ")


def test_the_health_check_of_neo4j_sends_no_password_and_starts_no_jvm(neo4j_server: LocalServer) -> None:
    settings = neo4j_server.home / "conf" / "neo4j.conf"
    (port,) = re.findall(r"server.http.listen_address=:(\d+)", settings.read_text())
    kind, *command = compose_services()["neo4j"]["healthcheck"]["test"]
    assert kind == "CMD"
    assert not re.search("cypher-shell|AUTH|PASSWORD", " ".join(command))
    command = [part.replace("$$", "$").replace("/7474", f"/{port}") for part in command]
    # HTTP opens a little after Bolt.
    wait_for(lambda: subprocess.run(command, check=False, capture_output=True).returncode == 0)
    nobody = [part.replace(f"/{port}", "/9") for part in command]
    assert subprocess.run(nobody, check=False, capture_output=True).returncode != 0


# Kubernetes


def manifests() -> dict[str, dict[str, Any]]:
    found = [part for path in MANIFESTS for part in yaml.safe_load_all(path.read_text())]
    return {f"{part['kind']}/{part['metadata']['name']}": part for part in found}


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = manifests()["Deployment/cuihop"]["spec"]["template"]["spec"]
    return spec


def test_the_manifests_are_as_their_schemas_say() -> None:
    done = run(str(PROGRAMS / "kubernetes-validate"), "--strict", *map(str, MANIFESTS))
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(manifests()) == {
        "ConfigMap/cuihop",
        "Deployment/cuihop",
        "Service/cuihop",
        "Service/cuihop-grpc",
        "PodDisruptionBudget/cuihop",
        "HorizontalPodAutoscaler/cuihop",
        "NetworkPolicy/cuihop",
    }


def test_the_kustomization_names_every_manifest() -> None:
    assert set(yaml.safe_load(KUSTOMIZATION.read_text())["resources"]) == {path.name for path in MANIFESTS}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl not found: install it, version 1.27 or later")
def test_the_documented_overlay_changes_image_namespace_and_settings_and_nothing_else(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    section = page[page.index("## Kubernetes") : page.index("## Metrics and alerts")]
    (overlay,) = re.findall(r"^```yaml\n(.*?)^```$", section, re.M | re.S)
    shutil.copytree(KUBERNETES, tmp_path / "cuihop")
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(
        overlay.replace("../cuihop/deploy/kubernetes", "../cuihop")
    )
    done = run("kubectl", "kustomize", str(tmp_path / "overlay"))
    assert done.returncode == 0, done.stderr
    built = {f"{part['kind']}/{part['metadata']['name']}": part for part in yaml.safe_load_all(done.stdout)}
    assert set(built) == set(manifests())
    assert {part["metadata"]["namespace"] for part in built.values()} == {"terminology"}
    assert built["ConfigMap/cuihop"]["data"]["CUIHOP_WORKERS"] == "4"
    changed, original = built["Deployment/cuihop"]["spec"], manifests()["Deployment/cuihop"]["spec"]
    assert changed["strategy"] == original["strategy"]
    (container,) = changed["template"]["spec"]["containers"]
    assert container.pop("image").startswith("registry.example.org/cuihop:")
    (other,) = original["template"]["spec"]["containers"]
    assert container == {name: value for name, value in other.items() if name != "image"}


def test_pods_are_replaced_one_by_one_and_none_before_the_next_can_answer() -> None:
    deployment = manifests()["Deployment/cuihop"]["spec"]
    assert deployment["strategy"] == {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert deployment["minReadySeconds"] >= 1
    (container,) = pod()["containers"]
    data = manifests()["ConfigMap/cuihop"]["data"]
    # The service goes on answering by itself while endpoints learn of its end: a preStop hook would only add to it.
    assert "lifecycle" not in container
    readiness = container["readinessProbe"]
    assert float(data["CUIHOP_DRAIN_DELAY"]) >= readiness["periodSeconds"]


def test_the_manifests_agree_with_one_another() -> None:
    found = manifests()
    deployment = found["Deployment/cuihop"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (container,) = pod()["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for name in ("cuihop", "cuihop-grpc"):
        spec = found[f"Service/{name}"]["spec"]
        assert spec["selector"].items() <= labels.items()
        assert all(ports[port["targetPort"]] == port["port"] for port in spec["ports"])
    assert found["Service/cuihop-grpc"]["spec"]["clusterIP"] == "None"
    assert found["PodDisruptionBudget/cuihop"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert found["NetworkPolicy/cuihop"]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    scaled = found["HorizontalPodAutoscaler/cuihop"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert scaled["minReplicas"] >= 2 > found["PodDisruptionBudget/cuihop"]["spec"]["minAvailable"]
    volumes = {volume["name"] for volume in pod()["volumes"]}
    assert volumes == {mount["name"] for mount in container["volumeMounts"]}


def test_the_settings_of_the_manifests_are_settings_of_the_service() -> None:
    data = manifests()["ConfigMap/cuihop"]["data"]
    (container,) = pod()["containers"]
    assert set(data) <= SETTINGS
    assert {variable["name"] for variable in container["env"]} <= SETTINGS | CLIENT
    assert all("valueFrom" in variable for variable in container["env"])  # secrets are referred to, never written
    given = {name.removeprefix("CUIHOP_").lower(): value for name, value in data.items()}
    settings = ServiceSettings(**{name: given[name] for name in given if name in ServiceSettings.model_fields})
    # The supervisor gives its workers ten seconds more.
    assert pod()["terminationGracePeriodSeconds"] > settings.drain_delay + settings.drain_seconds + 10
    readiness = container["readinessProbe"]
    assert settings.drain_delay > 0
    assert run(str(PROGRAMS / "cuihop"), *container["args"], "--help").returncode == 0
    assert readiness["httpGet"]["path"] == "/health/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {str(Path(data["CUIHOP_KEYS_FILE"]).parent), "/tmp", dict(instructions())["VOLUME"]} <= mounted  # noqa: S108


def test_the_pods_satisfy_the_restricted_standard() -> None:
    spec = pod()
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert (
        f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
        == dict(instructions())["USER"]
    )
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert not any("hostPath" in volume for volume in spec["volumes"])
    assert spec["automountServiceAccountToken"] is False
    (keys,) = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
    assert not keys["defaultMode"] & 0o007  # the service refuses keys that everybody can read
    assert "limits" in container["resources"]
    assert "requests" in container["resources"]


# systemd


def test_the_unit_is_one_and_starts_the_service() -> None:
    text = (ROOT / "deploy" / "systemd" / "cuihop.service").read_text()
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    program, *arguments = lines["ExecStart"].split()
    assert program.endswith("/cuihop")
    assert run(str(PROGRAMS / "cuihop"), *arguments, "--help").returncode == 0
    assert float(lines["TimeoutStopSec"]) > ServiceSettings.model_fields["drain_seconds"].default + 10
    assert set(re.findall(r"CUIHOP_\w+", lines["Environment"])) <= SETTINGS
    assert "NoNewPrivileges" in lines


def test_the_commands_for_systemd_make_what_the_unit_needs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    section = page[page.index("## One machine: systemd") :]
    listing = re.findall(r"((?:^    .+\n)+)", section, re.M)[0]
    # As they stand, but below a folder, and without what changes users, services and packages.
    commands = re.sub(r"(?<=[ =])/(etc|opt|srv)\b", rf"{tmp_path}/\1", textwrap.dedent(listing))
    (tmp_path / "etc" / "systemd" / "system").mkdir(parents=True)
    stand_ins = 'sudo() { "$@"; }; useradd() { :; }; systemctl() { :; }; python3() { :; }\n'
    stand_ins += 'graph() { :; }; install() { [ "${@: -2:1}" = graph.cuihop ] || command install "$@"; }\n'
    commands = "\n".join(line for line in commands.splitlines() if "/bin/pip" not in line)
    done = run("bash", "-euo", "pipefail", "-c", stand_ins + commands)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "etc" / "cuihop" / "environment").read_text().startswith("CUIHOP_GRAPH=")
    assert (tmp_path / "srv" / "cuihop").is_dir()
    assert (tmp_path / "etc" / "systemd" / "system" / "cuihop.service").is_file()


# Metrics in documentation and alerts


@pytest.fixture(scope="module")
def exposed() -> dict[str, set[str]]:
    """The label names of every sample that the service can tell."""
    graph, holder = example_graph(), GraphHolder()
    holder.serve(ServedGraph(graph.release, index=graph))
    metrics = Metrics(holder, lambda: {"misses": 1.0, "shared_errors": 1.0, "rates_failed": 1.0, "entries": 1.0})
    answer = Answer(1, graph.release.digest, "index", {})
    metrics.finished(
        RequestOutcome(RequestInfo("distance", "http"), ANONYMOUS, 0.1, "OK", answer.tier, answer.digest), None
    )
    families = text_string_to_metric_families(metrics.text()[0].decode())
    found: dict[str, set[str]] = {"up": {"job", "instance"}}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, {"instance"}).update(sample.labels)
    return found


def dashboard() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((ROOT / "deploy" / "prometheus" / "dashboard.json").read_text())
    return board


def expressions() -> list[str]:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())
    alerts = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    page = (ROOT / "docs" / "operations.md").read_text()
    return alerts + panels + re.findall(r"^```promql\n(.*?)^```$", page, re.M | re.S)


@pytest.mark.parametrize("expression", expressions())
def test_every_expression_is_promql_over_metrics_that_there_are(expression: str, exposed: dict[str, set[str]]) -> None:
    promql_parser.parse(expression)
    names = re.findall(r"\b(cuihop_\w+|up)\b", expression)
    assert names
    for name in names:
        assert name in exposed, name
    labels = {label for name in names for label in exposed[name]}
    grouped = [part.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for part in group.split(",")]
    matched = re.findall(r"(\w+)=~?\"([^\"]*)\"", expression)
    assert set(grouped) | {label for label, _ in matched} <= labels
    existing = {
        "state": set(STATES),
        "outcome": {"OK", "CANCELLED", "failed"} | {status.reason for status in STATUSES},
        "source": {"memory", "redis", "collapsed", "computed"},
        "operation": {"distance"},
        "job": {"cuihop"},
        "instance": {"$instance"},  # those that the dashboard's own list selects
    }
    for label, values in matched:
        assert set(values.split("|")) <= existing[label]


def test_the_dashboard_is_one_that_grafana_can_import_and_that_shows_every_metric_of_an_alert() -> None:
    board = dashboard()
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for position in (panel["gridPos"] for panel in panels)
        for x in range(position["x"], position["x"] + position["w"])
        for y in range(position["y"], position["y"] + position["h"])
    ]
    assert len(set(cells)) == len(cells)  # no panel lies on another
    assert max(x for x, _ in cells) < 24
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert variables["datasource"]["query"] == "prometheus"
    drawn = "".join(target["expr"] for panel in panels for target in panel["targets"])
    assert set(re.findall(r"\$(\w+)", drawn)) == {"instance"} < variables.keys()
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())
    alerted = "".join(rule["expr"] for group in rules["groups"] for rule in group["rules"])
    assert set(re.findall(r"cuihop_\w+", alerted)) - set(re.findall(r"cuihop_\w+", drawn)) == {
        "cuihop_worker_start_time_seconds"
    }


def test_every_alert_has_its_line_of_what_to_do() -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())
    page = (ROOT / "docs" / "operations.md").read_text()
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert alerts == set(re.findall(r"^\| `(Cuihop\w+)` \|", page, re.M))


def test_every_metric_is_documented_and_no_other(exposed: dict[str, set[str]]) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page[page.index("| metric |") : page.index("No label holds")]
    documented = set(re.findall(r"`(cuihop_\w+)`", table))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed if name != "up"}
    assert documented == families


def test_the_scrape_of_the_example_needs_no_more_than_there_is() -> None:
    (job,) = yaml.safe_load((ROOT / "deploy" / "prometheus" / "scrape.yaml").read_text())
    assert job["metrics_path"] == "/metrics"
    assert all(rule in ("cuihop", job["job_name"]) for rule in re.findall(r'job="(\w+)"', "".join(expressions())))
