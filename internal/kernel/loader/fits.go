package loader

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// misfit returns a sign that a module's BTF was made for another vmlinux, or "": a reference or a
// name that makes no sense in vmlinux's BTF (CheckRefs), a violation of a rule that the kernel
// applies only to BTF from BPF_BTF_LOAD, another size of struct module, or a module with none of
// the functions in its BTF. The kernel checks none of this, because it resolves no references in
// the BTF of modules.
// Rule: loading: signs that BTF was made for another kernel or module.
func (k *Kernel) misfit(m *Module, b *btf.Blob) string {
	if hasNoBase(b) {
		return noBase
	}
	if err := b.CheckRefs(); err != nil {
		return k.another(m) + ": " + err.Error()
	}
	load := verify.Load
	if found := verify.Check(b, verify.Options{Only: &load}); len(found) > 0 {
		return fmt.Sprintf("%s: %v%s", k.another(m), found[0], more(len(found)-1))
	}
	if k.ownSize != 0 && m.ownSize != uint64(k.ownSize) {
		return fmt.Sprintf("%s: its struct module has %d bytes, but the kernel's has %d", k.another(m),
			m.ownSize, k.ownSize)
	}
	if n := m.foreign(b); n > 0 {
		return fmt.Sprintf("its BTF is that of another module: the module has none of the functions "+
			"that it describes (%d were looked up)", n)
	}
	return ""
}

// another says that a module was built for another kernel, and for which one, if that is known.
func (k *Kernel) another(m *Module) string {
	const text = "it was built against another vmlinux"
	if k.Release == "" || m.Release() == "" || m.Release() == k.Release {
		return text
	}
	return fmt.Sprintf("%s (release %s, but the kernel is %s)", text, m.Release(), k.Release)
}

// maxFunctions is how many functions of a module's BTF are looked up in the symbol table.
const maxFunctions = 100

// foreign returns how many functions of a module's BTF were looked up in the module's symbol table,
// or 0 if one of them was found.
func (m *Module) foreign(b *btf.Blob) int {
	n := 0
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == btf.KindFunc && n < maxFunctions {
			if n++; strings.Contains(m.functions, "\x00"+b.TypeName(t)+"\x00") {
				return 0
			}
		}
	}
	return n
}

// checkIDs checks the ids in a module's .BTF_ids. When a module registers kfuncs, each id must be
// that of a function whose name no function in vmlinux has (btf_check_kfunc_protos); otherwise the
// registration fails, and with it the module's init function. The kernel doesn't check other ids.
func (k *Kernel) checkIDs(m *Module, b *btf.Blob) (why string, outcome Outcome) {
	if m.ids == nil {
		return "", Loads
	}
	wrong, err := btfids.Check(m.ids, b)
	if err != nil {
		return err.Error(), WrongBTF
	}
	kfuncs, err := btfids.CheckKfuncs(m.ids, b, k.isTaken)
	switch {
	case err != nil:
		return err.Error(), WrongBTF
	case len(kfuncs) > 0 && !k.version.before(checksProtos):
		why := fmt.Sprintf("its kfuncs can't be registered: %v%s", kfuncs[0], more(len(kfuncs)-1))
		return why, Refused
	case len(wrong) > 0:
		return fmt.Sprintf("%v%s", wrong[0], more(len(wrong)-1)), WrongBTF
	}
	return "", Loads
}

// isTaken reports whether the kernel refuses kfuncs with a name, because vmlinux has a function of
// that name (btf_check_kfunc_name). It also refuses names of functions in other modules that were
// loaded before; these aren't known here.
func (k *Kernel) isTaken(name string) bool {
	if k.version.before(checksKfuncs) {
		return false
	}
	k.namesOnce.Do(func() {
		k.names = map[string]bool{}
		for i := range k.types.Types {
			if t := &k.types.Types[i]; t.Kind == btf.KindFunc {
				k.names[k.types.TypeName(t)] = true
			}
		}
	})
	return k.names[name]
}
