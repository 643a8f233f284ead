#!/usr/bin/env bash
# Fetches one of Debian's kernels with its DWARF, and prints the path of vmlinux. This file and the
# given MODULEs (xfs, amdgpu, …) are kept in ${XDG_CACHE_HOME:-~/.cache}/rules_btf/debian.
#
#   fetch-kernel.sh [META-PACKAGE[:ARCHITECTURE][/SUITE] [MODULE]…]
#
# The default is linux-image-cloud-amd64-dbg from testing. Other examples are
# linux-image-s390x-dbg:s390x and linux-image-686-pae-dbg:i386/bookworm.
set -euo pipefail

repo=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
package=${1:-linux-image-cloud-amd64-dbg}
modules=("${@:2}")
dir=${XDG_CACHE_HOME:-$HOME/.cache}/rules_btf/debian/${package//[:\/]/_}

# found NAME: prints the path of the file NAME. Below boot, the file may also be NAME-VERSION.
found() {
  find "$dir/kernel" -type f \( -name "$1" -o -name "$1-*" -path '*/boot/*' \) 2>/dev/null |
    head -n 1
}
complete() {
  local name
  for name in vmlinux "${modules[@]/%/.ko}"; do
    if [[ $name && -z $(found "$name") ]]; then return 1; fi
  done
}

if ! complete; then
  rm -rf "$dir"
  mkdir -p "$dir/partial"
  echo "fetch-kernel.sh: fetching $package (once)" >&2
  # apt downloads as the user _apt, who can't write below the caller's home.
  BAZELW_MODE=offline "$repo/bazelw" --root-exec bash -euc '
    package=$1 dir=$2
    shift 2
    suite=${package#*/} package=${package%%/*}
    if [[ $suite == "$package" ]]; then suite=; fi
    arch=${package#*:} package=${package%%:*}
    if [[ $arch == "$package" ]]; then arch=; fi
    options=(-o APT::Sandbox::User=root)
    if [[ -n $arch$suite ]]; then
      # Give apt separate lists and packages for this architecture and suite.
      apt=$dir/apt
      mkdir -p "$apt"/{state/lists,cache/archives}/partial
      touch "$apt/status"
      sed -E "s/^(deb .*) [^ ]+ main$/\1 ${suite:-testing} main/" /etc/apt/sources.list \
        >"$apt/sources.list"
      options+=(-o APT::Architecture="${arch:-amd64}" -o APT::Architectures="${arch:-amd64}"
        -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
        -o Dir::Etc::SourceList="$apt/sources.list")
      apt-get "${options[@]}" update >&2
    fi
    depends=$(apt-cache "${options[@]}" depends "$package" |
      sed -n "s/^ *Depends: \(linux-image-.*-dbg\)$/\1/p" | head -n 1)
    cd "$dir/partial"
    apt-get "${options[@]}" download "${depends:-$package}" >&2
    dpkg-deb --fsys-tarfile ./*.deb | tar --extract --wildcards "${@/#/*\/}"
    rm -rf ./*.deb "$dir/apt"' fetch "$package" "$dir" 'vmlinux*' "${modules[@]/%/.ko}"
  mv "$dir/partial" "$dir/kernel"
fi
found vmlinux
