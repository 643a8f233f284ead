#!/bin/sh
# Adds the .BTF of an object file to a copy of vmlinux. linux.bzl links vmlinux with that file
# instead.
#
# usage: with_btf VMLINUX OBJECT OUT
set -eu

/usr/bin/llvm-objcopy --dump-section=.BTF="$3.raw" "$2" "$3.copy"
/usr/bin/llvm-objcopy --add-section=.BTF="$3.raw" "$1" "$3"
rm "$3.raw" "$3.copy"
