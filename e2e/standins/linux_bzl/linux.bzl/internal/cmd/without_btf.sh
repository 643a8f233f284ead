#!/bin/sh
# Copies a module of the kernel that e2e/linux has built, without the BTF that Kbuild has put there.
# linux.bzl links the module instead.
#
# usage: without_btf MODULE OUT
exec /usr/bin/llvm-objcopy --remove-section=.BTF --remove-section=.BTF.base "$1" "$2"
