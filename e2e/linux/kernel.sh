#!/usr/bin/env bash
# Builds a small Linux kernel with modules, unless it was built before. After that, `bazel build
# //:vmlinux_btf` works in this directory.
#
#   ./kernel.sh [--edited]      --edited: if it was built before, compiles what was edited since
#
# If ./bazelw is offline, the kernel is built in its root, from Debian's package linux-source.
# Otherwise it is built with this machine's compiler, from the distribution's package linux-source,
# or else from a release of kernel.org. KERNEL_SOURCE=DIRECTORY|ARCHIVE is another source.
#
# Kbuild builds the kernel with the configuration from the files in config. The result is kept in
# ${XDG_CACHE_HOME:-~/.cache}/rules_btf/linux-DIGEST. It is used until the source, the compiler, a
# file in config or kernel-build.sh changes. The script prints that directory.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
repo=$(cd "$here/../.." && pwd)
cache=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")/rules_btf
say() { echo "kernel.sh: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# check_machine: this machine has what a kernel's build needs, or the script ends with a line that
# says how to install it.
check_machine() {
  [[ $(uname -m) == x86_64 ]] || die "the kernel's configuration is for x86-64: use such a machine"
  local tool missing=() manager common='bc bison flex gcc make perl'
  for tool in bc bison flex gcc make perl xz; do
    type -P "$tool" >/dev/null || missing+=("$tool")
  done
  gcc -E -include gelf.h -x c /dev/null >/dev/null 2>&1 || missing+=(gelf.h)
  if ((${#missing[@]} == 0)); then return; fi
  local -A install=(
    [apt-get]="apt-get install $common libelf-dev xz-utils"
    [dnf]="dnf install $common elfutils-libelf-devel xz"
    [pacman]="pacman -S $common libelf xz"
    [zypper]="zypper install $common libelf-devel xz"
  )
  for manager in "${!install[@]}"; do
    if type -P "$manager" >/dev/null; then
      die "a kernel's build needs ${missing[*]}: sudo ${install[$manager]}"
    fi
  done
  die "a kernel's build needs ${missing[*]}: install them"
}

# machine_source prints the path of the archive with a kernel's source.
machine_source() {
  local package dir=$cache/source archive
  package=$(apt-cache depends linux-source 2>/dev/null |
    sed -n 's/^ *Depends: \(linux-source-.*\)/\1/p' | head -n 1) || true
  if [[ $package && ! -e $dir/$package ]]; then
    say "fetching the package $package"
    rm -rf "$dir"
    mkdir -p "$dir"
    if (cd "$dir" && apt-get -qq download "$package" && dpkg-deb --extract ./*.deb "$package") \
      >&2; then rm "$dir"/*.deb; else rm -rf "$dir"; fi
  fi
  archive=$(find "$dir" -name 'linux-source-*.tar.*' 2>/dev/null | head -n 1)
  if [[ -z $archive ]]; then
    say "fetching a kernel's source from kernel.org"
    archive=$(cd "$here" && "$repo/bazelw" cquery --output=files @linux_source//file 2>/dev/null &&
      "$repo/bazelw" info output_base 2>/dev/null) ||
      die "can't fetch a kernel's source: set KERNEL_SOURCE to a kernel's directory or archive"
    archive=${archive#*$'\n'}/${archive%$'\n'*}
  fi
  echo "$archive"
}

mode=$("$repo/bazelw" --mode)
mkdir -p "$cache"
exec {lock}>"$cache/linux.lock"
flock "$lock"
if [[ $mode == offline ]]; then
  run() { BAZELW_MODE=offline "$repo/bazelw" --root-exec=kernel "$@" {lock}>&-; }
  source=${KERNEL_SOURCE:-$(run bash -c 'ls -v /usr/src/linux-source-*.tar.xz | tail -n 1')}
else
  run() { "$@" {lock}>&-; }
  check_machine
  source=${KERNEL_SOURCE:-$(machine_source {lock}>&-)}
fi
config=("$here"/config/{common,x86_64,map}.config)
digest=$({
  run bash -c 'gcc --version; ld --version; stat --format="%n %s %Y" "$1"' - "$source"
  cat "${config[@]}" "$here/kernel-build.sh"
} | sha256sum | cut -c 1-16)
kernel=$cache/linux-$digest
complete=$kernel/.complete

if [[ ! -e $complete || ${1:-} == --edited ]]; then
  if [[ ! -e $complete ]]; then
    rm -rf "$kernel"
    say "building a kernel (once, a few minutes; log: $kernel.log)"
  fi
  # Without pahole, Kbuild makes the kernel's own BTF with ours.
  if ! run bash -c 'type -P pahole' >/dev/null; then
    CGO_ENABLED=0 go build -C "$repo" -trimpath -buildvcs=false -o "$cache/pahole" \
      -pgo=tools/pahole/default.pgo ./tools/pahole
    export PAHOLE=$cache/pahole
  fi
  if ! run bash "$here/kernel-build.sh" "$kernel" "$source" "${config[@]}" >"$kernel.log"; then
    tail -n 20 "$kernel.log" >&2
    die "the kernel's build failed, see $kernel.log"
  fi
  touch "$complete"
fi
exec {lock}>&-

# Write the option that has the path of the kernel for Bazel.
printf '# Written by kernel.sh.\ncommon --repo_env=KERNEL_DIR=%s\n' "$kernel" \
  >"$here/kernel.bazelrc.tmp"
mv "$here/kernel.bazelrc.tmp" "$here/kernel.bazelrc"
echo "$kernel"
