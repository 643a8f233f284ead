#!/usr/bin/env bash
# Fetches Debian testing's kernel for cloud machines, with its debugging
# information. Prints vmlinux's path; it is kept in
# ${XDG_CACHE_HOME:-~/.cache}/rules_btf/debian.
#
#   fetch-kernel.sh [META-PACKAGE]     default: linux-image-cloud-amd64-dbg
set -euo pipefail

repo=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
meta=${1:-linux-image-cloud-amd64-dbg}
dir=${XDG_CACHE_HOME:-$HOME/.cache}/rules_btf/debian/$meta
vmlinux() { find "$dir/kernel" -name vmlinux 2>/dev/null; }

if [[ -z $(vmlinux) ]]; then
  rm -rf "$dir"
  mkdir -p "$dir/partial"
  echo "fetch-kernel.sh: fetching $meta (once)" >&2
  # _apt, which apt downloads as, may not write below the caller's home.
  BAZELW_MODE=offline "$repo/bazelw" --root-exec bash -euc '
    package=$(apt-cache depends "$1" | sed -n "s/^ *Depends: \(linux-image-.*-dbg\)$/\1/p" | head -n 1)
    cd "$2/partial"
    apt-get -o APT::Sandbox::User=root download "${package:-$1}" >&2
    dpkg-deb --fsys-tarfile ./*.deb | tar --extract --wildcards "*/vmlinux"
    rm ./*.deb' fetch "$meta" "$dir"
  mv "$dir/partial" "$dir/kernel"
fi
vmlinux
