#!/usr/bin/env bash
# Builds vmlinux and the modules in a directory. If make has configured a kernel there before, only
# what was edited is compiled again.
#
# usage: kernel-build.sh DIR SOURCE FRAGMENT…      SOURCE is a kernel's archive or directory
set -euo pipefail

dir=$1 source=$2
shift 2
fragments=("$@")
make=(make PAHOLE="${PAHOLE:-pahole}")
say() { echo "kernel: $*" >&2; }

unpack() {
  say "unpacking $source"
  # Kconfig needs all of its files; the code of what is not built can be left out. Each pattern
  # costs tar time, so there are few.
  local part tar=(tar --extract --directory "$dir" --strip-components=1 --exclude=tools/perf
    --exclude=tools/testing --exclude='*/Documentation/*/*' --exclude='*/arch/[!x]*/*.[chdS]*')
  for part in drivers/{accel,clk,crypto,gpu,hwmon,iio,infiniband,md,media,mtd} \
    drivers/net/{ethernet,wireless} drivers/{phy,pinctrl,platform,scsi,staging,usb} \
    fs/{btrfs,smb,xfs} sound; do
    tar+=(--exclude="*/$part/*.[chS]")
  done
  mkdir -p "$dir"
  if [[ -d $source ]]; then
    tar --create --directory "$source" --exclude=./.git . | "${tar[@]}"
  else
    XZ_DEFAULTS=--threads=0 "${tar[@]}" --file "$source"
  fi
}

configure() {
  say "configuring"
  "${make[@]}" --silent tinyconfig
  scripts/kconfig/merge_config.sh -m .config "${fragments[@]}" >/dev/null
  "${make[@]}" --silent olddefconfig
  local missing
  missing=$(cat "${fragments[@]}" | grep '^CONFIG' |
    grep --invert-match --line-regexp --fixed-strings --file=.config) || true
  if [[ -n $missing ]]; then
    say "the configuration lacks" $missing
    exit 1
  fi
}

export KBUILD_BUILD_TIMESTAMP='1970-01-01' KBUILD_BUILD_USER=rules_btf KBUILD_BUILD_HOST=rules_btf
if [[ ! -e $dir/include/config/auto.conf ]]; then
  unpack
  cd "$dir"
  configure
fi
cd "$dir"
say "compiling with $(nproc) jobs"
# A line of progress every 100 files goes to the terminal, everything to the log.
files=0
"${make[@]}" -j"$(nproc)" vmlinux modules 2>&1 | while IFS= read -r line; do
  printf '%s\n' "$line"
  if [[ $line == '  CC '* ]] && ((++files % 100 == 0)); then say "$files files"; fi
done
say "done in $SECONDS s"
