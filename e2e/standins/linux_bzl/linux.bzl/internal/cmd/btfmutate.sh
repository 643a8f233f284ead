#!/usr/bin/env bash
# Copies a file, and runs a command that changes the copy, in an empty environment.
#
# usage: btfmutate -input FILE -output COPY [-env NAME=VALUE] [-elf-et-rel-endian little] -- COMMAND…
#
# The word {output} of the command is replaced by the path of the copy. With -elf-et-rel-endian, the
# result becomes a relocatable file.
set -euo pipefail

environment=() relocatable=
while [[ $1 != -- ]]; do
  case $1 in
    -input) input=$2 ;;
    -output) output=$2 ;;
    -env) environment+=("$2") ;;
    -elf-et-rel-endian) relocatable=yes ;;
    *)
      echo "btfmutate: unknown option $1" >&2
      exit 2
      ;;
  esac
  shift 2
done
shift

cp -L -- "$input" "$output"
chmod 600 "$output"
env -i "${environment[@]}" "${@/#'{output}'/$output}"
if [[ $relocatable ]]; then
  printf '\1\0' | dd of="$output" bs=1 seek=16 conv=notrunc status=none # e_type
fi
