#!/usr/bin/env bash
# Builds a Debian testing root that holds Bazel, its cache server and executor, and the BTF oracles.
#
# usage: root.sh DEST        (as root; DEST must not exist; takes a few minutes and about 3 GB)
#
# The mirror and the keys that are trusted come from this machine's own apt configuration. Every
# signature is checked; only the age of the archive's Release file is not, so that a frozen mirror
# serves too.
set -euo pipefail

suite=forky
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dest=$1

# All mounts live in a namespace of this script's own: they go when it ends, however it ends.
if [[ -z ${BTF_OFFLINE_NAMESPACE:-} ]]; then
  BTF_OFFLINE_NAMESPACE=1 exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$@"
fi

step() { echo "bazelw: $*" >&3; echo "== $*"; }
{ : >&3; } 2>/dev/null || exec 3>&2

# machine_mirror prints the URI of the Debian archive that this machine's apt uses, then the file of
# apt's sources that names it.
machine_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI) $(SOURCESENTRY)' 'Created-By: Packages' |
    awk -v want="$codename" '$1 == "main" && ($2 == want || want == "") { sub(/:[0-9]+$/, "", $4); print $3, $4; exit }'
}

# machine_keyring prints the keyring that apt's sources file $1 trusts.
machine_keyring() {
  local key
  key=$(sed -nE 's/^Signed-By:[[:space:]]*(\/[^[:space:]]+).*/\1/p; s/.*signed-by=(\/[^],[:space:]]+).*/\1/p' "$1" | head -n 1)
  for key in "$key" /usr/share/keyrings/debian-archive-keyring.gpg /etc/apt/trusted.gpg; do
    if [[ -n $key && -r $key ]]; then
      echo "$key"
      return
    fi
  done
  echo "no keyring for the archive: install debian-archive-keyring" >&2
  return 1
}

# apt's proxy settings hold for the new root too.
proxy_options=()
for scheme in http https; do
  eval "$(apt-config shell proxy "Acquire::$scheme::Proxy")"
  if [[ -n ${proxy:-} ]]; then
    proxy_options+=(-o "Acquire::$scheme::Proxy=$proxy")
    export "${scheme}_proxy=$proxy"
  fi
  proxy=
done

if ! command -v debootstrap >/dev/null; then
  step "installing debootstrap"
  apt-get "${proxy_options[@]}" update
  DEBIAN_FRONTEND=noninteractive apt-get "${proxy_options[@]}" install -y --no-install-recommends debootstrap
fi

read -r mirror sources < <(machine_mirror) || true
if [[ -z ${mirror:-} ]]; then
  echo "apt's sources name no Debian archive: add one with component main to /etc/apt/sources.list" >&2
  exit 1
fi
keyring=$(machine_keyring "$sources")

step "base system ($suite)"
debootstrap --variant=minbase --keyring="$keyring" "$suite" "$dest" "$mirror" /usr/share/debootstrap/scripts/sid

cp "$keyring" "$dest/usr/share/keyrings/machine-archive-keyring.${keyring##*.}"
echo "deb [signed-by=/usr/share/keyrings/machine-archive-keyring.${keyring##*.}] $mirror $suite main" >"$dest/etc/apt/sources.list"
ca_bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
mkdir -p "$dest/etc/ssl/certs"
if [[ -r $ca_bundle ]]; then cp -L "$ca_bundle" "$dest/etc/ssl/certs/ca-certificates.crt"; fi
if [[ -r /etc/resolv.conf ]]; then cp -L /etc/resolv.conf "$dest/etc/resolv.conf"; fi
printf 'Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\n' >"$dest/etc/apt/apt.conf.d/90offline-root"
printf '#!/bin/sh\nexit 101\n' >"$dest/usr/sbin/policy-rc.d" # no package starts a service
chmod +x "$dest/usr/sbin/policy-rc.d"

# Packages read proc, dev and sys while they configure (openjdk fails without).
mount -t proc proc "$dest/proc"
mount --rbind /dev "$dest/dev"
mount --rbind /sys "$dest/sys"

in_root() { chroot "$dest" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

step "package lists"
in_root apt-get "${proxy_options[@]}" update
step "packages"
mapfile -t packages < <(sed -E 's/#.*//; /^[[:space:]]*$/d' "$here/packages.txt")
in_root apt-get "${proxy_options[@]}" install -y --no-install-recommends "${packages[@]}"
in_root apt-get clean

# Bazel looks for zstd's JNI library beside its server and the package doesn't put it there; the
# compact execution log and cache compression need it.
jni=$(cd "$dest" && find usr/lib -name 'libzstd-jni.so.*' | sort | tail -n 1)
ln -sf "/$jni" "$dest/usr/share/bazel/libzstd-jni.so"

# Where enter.sh puts the machine's own root for a moment.
mkdir -p "$dest/.outside"
