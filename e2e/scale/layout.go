package scale

import (
	"maps"
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

// files are the files in the order of their paths.
func (l laid) files() (list []*File) {
	for _, p := range sortedKeys(l) {
		list = append(list, l[p])
	}
	return list
}

// mergeTree is merge_tree of rules/private/merge_tree.bzl: it adds merges to the graph that bring
// objects down to one file, if single, or to fanIn at most.
func (g *Graph) mergeTree(objects laid, prefix string, single bool) []*File {
	directories, depth := map[string]laid{}, 0
	put := func(directory string, things laid) {
		if directories[directory] == nil {
			directories[directory] = laid{}
		}
		maps.Copy(directories[directory], things)
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
	return things.files()
}

// merged is one file for all of things.
func (g *Graph) merged(prefix, p string, things laid) *File {
	if inputs := things.files(); len(inputs) > 1 {
		return g.add(Merge, prefix+"/"+p+".btfo", inputs...)
	} else {
		return inputs[0]
	}
}

// bucketed is the same things as fanIn files at most.
func (g *Graph) bucketed(prefix, directory string, things laid) laid {
	for round := range rounds {
		if len(things) <= fanIn {
			break
		}
		buckets := bucketsOf(things, fanIn)
		things = laid{}
		for _, name := range sortedKeys(buckets) {
			p := path.Join(directory, "merge."+text(round)+"."+name)
			things[p] = g.merged(prefix, p, buckets[name])
		}
	}
	return things
}

// bucketsOf is buckets_of of rules/private/merge_tree.bzl: things by the hash of their paths, most
// in a bucket on the average.
func bucketsOf(things laid, most int) map[string]laid {
	count := 1
	for count*most < len(things) {
		count *= 2
	}
	buckets := map[string]laid{}
	for p, f := range things {
		name := text(int(hash(p))&(count-1)) + "of" + text(count)
		if buckets[name] == nil {
			buckets[name] = laid{}
		}
		buckets[name][p] = f
	}
	return buckets
}

// groupsOf is groups_of of rules/private/grain.bzl: things by the path of their group, about most
// in each.
func groupsOf(things laid, most int) map[string]laid {
	groups, directories, depth := map[string]laid{}, map[string]laid{}, 0
	if most == 1 {
		for p, f := range things {
			groups[p] = laid{p: f}
		}
		return groups
	}
	put := func(directory string, content laid) {
		if directories[directory] == nil {
			directories[directory] = laid{}
		}
		maps.Copy(directories[directory], content)
	}
	for p, f := range things {
		put(parent(p), laid{p: f})
		depth = max(depth, strings.Count(p, "/"))
	}
	for level := depth; level >= 0; level-- {
		for _, directory := range sortedKeys(directories) {
			if levelOf(directory) != level {
				continue
			}
			content := directories[directory]
			delete(directories, directory)
			if directory != "" && len(content) < most/4 {
				put(parent(directory), content)
				continue
			}
			for name, bucket := range bucketsOf(content, most) {
				groups[path.Join(directory, "group."+name)] = bucket
			}
		}
	}
	return groups
}

// levelOf is how deep a directory is; that of "" is 0.
func levelOf(directory string) int {
	if directory == "" {
		return 0
	}
	return strings.Count(directory, "/") + 1
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
