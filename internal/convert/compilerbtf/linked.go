package compilerbtf

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// A linked kernel and its modules also have a .BTF section, which pahole or this project made from
// their debugging information. No field says that this BTF is linked, but it differs from what
// compilers write:
//
//   - A module has split BTF.
//   - DATASECs have their real size. A compiler writes 0, because it doesn't know yet where
//     variables will be.
//   - All functions are marked static. Compilers mark global functions as global, except gcc 12,
//     whose BTF also has other faults.
//
// BTF that has neither functions nor DATASECs is accepted, because its types are the same whether
// it is linked or not.

// LinkedError is the error for BTF that no compiler wrote.
type LinkedError struct {
	error
	Why string // how the BTF was recognised as linked
}

func errLinked(why string) error {
	return &LinkedError{fmt.Errorf("this BTF is already linked, for example by pahole or "+
		"btfdedup (%s): pass it to btfdedup import, merge or link, or pass the separate debug "+
		"file to btfgen elf with --debug-file", why), why}
}

// isSplit reports whether a blob is split BTF, whose strings continue the strings of a base.
func isSplit(data []byte) bool {
	h, _, err := btf.ReadHeader(data) // split has checked the header
	return err == nil && h.TypeLen != 0 && (h.StrLen == 0 || data[h.HdrLen+h.StrOff] != 0)
}

// linkage summarizes the linkage of the functions in the blobs of a file.
type linkage struct {
	compiled     bool // some function isn't static
	contradicted bool // some static function has a global symbol, or the file has no function symbols
}

// checkLinked refuses a DATASEC that has a size, and notes the linkage of the blob's functions.
// Rule: BTF of a compiler: DATASECs. They are dropped, or refused if they have a size.
func (c *converter) checkLinked() error {
	for i := range c.blob.Types {
		t := &c.blob.Types[i]
		switch {
		case t.Kind == btf.KindDatasec && t.SizeOrType != 0:
			return errLinked(fmt.Sprintf("section %.100q has a size, but compilers write 0",
				c.blob.TypeName(t)))
		case t.Kind == btf.KindFunc && t.Vlen != btf.LinkageStatic:
			c.linkage.compiled = true
		case t.Kind == btf.KindFunc && !c.linkage.contradicted:
			_, isGlobal := c.symbols.functions[symbol{global, c.blob.TypeName(t)}]
			c.linkage.contradicted = isGlobal || len(c.symbols.functions) == 0
		}
	}
	return nil
}

// checkLinkage refuses a file whose functions are all static in the BTF, unless the symbol table
// says the same.
// Rule: BTF of a compiler: refused if already linked.
func (w *work) checkLinkage() error {
	var all linkage
	for _, c := range w.threads {
		all.compiled = all.compiled || c.linkage.compiled
		all.contradicted = all.contradicted || c.linkage.contradicted
	}
	if all.contradicted && !all.compiled {
		return fmt.Errorf("%s: section %s: %w; if gcc 12 wrote it, use a newer gcc",
			w.file.Path, btf.SectionTypes, errLinked("all of its functions are static"))
	}
	return nil
}
