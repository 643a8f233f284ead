package scale

import (
	"path"
	"slices"
	"strings"
)

// The numbers of rules/private/merge_tree.bzl.
const (
	fanIn  = 32
	few    = 8
	rounds = 8
)

// laid is a file by the path by which it is laid out.
type laid map[string]*File

// mergeTree is merge_tree of rules/private/merge_tree.bzl: it adds merges to the graph that bring
// objects down to one file, if single, or to fanIn at most.
func (g *Graph) mergeTree(objects laid, prefix string, single bool) []*File {
	directories, depth := map[string]laid{}, 0
	put := func(directory string, things laid) {
		if directories[directory] == nil {
			directories[directory] = laid{}
		}
		for p, f := range things {
			directories[directory][p] = f
		}
	}
	for p, f := range objects {
		put(parent(p), laid{p: f})
		depth = max(depth, strings.Count(p, "/"))
	}
	for level := depth; level > 0; level-- {
		for _, directory := range sortedKeys(directories) {
			if directory == "" || strings.Count(directory, "/") != level-1 {
				continue
			}
			things := g.bucketed(prefix, directory, directories[directory])
			delete(directories, directory)
			if len(things) >= few {
				p := directory + "/merge"
				things = laid{p: g.merged(prefix, p, things)}
			}
			put(parent(directory), things)
		}
	}
	things := g.bucketed(prefix, "", directories[""])
	if single && len(things) > 0 {
		return []*File{g.merged(prefix, "merge", things)}
	}
	var files []*File
	for _, p := range sortedKeys(things) {
		files = append(files, things[p])
	}
	return files
}

// merged is one file for all of things.
func (g *Graph) merged(prefix, p string, things laid) *File {
	var inputs []*File
	for _, key := range sortedKeys(things) {
		inputs = append(inputs, things[key])
	}
	if len(inputs) == 1 {
		return inputs[0]
	}
	return g.add(Merge, prefix+"/"+p+".btfo", inputs...)
}

// bucketed is the same things as fanIn files at most.
func (g *Graph) bucketed(prefix, directory string, things laid) laid {
	for round := range rounds {
		if len(things) <= fanIn {
			break
		}
		count := 1
		for count*fanIn < len(things) {
			count *= 2
		}
		buckets := make([]laid, count)
		for p, f := range things {
			b := int(hash(p)) & (count - 1)
			if buckets[b] == nil {
				buckets[b] = laid{}
			}
			buckets[b][p] = f
		}
		things = laid{}
		for b, content := range buckets {
			if content != nil {
				p := path.Join(directory, "merge."+text(round)+"."+text(b)+"of"+text(count))
				things[p] = g.merged(prefix, p, content)
			}
		}
	}
	return things
}

// hash is Starlark's: that of Java's strings, for paths in ASCII.
func hash(s string) (h int32) {
	for i := range len(s) {
		h = 31*h + int32(s[i])
	}
	return h
}

// parent is the directory of a path; that of a file without one is "".
func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 0)]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
