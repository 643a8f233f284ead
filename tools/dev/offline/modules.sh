#!/usr/bin/env bash
# Makes a directory with the Bazel modules that neither Bazel nor Debian's packages bring, and
# prints the Bazel options that take all modules from local directories.
#
# usage: modules.sh ROOT DEST HOME    (HOME: the path under which DEST will be found)
#
# Versions of modules don't matter, because there is only one copy of each. To add a module: if
# Debian has a package, add it to packages.txt; if it is also a Go module, use go_module; if it is
# only named and never built, use stub. A workspace outside of this repository adds further modules
# with local_path_override.
# Rule: offline builds: how to add a Bazel module.
set -euo pipefail

root=$1 dest=$2 home=$3
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
mkdir -p "$dest"

# go_module NAME PATH: copies a module that is also published as a Go module, in the version of this
# repository's MODULE.bazel.
go_module() {
  local version versions dir
  version=$(sed -n "s/^bazel_dep(name = \"$1\", version = \"\([^\"]*\)\".*/\1/p" "$repo/MODULE.bazel")
  dir=$(cd / && go mod download -json "$2@v$version" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
  cp -r "$dir" "$dest/$1"
  chmod -R u+w "$dest/$1"
  find "$dest/$1" -name '*.sh' -exec chmod +x {} + # zip files of Go modules don't keep that
}

# Whenever a module asks rules_go to download an SDK, use the machine's own SDK. There is a flag for
# that, but it works only in workspaces that declare an SDK, and users' workspaces don't.
go_module rules_go github.com/bazelbuild/rules_go
sdk='^def _download_sdk(\(\*, get_sdks_by_version, name, goos, goarch, download_tag\)):$'
extensions=$dest/rules_go/go/private/extensions.bzl
[[ $(grep -c "$sdk" "$extensions") == 1 ]]
sed -i "s/$sdk/&\n    go_host_sdk_rule(name = name, experiments = download_tag.experiments)\n\n\
def _download_sdk_from_network(\1):/" "$extensions"

# gazelle's repository rules build their tools from the directory vendor, which Go modules lack.
go_module gazelle github.com/bazelbuild/bazel-gazelle
(cd "$dest/gazelle" && GOWORK=off GOFLAGS=-mod=mod go mod vendor -e)

# stub NAME: makes a module that others name but that no target here builds. It has only the files
# that are loaded.
stub() {
  mkdir -p "$dest/$1"
  echo "module(name = \"$1\")" >"$dest/$1/MODULE.bazel"
  : >"$dest/$1/BUILD.bazel"
}
stub apple_support
stub protobuf
stub zlib

stub buildozer # Bazel names it for "bazel mod tidy"
cat >"$dest/buildozer/buildozer_binary.bzl" <<'EOF'
def _binary_impl(ctx):
    ctx.file("BUILD.bazel", "")
    ctx.file("buildozer.exe", "")

_binary = repository_rule(implementation = _binary_impl)

def _buildozer_binary_impl(_ctx):
    _binary(name = "buildozer_binary")

buildozer_binary = module_extension(implementation = _buildozer_binary_impl)
EOF

stub package_metadata # no build reads its metadata
mkdir "$dest"/package_metadata/{providers,rules}
: >"$dest/package_metadata/providers/BUILD.bazel"
: >"$dest/package_metadata/rules/BUILD.bazel"
cat >"$dest/package_metadata/providers/package_metadata_info.bzl" <<'EOF'
PackageMetadataInfo = provider(doc = "Metadata of a package.", fields = [])
EOF
cat >"$dest/package_metadata/rules/package_metadata.bzl" <<'EOF'
load("//providers:package_metadata_info.bzl", "PackageMetadataInfo")

_package_metadata = rule(
    implementation = lambda _ctx: [DefaultInfo(), PackageMetadataInfo()],
    attrs = {"attributes": attr.label_list(), "purl": attr.string()},
)

def package_metadata(name, **kwargs):
    _package_metadata(
        name = name,
        applicable_licenses = [],
        purl = kwargs.get("purl"),
        visibility = kwargs.get("visibility"),
    )
EOF

# Bazel refuses overrides of modules that a workspace doesn't depend on. So these modules are in a
# registry, in all versions that modules request. Bazel itself depends on the others, so that they are
# in every workspace and can be overridden.
registry='gazelle package_metadata rules_go rules_shell'
echo "common --registry=file://$home"
mapfile -t asking < <(ls "$repo"/MODULE.bazel "$repo"/{e2e,examples}/*/MODULE.bazel \
  "$dest"/*/MODULE.bazel "$root"/usr/share/bazel/{rules/*,tools/*,embedded_tools}/MODULE.bazel)

# serve NAME FILE PATH: provides a module with FILE as MODULE.bazel and its sources at PATH.
serve() {
  local version versions dir
  if [[ " $registry " != *" $1 "* ]]; then
    echo "common --override_module=$1=$3"
    return
  fi
  mapfile -t versions < <(sed -n "s/^bazel_dep(name = \"$1\", version = \"\([^\"]*\)\".*/\1/p" \
    "${asking[@]}" | sort -u)
  for version in "${versions[@]}"; do
    dir=$dest/modules/$1/$version
    mkdir -p "$dir"
    echo "{\"type\": \"local_path\", \"path\": \"$3\"}" >"$dir/source.json"
    sed -e '/^module(/,/)/{/^ *version = /d}' -e "s/^module(/&version = \"$version\", /" "$2" \
      >"$dir/MODULE.bazel"
  done
}
for file in "$dest"/*/MODULE.bazel; do
  name=$(basename "$(dirname "$file")")
  serve "$name" "$file" "$home/$name"
done
for file in "$root"/usr/share/bazel/{rules,tools}/*/MODULE.bazel; do
  name=$(sed -n '/^module(/,/)/s/.*\bname = "\([^"]*\)".*/\1/p' "$file")
  path=${file#"$root"}
  serve "$name" "$file" "${path%/MODULE.bazel}"
done
echo '{}' >"$dest/bazel_registry.json"
