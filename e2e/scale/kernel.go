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
	Name    string
	Bytes   int64
	Objects []Object
	Made    int // how many of them have no source: Kbuild's NAME.mod.o and .module-common.o
}

// AllModConfig is a kernel of so many object files with sources, and modules. It has the modules of
// a distribution, and others that have one source each, and the size that such modules have in the
// middle. All other objects are vmlinux's, and have the sizes of a measured vmlinux's, in
// directories of the sizes of its directories.
func AllModConfig(m *Model, objects, modules int) *Kernel {
	k := &Kernel{}
	var single []Module
	for _, of := range m.Sizes.Modules {
		if of.Units <= madeObjects+1 {
			single = append(single, of)
		}
	}
	for i := range modules {
		of := Module{}
		if n := m.Sizes.Distribution; i < n {
			of = at(m.Sizes.Modules, i, n)
		} else if len(single) > 0 {
			of = single[typical(len(single))]
		}
		l := Linked{Name: fmt.Sprintf("m%05d", i), Bytes: of.Bytes}
		units := max(1, of.Units)
		l.Made = min(madeObjects, units-1)
		for u := range units {
			l.Objects = append(l.Objects,
				Object{fmt.Sprintf("%s/%03d.o", l.Name, u), of.Bytes / int64(units)})
		}
		objects -= units - l.Made
		k.Modules = append(k.Modules, l)
	}
	var total int64
	for n, d := 0, 0; n < objects; d++ {
		// Sizes are sorted; a step without a common divisor spreads them.
		size := m.Sizes.Directories[d*stride(len(m.Sizes.Directories))%len(m.Sizes.Directories)]
		for i := 0; i < size && n < objects; i, n = i+1, n+1 {
			bytes := at(m.Sizes.Objects, n*stride(objects)%objects, objects)
			name := fmt.Sprintf("s%02d/d%04d/%04d.o", d/16%20, d, i)
			k.Objects, total = append(k.Objects, Object{name, bytes}), total+bytes
		}
	}
	k.Vmlinux = int64(float64(total) * m.Sizes.Vmlinux)
	return k
}

// madeObjects is how many objects without a source each module has.
const madeObjects = 2

// Count is the number of object files with sources.
func (k *Kernel) Count() int {
	n := len(k.Objects)
	for i := range k.Modules {
		n += len(k.Modules[i].Objects) - k.Modules[i].Made
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

// Build is the graph of a kernel's BTF, and the actions by what they are of.
type Build struct {
	*Graph
	Vmlinux *File // its BTF
	sources map[string]*File
	modules []*File // those with BTF
}

// NewBuild lays out the actions of a kernel, with grain object files of a directory, or of a
// module, in each BtfGen.
func NewBuild(m *Model, k *Kernel, grain int) *Build {
	b := &Build{Graph: NewGraph(m), sources: map[string]*File{}}
	directories := map[string][]Object{}
	for _, o := range k.Objects {
		d := parent(o.Path)
		directories[d] = append(directories[d], o)
	}
	roots := laid{}
	for _, d := range sortedKeys(directories) {
		prefix := strings.TrimPrefix(d+"/objects", "/")
		for _, f := range b.mergeTree(b.convert(prefix, directories[d], grain), prefix+".merge.d", true) {
			roots[path.Join(k.Repository, f.Name)] = f
		}
	}
	vmlinux := b.source("vmlinux", k.Vmlinux)
	inputs := b.mergeTree(roots, "vmlinux_btf.merge.d", false)
	b.Vmlinux = b.add(Link, "vmlinux.btf", append(inputs, b.add(KernelFacts, "vmlinux.facts", vmlinux))...)
	index := b.add(Index, "vmlinux.btfbase", b.Vmlinux)
	for i := range k.Modules {
		b.module(&k.Modules[i], index, grain)
	}
	return b
}

// module adds the actions of a module.
func (b *Build) module(l *Linked, index *File, grain int) {
	ko := b.source(l.Name, l.Bytes)
	root := b.mergeTree(b.convert(l.Name+"_objects", l.Objects, grain), l.Name+".merge.d", true)[0]
	facts := b.add(Facts, l.Name+".facts", ko)
	btf := b.add(SplitLink, l.Name+".btf", root, facts, index)
	b.modules = append(b.modules, b.add(Embed, l.Name+".embedded", ko, btf))
}

// convert adds a BtfGen for each grain objects.
func (b *Build) convert(prefix string, objects []Object, grain int) laid {
	out := laid{}
	for start := 0; start < len(objects); start += grain {
		var inputs []*File
		for _, o := range objects[start:min(start+grain, len(objects))] {
			inputs = append(inputs, b.source(o.Path, o.Bytes))
		}
		p := objects[start].Path
		f := b.add(Gen, prefix+".btfo.d/"+p+".btfo", inputs...)
		if len(inputs) > 1 { // the sizes of its objects' BTF, merged
			f.Bytes = 0
			for _, in := range inputs {
				f.Bytes += b.model.Costs[Gen].Out.At(in.Bytes)
			}
			f.Bytes = min(f.Bytes, b.model.Costs[Merge].Out.At(f.Bytes))
		}
		out[p] = f
	}
	return out
}

func (b *Build) source(name string, bytes int64) *File {
	f := &File{Name: name, Bytes: bytes}
	b.sources[name] = f
	return f
}
