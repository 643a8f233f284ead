package btf

import (
	"io"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// Needs is what BPF programs need from a kernel: the CO-RE relocations, and the functions, kfuncs,
// variables and types that the programs name.
type Needs struct{ list *needs.Needs }

// NeedsOf reads object files with BPF programs, which have BTF and the same byte order.
func NeedsOf(objects ...io.ReaderAt) (*Needs, error) {
	var all []*bpfobj.Object
	for _, r := range objects {
		data, err := readAll("object", r)
		if err != nil {
			return nil, err
		}
		o, err := bpfobj.Read(data)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	list, err := needs.Extract(all...)
	if err != nil {
		return nil, err
	}
	return &Needs{list}, nil
}

// Minimal returns the part of the raw BTF of vmlinux that the programs need. On it, each relocation
// has the same result as on the whole BTF, except for type ids of the kernel. The kernel may lack
// some of what the programs need; the result lacks it too.
func (n *Needs) Minimal(vmlinux []byte) ([]byte, error) {
	blob, err := parse(vmlinux)
	if err != nil {
		return nil, err
	}
	types, err := core.NewBTF(blob, nil)
	if err != nil {
		return nil, err
	}
	result, err := minimal.Build(&core.Kernel{Vmlinux: types}, []*needs.Needs{n.list},
		minimal.Options{Hooks: true})
	if err != nil {
		return nil, err
	}
	return result.Vmlinux, nil
}
