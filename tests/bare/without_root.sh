#!/usr/bin/env bash
# A user without root, in a bare Debian 12 with a compiler, CMake and make, no library of ours, and no network:
# without_root.sh [FOLDER]
#
# debootstrap makes a root in FOLDER (build-user).  In it user.sh runs as an unprivileged user, first without
# CMake, then with it, then with Open MPI.  Needs root, the network for Debian's packages, 2 GB and ten minutes;
# exit code 77 where root or debootstrap is missing.  FOLDER is deleted at the end; STAIR_BARE_KEEP=1 keeps it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
folder=${1:-$source/build-user}

[ "$(id -u)" = 0 ] || { echo "skipped: only root can change roots"; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: debootstrap is not installed"; exit 77; }
command -v ip >/dev/null || { echo "skipped: iproute2 is not installed"; exit 77; }
[ ! -e "$folder/tree" ] || { echo "FAILED: $folder holds an older run: delete it"; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
tree=$folder/tree
cleanup() { [ "${STAIR_BARE_KEEP-}" = 1 ] || rm -rf --one-file-system "$folder"; }
trap cleanup EXIT

# Mounts, processes and the network are those of a namespace, and end with it.  Open MPI asks for an interface.
inside() { # OPTIONS-OF-unshare OPTIONS-OF-chroot COMMAND...
    local unshared=$1 options=$2
    shift 2
    unshare --mount --pid --fork $unshared sh -c 'tree=$0; options=$1; shift
        ip link set lo up
        mount -t proc proc "$tree/proc" && mount -t devtmpfs dev "$tree/dev" && mount -t tmpfs shm "$tree/dev/shm" &&
            exec chroot $options "$tree" "$@"' "$tree" "$options" \
        env -i HOME=/home/someone PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
as_root() { inside "" "" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >"$folder/log" 2>&1 </dev/null ||
    { tail -n 20 "$folder/log"; echo "FAILED: $*"; exit 1; }; }
as_user() { inside --net "--userspec=someone" bash /home/someone/user.sh "$@"; }

debootstrap --variant=minbase --include=gcc,libc6-dev,make bookworm "$tree" >"$folder/log" 2>&1 ||
    { tail -n 20 "$folder/log"; echo "FAILED: debootstrap"; exit 1; }
cp /etc/resolv.conf "$tree/etc/resolv.conf"
as_root useradd -m someone
mkdir "$tree/home/someone/stair"
(cd "$source" && git ls-files -z --cached --others --exclude-standard | tar cf - --null -T - --ignore-failed-read) |
    tar xf - -C "$tree/home/someone/stair"
cp "$here/user.sh" "$tree/home/someone/"
as_root chown -R someone /home/someone
echo "ok: Debian $(cat "$tree/etc/debian_version") with gcc and make"

as_user nothing
as_root apt-get -qq update
as_root apt-get -qq -y --no-install-recommends install cmake
as_user alone
as_root apt-get -qq -y --no-install-recommends install openmpi-bin libopenmpi-dev
as_user ranks
echo "ok: all of it"
