#!/usr/bin/env bash
# Makes the offline root, a Debian testing system, or installs one of its layers: the packages below
# the line [LAYER] in packages.txt. Programs may run in the root meanwhile, because a layer only
# adds files.
#
# usage: root.sh ROOT          makes the base system (as root; ROOT must not exist)
#        root.sh ROOT LAYER    installs a layer
#
# The mirror and the keys that are trusted come from this machine's own apt configuration. Every
# signature is checked; only the age of the archive's Release file is not, so that a frozen mirror
# serves too.
set -euo pipefail

suite=forky
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$1 layer=${2:-}

# All mounts live in a namespace of this script's own: they go when it ends, however it ends.
if [[ -z ${BTF_OFFLINE_NAMESPACE:-} ]]; then
  BTF_OFFLINE_NAMESPACE=1 exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$@"
fi

step() { echo "bazelw: $*" >&3; echo "== $*"; }
{ : >&3; } 2>/dev/null || exec 3>&2

# machine_mirror prints the URI of the Debian archive that this machine's apt uses, then the file of
# apt's sources that names it.
machine_mirror() {
  # ORIGIN is empty as long as apt has no lists.
  apt-get indextargets 'Created-By: Packages' \
    --format '$(COMPONENT) $(RELEASE) $(REPO_URI) $(SOURCESENTRY) $(ORIGIN)' |
    awk '$1 == "main" && $2 !~ /-/ && ($5 == "Debian" || $5 == "") {
      sub(/:[0-9]+$/, "", $4); print $3, $4; exit }'
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

in_root() {
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive "$@"
}

make_base() {
  local mirror='' sources keyring ca_bundle
  if ! command -v mmdebstrap >/dev/null; then
    step "installing mmdebstrap"
    apt-get "${proxy_options[@]}" update
    DEBIAN_FRONTEND=noninteractive apt-get "${proxy_options[@]}" install -y \
      --no-install-recommends mmdebstrap
  fi
  read -r mirror sources < <(machine_mirror) || true
  if [[ -z $mirror ]]; then
    echo "apt's sources name no Debian archive: add one with component main to" \
      "/etc/apt/sources.list" >&2
    exit 1
  fi
  keyring=$(machine_keyring "$sources")

  mmdebstrap --mode=root --variant=minbase --skip=cleanup/apt --keyring="$keyring" \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt=force-unsafe-io "$suite" "$root" "$mirror"

  # The other layers come without what nothing reads in the root.
  printf 'path-exclude=%s\n' /usr/{share/{doc,info,locale,man},lib/jvm/*/jmods}/'*' \
    >"$root/etc/dpkg/dpkg.cfg.d/offline-root"
  cp "$keyring" "$root/usr/share/keyrings/machine-archive-keyring.${keyring##*.}"
  echo "deb [signed-by=/usr/share/keyrings/machine-archive-keyring.${keyring##*.}] $mirror $suite" \
    main >"$root/etc/apt/sources.list"
  ca_bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  mkdir -p "$root/etc/ssl/certs"
  if [[ -r $ca_bundle ]]; then cp -L "$ca_bundle" "$root/etc/ssl/certs/ca-certificates.crt"; fi
  if [[ -r /etc/resolv.conf ]]; then cp -L /etc/resolv.conf "$root/etc/resolv.conf"; fi
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service
  chmod +x "$root/usr/sbin/policy-rc.d"
  # Where enter.sh puts the machine's own root for a moment.
  mkdir -p "$root/.outside"
}

install_layer() {
  local packages install dir jni
  mapfile -t packages < <(awk -v want="[$layer]" \
    '/^\[/ { found = $0 == want; next } found && /^[^#]/' "$here/packages.txt")
  # Packages read proc, dev and sys while they configure (openjdk fails without).
  for dir in dev proc sys; do mount --rbind "/$dir" "$root/$dir"; done
  in_root dpkg --configure -a # if an installation was interrupted
  install=(in_root apt-get "${proxy_options[@]}" install -y "${packages[@]}")
  # If the mirror has replaced packages since the lists were fetched, fetch new lists.
  "${install[@]}" || { in_root apt-get "${proxy_options[@]}" update && "${install[@]}"; }
  in_root apt-get clean

  # Bazel looks for zstd's JNI library beside its server and the package doesn't put it there; the
  # compact execution log and cache compression need it.
  if [[ $layer == bazel ]]; then
    jni=$(cd "$root" && find usr/lib -name 'libzstd-jni.so.*' | sort | tail -n 1)
    ln -sf "/$jni" "$root/usr/share/bazel/libzstd-jni.so"
  fi
}

if [[ -z $layer ]]; then make_base; else install_layer; fi
