#!/usr/bin/env bash
# Imports a stand-in for the image haproxy:3.0-alpine, where no registry of images is to be had: HAProxy and BusyBox of
# Debian trixie, as the user and in the folder of the official image, which has Alpine's. Needs root and mmdebstrap.
#   DOCKER   the client of the engine (default: docker)
set -euo pipefail
docker=${DOCKER:-docker}
if "$docker" image inspect haproxy:3.0-alpine > /dev/null 2>&1; then exit; fi
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources)
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=minbase --components=main --include=haproxy,busybox \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --customize-hook='sed -i "s/^haproxy:x:[0-9]*:[0-9]*:/haproxy:x:99:99:/" "$1/etc/passwd" && sed -i "s/^haproxy:x:[0-9]*:/haproxy:x:99:/" "$1/etc/group"' \
    --customize-hook='install -d "$1/usr/local/etc/haproxy" && ln -s busybox "$1/bin/wget"' \
    trixie - "$mirror" \
    | "$docker" import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' --change 'USER haproxy' \
        --change 'STOPSIGNAL SIGUSR1' --change 'WORKDIR /var/lib/haproxy' \
        --change 'CMD ["haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]' - haproxy:3.0-alpine > /dev/null
