# Builds a kernel from a few sources in the current directory. The commands, and the files that
# record them, resemble Kbuild's. KERNEL_OBJECTS are linked into vmlinux, FAT_OBJECTS into a module.
# CFLAGS are further options of the compiler.
set -eu

compile() {
  for o; do
    gcc -g -O1 $CFLAGS -fno-lto -fno-pic -ffreestanding -c -o "$o" "${o%.o}.c"
    printf 'savedcmd_%s := gcc -g -O1 -c -o %s\n\nsource_%s := %s\n' "$o" "$o" "$o" "${o%.o}.c" \
      >"$(dirname "$o")/.$(basename "$o").cmd"
  done
}

compile $KERNEL_OBJECTS lib/bcd.o lib/unused.o $FAT_OBJECTS fs/fat/fat.mod.o
gcc -g0 -c -o init/head.o init/head.S
rm -f vmlinux.a lib/lib.a
ar cDPrST vmlinux.a init/head.o $KERNEL_OBJECTS
ar cDPrsT lib/lib.a lib/bcd.o lib/unused.o
link() { ld "$@" --whole-archive vmlinux.a --no-whole-archive --start-group lib/lib.a --end-group; }
link -r -o vmlinux.o
echo "savedcmd_vmlinux.o := ld -r -o vmlinux.o  --whole-archive vmlinux.a --no-whole-archive" \
  "--start-group lib/lib.a --end-group ; ./tools/objtool/objtool --link vmlinux.o" >.vmlinux.o.cmd
link -e start -o vmlinux

printf '%s\n' $FAT_OBJECTS >fs/fat/fat.mod
ld -r -o fs/fat/fat.o $FAT_OBJECTS
ld -r -o fs/fat/fat.ko fs/fat/fat.o fs/fat/fat.mod.o
echo "savedcmd_fs/fat/fat.ko := ld -r -o fs/fat/fat.ko fs/fat/fat.o fs/fat/fat.mod.o" \
  >fs/fat/.fat.ko.cmd
echo fs/fat/fat.o >modules.order
