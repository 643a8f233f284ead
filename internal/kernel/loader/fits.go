package loader

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// misfit returns a sign that a module's BTF was made for another vmlinux, or "". The kernel checks
// none of this, because it resolves no references in the BTF of modules.
func (k *Kernel) misfit(m *Module, b *btf.Blob) string {
	const another = "it was built against another vmlinux: "
	if err := b.CheckRefs(); err != nil {
		return another + err.Error()
	}
	load := verify.Load
	if found := verify.Check(b, verify.Options{Only: &load}); len(found) > 0 {
		return another + found[0].String() + more(len(found)-1)
	}
	if k.ownSize != 0 && m.ownSize != uint64(k.ownSize) {
		return another + fmt.Sprintf("its struct module has %d bytes, but the kernel's has %d", m.ownSize,
			k.ownSize)
	}
	if n := m.foreign(b); n > 0 {
		return fmt.Sprintf("its BTF is that of another module: it describes %s, and the module has none "+
			"of them", message.Count(n, "function"))
	}
	return ""
}

// foreign returns the number of functions in a module's BTF, or 0 if the module has one of them.
func (m *Module) foreign(b *btf.Blob) int {
	n := 0
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == btf.KindFunc {
			if n++; m.functions[b.TypeName(t)] {
				return 0
			}
		}
	}
	return n
}

// checkIDs checks the ids in a module's .BTF_ids. When a module registers kfuncs, each id must be
// that of a function (btf_check_kfunc_protos); otherwise the registration fails, and with it the
// module's init function. The kernel doesn't check other ids.
func (k *Kernel) checkIDs(m *Module, b *btf.Blob) (why string, outcome Outcome) {
	if m.ids == nil {
		return "", Loads
	}
	wrong, err := btfids.Check(m.ids, b)
	if err != nil {
		return err.Error(), WrongBTF
	}
	kfuncs, err := btfids.CheckKfuncs(m.ids, b)
	switch {
	case err != nil:
		return err.Error(), WrongBTF
	case len(kfuncs) > 0:
		why := fmt.Sprintf("its kfuncs can't be registered: %v%s", kfuncs[0], more(len(kfuncs)-1))
		return why, Refused
	case len(wrong) > 0:
		return fmt.Sprintf("%v%s", wrong[0], more(len(wrong)-1)), WrongBTF
	}
	return "", Loads
}
