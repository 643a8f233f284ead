#!/usr/bin/env bash
# Fetches the input of the test in this directory: Debian's kernels 7.3 (from the suite
# experimental), 7.2, 6.12 and 6.1 for amd64, and 7.2 for s390x, which is big-endian. For each
# kernel, it fetches the modules that have .BTF_ids, and the program resolve_btfids. The files are
# kept in ${XDG_CACHE_HOME:-~/.cache}/rules_btf/ids; the script prints that directory.
#
#   IDS_DIR=$(e2e/ids/fetch.sh) ./bazelw --root-exec go test -v ./e2e/ids
#
# There, each kernel has a directory with vmlinux, modules and resolve_btfids. Debian has no
# resolve_btfids for 6.1. If you build that program and put it into the directory 6.1, the test uses
# it.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
repo=$(cd "$here/../.." && pwd)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/rules_btf/ids

# fetch NAME META-PACKAGE SUITE ARCHITECTURE FLAVOUR
fetch() {
  local name=$1 suite=$3 arch=$4 flavour=$5 vmlinux version
  if [[ -e $dir/$name/modules ]]; then return; fi
  vmlinux=$("$here/../fetch-kernel.sh" "$2")
  version=$(grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?[-+][^/]*' <<<"$vmlinux" | head -n 1)
  echo "fetch.sh: fetching the modules of $version (once)" >&2
  rm -rf "$dir/$name.partial"
  mkdir -p "$dir/$name.partial"
  BAZELW_MODE=offline "$repo/bazelw" --root-exec bash "$here/download.sh" "$dir/$name.partial" \
    "$suite" "$arch" "$version" "${version%-"$flavour"}"
  ln -s "$vmlinux" "$dir/$name.partial/vmlinux"
  rm -rf "${dir:?}/$name"
  mv "$dir/$name.partial" "$dir/$name"
}

fetch 7.3 linux-image-cloud-amd64-dbg/experimental experimental amd64 cloud-amd64
fetch 7.2 linux-image-cloud-amd64-dbg forky amd64 cloud-amd64
fetch 7.2-s390x linux-image-s390x-dbg:s390x forky s390x s390x
fetch 6.12 linux-image-cloud-amd64-dbg/trixie trixie amd64 cloud-amd64
fetch 6.1 linux-image-cloud-amd64-dbg/bookworm bookworm amd64 cloud-amd64
# resolve_btfids runs on this machine, so the program for s390x kernels is the same.
if [[ ! -e $dir/7.2-s390x/resolve_btfids ]]; then
  cp "$dir/7.2/resolve_btfids" "$dir/7.2-s390x/"
fi
echo "$dir"
