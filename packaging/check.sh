#!/usr/bin/env bash
# Check the systemd unit and the container recipe as far as this machine can, and name what was not tried.
#
#   packaging/check.sh /opt/engrain/bin/engrain
set -euo pipefail
cd "$(dirname "$0")"
engrain=$(realpath -s "$(command -v "${1:-engrain}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export engrain work
health=$(sed -n 's/^ *"\(import urllib.*\)"\]$/\1/p' Containerfile)
[ -n "$health" ]
export health

not_tried() { echo "not tried: $1"; }

if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=/opt/engrain/bin/engrain|ExecStart=$engrain|" engrain.service >"$work/engrain.service"
    systemd-analyze verify --man=no "$work/engrain.service"
    # In tenths; 10.0 is a service without any protection.
    systemd-analyze security --offline=true --threshold=20 "$work/engrain.service" >/dev/null
    echo "ok: the systemd unit is valid and hardened"
else
    not_tried "the systemd unit (no systemd-analyze)"
fi
not_tried "a start of the unit by systemd"

# What the container promises, without an image: a read-only file system, no capabilities, one writable folder.
if unshare -m -n true 2>/dev/null && command -v setpriv ip >/dev/null; then
    unshare -m -n bash -euo pipefail -c '
        mount --make-rprivate /
        cut -d " " -f 2 /proc/self/mounts | while read -r at; do mount -o remount,bind,ro "$at" 2>/dev/null || :; done
        mount -t tmpfs tmpfs "$work"
        cd "$work"
        if touch "$(dirname "$work")/probe" 2>/dev/null; then echo "the file system is not read-only" >&2; exit 1; fi
        ip link set lo up
        export HOME=$work ENGRAIN_DATA_DIR=$work/data ENGRAIN_HOST=0.0.0.0 ENGRAIN_JWT_SECRET=0123456789abcdef0123456789abcdef
        setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$engrain" serve >log 2>&1 &
        for _ in $(seq 120); do
            if python3 -c "$health" 2>/dev/null; then kill %1; wait %1; exit 0; fi
            kill -0 %1 2>/dev/null || break
            sleep 0.5
        done
        cat log >&2
        exit 1'
    echo "ok: it serves, is healthy and stops on a read-only file system"
else
    not_tried "a read-only file system (needs root, unshare, setpriv and ip)"
fi

built=
for tool in podman buildah docker; do
    if [ -z "$built" ] && command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
        "$tool" build -t engrain-check -f Containerfile ..
        built=$tool
        echo "ok: $tool builds the image"
    fi
done
[ -n "$built" ] || not_tried "the container image (no podman, no buildah, no docker with a daemon)"
