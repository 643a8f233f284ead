package split

import (
	"math/bits"
	"path"
	"strings"
)

// stableNames returns the names of units, as DW_AT_name has them, without the directory in which
// the program was built. Relative ones are relative to that already, but for what leads up from
// it (../../kernel/fork.c, where objects are put into a directory of their own); absolute ones
// are made relative to the longest directory that is common to all of those.
func stableNames(names []string) []string {
	common, any := "", false
	for _, name := range names {
		if path.IsAbs(name) {
			dir := path.Dir(path.Clean(name))
			if !any {
				common, any = dir, true
			}
			common = commonDir(common, dir)
		}
	}
	list := make([]string, len(names))
	for i, name := range names {
		clean := path.Clean(name)
		if path.IsAbs(name) {
			clean = strings.TrimPrefix(strings.TrimPrefix(clean, common), "/")
		}
		for strings.HasPrefix(clean, "../") {
			clean = clean[len("../"):]
		}
		list[i] = clean
	}
	return list
}

// commonDir is the longest directory that a and b, clean and absolute, are in or are themselves.
func commonDir(a, b string) string {
	for a != b {
		if len(a) < len(b) {
			a, b = b, a
		}
		a = path.Dir(a)
	}
	return a
}

// shardOf is the number of the shard, from 0, that a unit of a name belongs to.
func shardOf(name string, shards int) int {
	n, _ := bits.Mul64(hashOf(name), uint64(shards))
	return int(n)
}

// hashOf is a hash of a string.
func hashOf[T string | []byte](s T) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3 // FNV-1a
	h := uint64(offset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	h ^= h >> 32 // the multiplication mixes upwards only
	return h * 0x9e3779b97f4a7c15
}
