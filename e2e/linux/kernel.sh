#!/usr/bin/env bash
# Builds a small Linux kernel with modules, unless it was built before. After that, `bazel build
# //:vmlinux_btf` works in this directory.
#
#   ./kernel.sh
#
# The kernel's source is from Debian's package linux-source in the offline root. Kbuild builds the
# kernel with the configuration from the files in config. The result is kept in
# ${XDG_CACHE_HOME:-~/.cache}/rules_btf/linux-DIGEST. It is used until the kernel's version, the
# compiler, pahole, a file in config or kernel-build.sh changes. The script prints that directory.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
repo=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rules_btf
in_root() { BAZELW_MODE=offline "$repo/bazelw" --root-exec "$@"; }

config=("$here"/config/{common,x86_64,map}.config)
digest=$({
  in_root dpkg-query --show gcc binutils pahole 'linux-source*'
  cat "${config[@]}" "$here/kernel-build.sh"
} | sha256sum | cut -c 1-16)
kernel=$cache/linux-$digest

if [[ ! -e $kernel ]]; then
  mkdir -p "$cache"
  exec {lock}>"$cache/linux.lock"
  flock "$lock"
  if [[ ! -e $kernel ]]; then
    rm -rf "$kernel.partial"
    echo "kernel.sh: building a kernel (once, 4 to 8 minutes; log: $kernel.log)" >&2
    if ! in_root bash "$here/kernel-build.sh" "$kernel.partial" "${config[@]}" {lock}>&- \
      >"$kernel.log"; then
      tail -n 20 "$kernel.log" >&2
      echo "kernel.sh: the kernel's build failed, see $kernel.log" >&2
      exit 1
    fi
    mv "$kernel.partial" "$kernel"
  fi
  exec {lock}>&-
fi

# Write the option that has the path of the kernel for Bazel.
printf '# Written by kernel.sh.\ncommon --repo_env=KERNEL_DIR=%s\n' "$kernel" \
  >"$here/kernel.bazelrc.tmp"
mv "$here/kernel.bazelrc.tmp" "$here/kernel.bazelrc"
echo "$kernel"
