#!/bin/sh
exec /usr/bin/llvm-objcopy "$@"
