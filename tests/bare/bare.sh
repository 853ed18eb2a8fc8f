#!/usr/bin/env bash
# What the pages promise, on a bare Debian 12: bare.sh [FOLDER]
#
# debootstrap makes two roots in FOLDER (build-bare), each with nothing but Debian's required packages.  In the
# first, inside.sh follows the pages: the blocks that install, then every block of the tutorial and of the other
# pages, and the notebooks, with the package in a virtual environment.  In the second, the packages of the first
# one's build are installed and used.  Needs root, the network for Debian's packages, 4 GB and half an hour; exit
# code 77 where root or debootstrap is missing.  FOLDER is deleted at the end; STAIR_BARE_KEEP=1 keeps it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
folder=${1:-$source/build-bare}

[ "$(id -u)" = 0 ] || { echo "skipped: only root can change roots"; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: debootstrap is not installed"; exit 77; }

[ ! -e "$folder/tree" ] && [ ! -e "$folder/debs" ] || { echo "FAILED: $folder holds an older run: delete it"; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
cleanup() { [ "${STAIR_BARE_KEEP-}" = 1 ] || rm -rf --one-file-system "$folder"; }
trap cleanup EXIT

# Mounts live in a namespace of their own and end with it: nothing of this machine is below the root when it is deleted.
inside() { # ROOT COMMAND...
    local root=$1
    shift
    unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
        env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}

prepare() { # ROOT: network, and answers to apt's questions; without recommended packages less is there to help
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    printf '%s\n' 'APT::Get::Assume-Yes "true";' 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/99bare"
}

debootstrap --variant=minbase bookworm "$folder/tree" >"$folder/debootstrap.log" 2>&1 ||
    { tail -n 20 "$folder/debootstrap.log"; echo "FAILED: debootstrap"; exit 1; }
prepare "$folder/tree"
cp -a "$folder/tree" "$folder/debs"
echo "ok: two roots of Debian $(cat "$folder/tree/etc/debian_version")"

mkdir -p "$folder/tree/root/stair"
(cd "$source" && git ls-files -z --cached --others --exclude-standard | tar cf - --null -T - --ignore-failed-read) |
    tar xf - -C "$folder/tree/root/stair"
inside "$folder/tree" bash /root/stair/tests/bare/inside.sh pages

cp "$folder"/tree/root/stair/build/*.deb "$folder/debs/root/"
cp "$source/tests/bare/inside.sh" "$source/tests/library/threshold.c" "$folder/debs/root/"
inside "$folder/debs" bash /root/inside.sh packages
