package facts

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// PerCPU returns the facts as they are where per-CPU variables alone are listed. It leaves f as it
// is, and shares memory with it.
func (f *Facts) PerCPU() *Facts {
	if f.Variables != VariablesAll {
		return f
	}
	p := *f
	p.Variables = VariablesPerCPU
	p.Files = slices.Clone(f.Files)
	p.Objects = nil
	for _, o := range f.Objects {
		if o.Section == PerCPUSection {
			p.Objects = append(p.Objects, o)
		}
	}
	p.forgetSingle()
	p.dropNameless()
	return &p
}

// forgetSingle clears the definition of the local variables whose name no other one in a file of
// the name has: it is known for those alone that it tells apart.
func (f *Facts) forgetSingle() {
	type name struct{ file, symbol string }
	nameOf := func(o *Object) name { return name{f.Files[o.File].Name, f.SourceName(o.Name)} }
	count := map[name]int{}
	for i := range f.Objects {
		if o := &f.Objects[i]; o.Local {
			count[nameOf(o)]++
		}
	}
	for i := range f.Objects {
		if o := &f.Objects[i]; o.Local && count[nameOf(o)] == 1 {
			o.Definition = types.Hash{}
		}
	}
}

// dropNameless drops the files without a name that hold nothing.
func (f *Facts) dropNameless() {
	used := make([]bool, len(f.Files))
	for i := range f.Files {
		used[i] = f.Files[i].Name != "" || len(f.Files[i].Funcs) > 0
	}
	for _, o := range f.Objects {
		if o.File >= 0 {
			used[o.File] = true
		}
	}
	var kept []int
	for i, u := range used {
		if u {
			kept = append(kept, i)
		}
	}
	f.arrangeFiles(kept)
}
