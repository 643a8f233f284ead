package compilerbtf

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// A linked kernel and its modules have a section .BTF too: what pahole or this project made of
// their debugging information. Nothing marks it, but it differs from what compilers write:
//
//   - A module's is split BTF.
//   - Sections have their real size. A compiler doesn't know yet where a variable will be, and says
//     0.
//   - All functions are static. A compiler says which are global. gcc 12 didn't; its BTF has other
//     faults besides.
//
// BTF without functions and sections counts as a compiler's, which makes no difference for types.

// LinkedError is the error for BTF that no compiler wrote.
type LinkedError struct {
	error
	Why string // how it was recognised
}

func errLinked(why string) error {
	return &LinkedError{fmt.Errorf("it was linked before, by pahole or btfdedup for example (%s): "+
		"pass it to btfdedup import, merge or link, or name the separate debug file with btfgen elf "+
		"--dwarf", why), why}
}

// isSplit reports whether a blob is split BTF: its strings continue those of a base.
func isSplit(data []byte) bool {
	h, _, err := btf.ReadHeader(data) // has been checked
	return err == nil && h.TypeLen != 0 && (h.StrLen == 0 || data[h.HdrLen+h.StrOff] != 0)
}

// linkage is what the blobs of a file say about the linkage of functions.
type linkage struct {
	compiled     bool // one is not static
	contradicted bool // one is static, and the symbol of that name is global
}

// checkLinked refuses a blob with sections of their real size, and notes its functions.
func (c *converter) checkLinked() error {
	for i := range c.blob.Types {
		t := &c.blob.Types[i]
		switch {
		case t.Kind == btf.KindDatasec && t.SizeOrType != 0:
			return errLinked(fmt.Sprintf("section %.100q has its real size", c.blob.TypeName(t)))
		case t.Kind == btf.KindFunc && t.Vlen != btf.LinkageStatic:
			c.linkage.compiled = true
		case t.Kind == btf.KindFunc && !c.linkage.contradicted:
			_, isGlobal := c.symbols.functions[symbol{global, c.blob.TypeName(t)}]
			c.linkage.contradicted = isGlobal || len(c.symbols.functions) == 0
		}
	}
	return nil
}

// checkLinkage refuses a file of which all functions are static, though symbols say that they are
// not, or there are no symbols that say so.
func (w *work) checkLinkage() error {
	var all linkage
	for _, c := range w.threads {
		all.compiled = all.compiled || c.linkage.compiled
		all.contradicted = all.contradicted || c.linkage.contradicted
	}
	if all.contradicted && !all.compiled {
		return fmt.Errorf("%s: section %s: %w; gcc 12, which is too old, emits the same",
			w.file.Path, btf.SectionTypes, errLinked("all functions are static in it"))
	}
	return nil
}
