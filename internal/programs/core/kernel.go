package core

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Kernel is the BTF in which relocations are resolved: vmlinux and the modules that are loaded.
type Kernel struct {
	Vmlinux *BTF
	Modules []Module
}

// Index is a kernel whose types with some names can be found.
type Index struct {
	*Kernel
	byName map[string][]candidate // types by essential name, first those of vmlinux
	byKind map[kindName][]candidate

	// The results of searches and comparisons, so that each is made only once.
	fields   map[place]*fields
	elements map[place]map[string][]uint32
	matches  map[pair]bool
	// work counts the steps: each member looked at, and each comparison of types.
	work int
}

// Module is the split BTF of a module.
type Module struct {
	Name string
	*BTF
}

// candidate is a type of the kernel that a local type may represent.
type candidate = place

// Index finds, in one pass, all types with these names, which must have no flavors.
func (k *Kernel) Index(names map[string]bool) *Index {
	x := &Index{Kernel: k, byName: map[string][]candidate{}, byKind: map[kindName][]candidate{}}
	var starts starts
	for name := range names {
		starts.add(name)
	}
	x.add(k.Vmlinux, names, &starts)
	for _, m := range k.Modules {
		x.add(m.BTF, names, &starts)
	}
	return x
}

// starts says, for each pair of bytes, whether one of the searched names begins with it. Few of the
// kernel's names begin like a searched name, so most names need not be read to the end.
type starts [1 << 16]bool

// startOf returns the first two bytes of a string that ends with NUL, or 0 if the string is
// shorter.
func startOf(s string) uint16 {
	if len(s) < 2 {
		return 0
	}
	return uint16(s[0]) | uint16(s[1])<<8
}

func (s *starts) add(name string) {
	s[startOf(name+"\x00")] = true
	s[startOf(name+"_")] = true // a flavor may follow
}

func (k *Index) add(b *BTF, names map[string]bool, starts *starts) {
	for i := range b.Types {
		t := &b.Types[i]
		at := t.NameOff - b.BaseStrLen
		if at < uint32(len(b.Strings)) && !starts[startOf(b.Strings[at:])] {
			continue
		}
		if t.NameOff != 0 {
			if name := Essential(b.TypeName(t)); names[name] {
				k.byName[name] = append(k.byName[name], candidate{b, b.StartID + uint32(i)})
			}
		}
	}
}

// candidates returns the kernel's types that a local type may represent. They have the same name,
// apart from flavors, and a compatible kind (bpf_core_add_cands). Types of modules are candidates
// only if vmlinux has no candidates (bpf_core_find_cands).
// Rule: CO-RE: candidates for a relocation. Source: libbpf.c bpf_core_find_cands,
// bpf_core_add_cands.
func (k *Index) candidates(name string, kind btf.Kind) []candidate {
	key := kindName{kind, name}
	list, known := k.byKind[key]
	if known {
		return list
	}
	for _, c := range k.byName[name] {
		if c.in != k.Vmlinux && len(list) > 0 && list[0].in == k.Vmlinux {
			break
		}
		if t, _ := c.in.ByID(c.id); compatible(t.Kind, kind) {
			list = append(list, c)
		}
	}
	k.byKind[key] = list
	return list
}

// kindName is the key by which candidates are found.
type kindName struct {
	kind btf.Kind
	name string
}

// Found is a type of a kernel.
type Found struct {
	BTF *BTF
	ID  uint32
}

// Find returns the types with exactly this name and kind: those of vmlinux or, if it has none,
// those of modules. The index must have this name.
func (k *Index) Find(name string, kind btf.Kind) []Found {
	var list []Found
	for _, c := range k.candidates(name, kind) {
		if t, _ := c.in.ByID(c.id); c.in.TypeName(t) == name {
			list = append(list, Found{c.in, c.id})
		}
	}
	return list
}

// FindIn returns the types with exactly this name and kind in the modules whose names begin with
// the given text, or in vmlinux if "vmlinux" begins with it: see find_kernel_btf_id. The index must
// have this name.
// Rule: module in a section name (fentry/MODULE:FUNC). In a kernel.
func (k *Index) FindIn(module, name string, kind btf.Kind) []Found {
	var list []Found
	for _, c := range k.byName[name] {
		t, _ := c.in.ByID(c.id)
		f := Found{c.in, c.id}
		if t.Kind == kind && c.in.TypeName(t) == name && strings.HasPrefix(k.ModuleOf(f), module) {
			list = append(list, f)
		}
	}
	return list
}

// ModuleTag and the name of a module are the name of a declaration tag in minimal BTF that has the
// types of vmlinux and of modules: the tagged function or typedef is from that module.
const ModuleTag = "module:"

// ModuleOf returns the name of the module that has a function or type, or "vmlinux".
func (k *Index) ModuleOf(f Found) string {
	for _, m := range k.Modules {
		if m.BTF == f.BTF {
			return m.Name
		}
	}
	for i := range f.BTF.Types {
		if t := &f.BTF.Types[i]; t.Kind == btf.KindDeclTag && t.SizeOrType == f.ID {
			if module, ok := strings.CutPrefix(f.BTF.TypeName(t), ModuleTag); ok {
				return module
			}
		}
	}
	return "vmlinux"
}

// Candidates returns the kernel's types to which a relocation may refer, whether they match or not.
// The index must have the name of the local type.
func (k *Index) Candidates(local *Spec) []Found {
	root, _ := local.BTF.ByID(local.Root)
	var list []Found
	for _, c := range k.candidates(Essential(local.BTF.TypeName(root)), root.Kind) {
		list = append(list, Found{c.in, c.id})
	}
	return list
}
