#!/usr/bin/env bash
# Runs a command in the offline root. The machine's own directories (workspace, home, temporary
# files, caches) are visible there at their own paths, so that what the command writes, such as
# bazel-bin/…, can be opened outside too.
#
# usage: enter.sh ROOT BAZELRC COMMAND [ARG]…     (BAZELRC becomes Bazel's system-wide rc file,
#                                                unless it is empty)
#
# This uses pivot_root, not chroot, because Bazel's linux-sandbox and bubblewrap need user
# namespaces, which can't be created in a chroot.
set -euo pipefail

root=$1 bazelrc=$2
shift 2
if [[ -z ${BTF_OFFLINE_NAMESPACE:-} ]]; then
  export BTF_OFFLINE_NAMESPACE=1
  exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$root" "$bazelrc" "$@"
fi
unset BTF_OFFLINE_NAMESPACE

# show DIR…: makes the machine's directories visible at their own paths in the root.
show() {
  local dir
  for dir in "$@"; do
    if [[ -d $dir && $dir == /* ]]; then
      mkdir -p "$root$dir"
      mount --rbind "$dir" "$root$dir"
    fi
  done
}

mount --bind "$root" "$root"
for dir in /*; do
  case $dir in
    /bin | /boot | /etc | /lib* | /lost+found | /sbin | /usr | /var) ;; # the root's own
    *) if [[ ! -L $dir ]]; then show "$dir"; fi ;;
  esac
done
# These are the directories that the build uses below directories of the root.
goroot=$(go env GOROOT) gomodcache=$(go env GOMODCACHE)
for dir in "$goroot" "$gomodcache" "$(go env GOCACHE)" "$HOME" "${XDG_CACHE_HOME:-}" \
  "${TMPDIR:-}" "$PWD" "${BTF_OFFLINE_REPO:-}"; do
  case $dir in
    /etc/* | /lib/* | /usr/* | /var/*) show "$dir" ;;
  esac
done
for file in /etc/resolv.conf /etc/hosts; do
  if [[ -r $file ]]; then
    touch "$root$file"
    mount --bind "$(readlink -f "$file")" "$root$file"
  fi
done
if [[ $bazelrc ]]; then mount --bind "$bazelrc" "$root/etc/bazel/bazelrc"; fi
ca_bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [[ -r $ca_bundle ]]; then
  mount --bind "$(readlink -f "$ca_bundle")" "$root/etc/ssl/certs/ca-certificates.crt"
  export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
fi

workdir=$PWD
cd "$root"
pivot_root . .outside
cd /
export PATH=$goroot/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset JAVA_HOME LD_LIBRARY_PATH LD_PRELOAD
umount -l /.outside
cd "$workdir"
exec "$@"
