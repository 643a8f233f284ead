#!/usr/bin/env bash
# Makes the files of a release in the current directory, which is a checkout, and prints the
# release's notes.
#
#   .github/workflows/release_prep.sh vVERSION
set -euo pipefail

tag=$1
version=$(sed -n '/^module(/,/^)/s/^ *version = "\(.*\)",$/\1/p' MODULE.bazel)
if [[ $tag != "v$version" ]]; then
  echo "release_prep.sh: the tag is $tag, but MODULE.bazel has version $version" >&2
  exit 1
fi

tools/dev/release -o release
mv release/* .
rmdir release

# The registry shows the documentation that Bazel extracts.
extracts=$(bazel query 'kind("starlark_doc_extract rule", //...)')
bazel build $extracts >&2 # a list of labels
(cd "$(bazel info bazel-bin)" && find . -name '*.binaryproto' | LC_ALL=C sort) |
  tar --create --gzip --file="rules_btf-$version.docs.tar.gz" --format=ustar --mtime=@0 --owner=0 \
    --group=0 --numeric-owner --directory="$(bazel info bazel-bin)" --files-from=-

# The notes are this version's part of the changelog.
awk -v version="$version" '/^## / { on = $2 == version; next } on' CHANGELOG.md
