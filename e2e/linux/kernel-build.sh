#!/usr/bin/env bash
# Unpacks the newest /usr/src/linux-source-*.tar.xz into a new directory and builds vmlinux and the
# modules there.
#
# usage: kernel-build.sh DIR FRAGMENT…
set -euo pipefail

dir=$1
shift
fragments=("$@")
say() { echo "kernel: $*" >&2; }

source=$(ls -v /usr/src/linux-source-*.tar.xz | tail -n 1)
say "unpacking $source"
mkdir -p "$dir"
# Kconfig needs all of its files; the code of what is not built can be left out.
exclude=()
for part in Documentation drivers/{accel,clk,crypto,gpu,hwmon,iio,infiniband,md,media,mtd} \
  drivers/net/{ethernet,wireless} drivers/{phy,pinctrl,platform,scsi,staging,usb} \
  fs/{btrfs,smb,xfs} sound tools/{perf,testing} \
  arch/{alpha,arc,arm,arm64,csky,hexagon,loongarch,m68k,microblaze,mips,nios2,openrisc} \
  arch/{parisc,powerpc,riscv,s390,sh,sparc,um,xtensa}; do
  for suffix in c h S rst dts dtsi yaml json txt; do
    exclude+=(--exclude="*/$part/*.$suffix")
  done
done
tar --extract --file "$source" --directory "$dir" --strip-components=1 "${exclude[@]}"

cd "$dir"
say "configuring"
make --silent tinyconfig
scripts/kconfig/merge_config.sh -m .config "${fragments[@]}" >/dev/null
make --silent olddefconfig
missing=$(cat "${fragments[@]}" | grep '^CONFIG' |
  grep --invert-match --line-regexp --fixed-strings --file=.config) || true
if [[ -n $missing ]]; then
  say "the configuration lacks" $missing
  exit 1
fi

export KBUILD_BUILD_TIMESTAMP='1970-01-01' KBUILD_BUILD_USER=rules_btf KBUILD_BUILD_HOST=rules_btf
say "compiling with $(nproc) jobs"
# A line of progress every 100 files goes to the terminal, everything to the log.
files=0
make -j"$(nproc)" vmlinux modules 2>&1 | while IFS= read -r line; do
  printf '%s\n' "$line"
  if [[ $line == '  CC '* ]] && ((++files % 100 == 0)); then say "$files files"; fi
done
say "done in $SECONDS s"
