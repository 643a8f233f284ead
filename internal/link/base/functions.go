package base

import (
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Functions finds the FUNCs of a chain of BTFs by name and prototype. Several threads may use it.
type Functions struct {
	b     *btf.Blob
	below *Functions
	once  sync.Once
	ids   map[function]uint32 // the first id of each function
}

type function struct {
	name  string
	proto uint32
}

// NewFunctions returns the functions of b and, if below is not nil, those of the bases of b. If
// below is nil, the functions of the bases are found too.
func NewFunctions(b *btf.Blob, below *Functions) *Functions {
	if below == nil && b.Base != nil {
		below = NewFunctions(b.Base, nil)
	}
	return &Functions{b: b, below: below}
}

// BTF returns the last BTF of the chain.
func (f *Functions) BTF() *btf.Blob { return f.b }

// Find returns the smallest id of a FUNC with this name and the prototype with the id proto, or 0
// if there is none. The last BTF of the chain that has such a FUNC wins.
func (f *Functions) Find(name []byte, proto uint32) uint32 {
	for ; f != nil; f = f.below {
		f.once.Do(f.index)
		if id := f.ids[function{string(name), proto}]; id != 0 {
			return id
		}
	}
	return 0
}

// Index does now what Find does only once.
func (f *Functions) Index() {
	for ; f != nil; f = f.below {
		f.once.Do(f.index)
	}
}

func (f *Functions) index() {
	n := 0
	for i := range f.b.Types {
		if f.b.Types[i].Kind == btf.KindFunc {
			n++
		}
	}
	f.ids = make(map[function]uint32, n)
	for i := len(f.b.Types) - 1; i >= 0; i-- {
		if t := &f.b.Types[i]; t.Kind == btf.KindFunc {
			f.ids[function{f.b.TypeName(t), t.SizeOrType}] = f.b.StartID + uint32(i)
		}
	}
}
