package scale

import (
	"fmt"
	"math"
	"path"
	"strings"
)

// Kernel is the files that a kernel's BTF is made of.
type Kernel struct {
	Vmlinux int64    // bytes
	Objects []Object // of vmlinux
	Modules []Linked
	// Repository is where Bazel lays out the objects of another repository, external/NAME; or "".
	Repository string
}

// Object is an object file.
type Object struct {
	Path  string
	Bytes int64
}

// Linked is a module.
type Linked struct {
	Object
	Sources int // of how many object files with a source it was linked
}

// SourcesOf is how many of a module's units have a source: all but Kbuild's NAME.mod.o and
// .module-common.o.
func SourcesOf(units int) int { return max(1, units-2) }

// AllModConfig is a kernel of so many object files with sources, and modules. It has the modules of
// a distribution, and others that have one source each, and the size that such modules have in the
// middle. All other objects are vmlinux's, and have the sizes of a measured vmlinux's, in
// directories of the sizes of its directories.
func AllModConfig(m *Model, objects, modules int) *Kernel {
	k := &Kernel{}
	var single []Module
	for _, of := range m.Sizes.Modules {
		if SourcesOf(of.Units) == 1 {
			single = append(single, of)
		}
	}
	paths := pathsIn(m.Sizes.ModuleDirectories, modules, ".ko")
	for i := range modules {
		of := Module{}
		if n := m.Sizes.Distribution; i < n {
			of = at(m.Sizes.Modules, i*stride(n)%n, n)
		} else if len(single) > 0 {
			of = single[len(single)/2]
		}
		l := Linked{Object{paths[i], of.Bytes}, SourcesOf(of.Units)}
		objects -= l.Sources
		k.Modules = append(k.Modules, l)
	}
	var total int64
	for i, name := range pathsIn(m.Sizes.Directories, objects, ".o") {
		bytes := at(m.Sizes.Objects, i*stride(objects)%objects, objects)
		k.Objects, total = append(k.Objects, Object{name, bytes}), total+bytes
	}
	k.Vmlinux = int64(float64(total) * m.Sizes.Vmlinux)
	return k
}

// pathsIn are n paths in directories of given sizes, 16 of these in a directory.
func pathsIn(sizes []int, n int, suffix string) (paths []string) {
	for d := 0; len(paths) < n; d++ {
		// Sizes are sorted; a step without a common divisor spreads them.
		size := sizes[d*stride(len(sizes))%len(sizes)]
		for i := 0; i < size && len(paths) < n; i++ {
			paths = append(paths, fmt.Sprintf("s%02d/d%04d/%04d%s", d/16, d, i, suffix))
		}
	}
	return paths
}

// Count is the number of object files with sources.
func (k *Kernel) Count() int {
	n := len(k.Objects)
	for i := range k.Modules {
		n += k.Modules[i].Sources
	}
	return n
}

// at is the i-th of n values of which a sorted sample is there.
func at[T any](sample []T, i, n int) T { return sample[i*len(sample)/n] }

// stride is about 0.62 n, and has no common divisor with n.
func stride(n int) int {
	s := max(1, int(math.Round(float64(n)*0.618)))
	for gcd(s, n) != 1 {
		s++
	}
	return s
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Build is the graph of a kernel's BTF.
type Build struct {
	*Graph
	Vmlinux *File // its BTF
	kernel  *Kernel
	sources map[string]*File
}

// Grain is how many files an action takes, about: object files a BtfGen, modules a BtfModules.
type Grain struct{ Objects, Modules int }

// NewBuild lays out the actions of a kernel: a target for the objects of each directory, one for
// vmlinux, and one for all modules, which get their BTF.
func NewBuild(m *Model, k *Kernel, grain Grain) *Build {
	b := &Build{Graph: NewGraph(m), kernel: k, sources: map[string]*File{}}
	directories := map[string]laid{}
	for _, o := range k.Objects {
		d := parent(o.Path)
		if directories[d] == nil {
			directories[d] = laid{}
		}
		directories[d][path.Join(k.Repository, o.Path)] = b.source(o)
	}
	roots := laid{}
	for _, d := range sortedKeys(directories) {
		prefix := strings.TrimPrefix(d+"/objects", "/")
		objects := b.convert(prefix, directories[d], grain.Objects)
		for _, f := range b.mergeTree(objects, prefix+".merge.d", true) {
			roots[path.Join(k.Repository, f.Name)] = f
		}
	}
	inputs := b.mergeTree(roots, "vmlinux_btf.merge.d", false)
	facts := b.add(Facts, "vmlinux.facts", b.source(Object{"vmlinux", k.Vmlinux}))
	b.Vmlinux = b.add(Link, "vmlinux.btf", append(inputs, facts)...)
	index := b.add(Index, "vmlinux.btfbase", b.Vmlinux)
	modules := laid{}
	for i := range k.Modules {
		modules[path.Join(k.Repository, k.Modules[i].Path)] = b.source(k.Modules[i].Object)
	}
	groups := groupsOf(modules, grain.Modules)
	for _, p := range sortedKeys(groups) {
		b.addOn(Modules, p, groups[p].files(), index, b.Vmlinux)
	}
	return b
}

// convert adds a BtfGen for each group of objects.
func (b *Build) convert(prefix string, objects laid, most int) laid {
	out := laid{}
	groups := groupsOf(objects, most)
	for _, p := range sortedKeys(groups) {
		out[p] = b.add(Gen, prefix+".btfo.d/"+p+".btfo", groups[p].files()...)
	}
	return out
}

func (b *Build) source(o Object) *File {
	f := &File{Name: o.Path, Bytes: o.Bytes}
	b.sources[o.Path] = f
	return f
}
