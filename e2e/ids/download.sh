# The part of fetch.sh that runs in the offline root:
#
#   download.sh DIR SUITE ARCHITECTURE VERSION VERSION-WITHOUT-FLAVOUR
#
# Makes DIR/modules. For amd64, also makes DIR/resolve_btfids, if Debian has a package with it.
set -euo pipefail

dir=$1 suite=$2 arch=$3 version=$4 kbuild=$5

# Give apt separate lists and packages for this architecture and suite. apt runs as root, because
# the user _apt can't write below the caller's home.
apt=$dir/apt
mkdir -p "$apt"/{state/lists,cache/archives}/partial "$dir/files" "$dir/modules"
touch "$apt/status"
sed -E "s/^(deb .*) [^ ]+ main$/\1 $suite main/" /etc/apt/sources.list >"$apt/sources.list"
options=(-o APT::Sandbox::User=root -o APT::Architecture="$arch" -o APT::Architectures="$arch"
  -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
  -o Dir::Etc::SourceList="$apt/sources.list")
apt-get "${options[@]}" update >&2
cd "$apt"

# Since Linux 7.0, Debian has the modules in a separate package.
apt-get "${options[@]}" download "linux-modules-$version" >&2 ||
  apt-get "${options[@]}" download "linux-image-$version" >&2
dpkg-deb --fsys-tarfile linux-*.deb | tar --extract -C "$dir/files" --wildcards '*.ko*'
rm linux-*.deb
find "$dir/files" -name '*.ko.xz' -exec xz --decompress {} +
grep --recursive --files-with-matches __BTF_ID__ "$dir/files" | xargs mv -t "$dir/modules"

kbuild=linux-kbuild-$kbuild
if [[ $arch == amd64 ]] && apt-cache "${options[@]}" show "$kbuild" >"$apt/show" 2>&1; then
  apt-get "${options[@]}" download "$kbuild" >&2
  dpkg-deb --fsys-tarfile linux-kbuild-*.deb |
    tar --extract --to-stdout --wildcards '*/resolve_btfids/resolve_btfids' >"$dir/resolve_btfids"
  chmod +x "$dir/resolve_btfids"
fi
rm -rf "$apt" "$dir/files"
