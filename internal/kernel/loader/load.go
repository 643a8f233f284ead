package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// Outcome is what happens when a kernel loads a module.
type Outcome uint8

const (
	Loads      Outcome = iota // with its BTF, if it has any
	WithoutBTF                // the kernel loads the module, but not its BTF
	WrongBTF                  // the kernel loads both, but the BTF was made for another kernel
	Refused                   // the kernel doesn't load the module
)

// Outcomes are the names of the outcomes, in the order of their values.
var Outcomes = [...]string{"loads", "loads without BTF", "loads with wrong BTF", "refused"}

func (o Outcome) String() string { return Outcomes[o] }

// Verdict is the outcome for a module, and the reason, which is "" if there is nothing to say.
type Verdict struct {
	Outcome Outcome
	Why     string
	// Rejected is true if the kernel rejects the module's BTF, so that the outcome depends on
	// CONFIG_MODULE_ALLOW_BTF_MISMATCH. Guessed is true if that option isn't known.
	Rejected, Guessed bool
}

// OK reports whether the module is as its builder wants it. A module without BTF is, and also one
// whose BTF the kernel never reads.
func (v Verdict) OK() bool {
	return v.Outcome == Loads || v.Outcome == WithoutBTF && !v.Rejected
}

// Load finds out what happens when the kernel k loads the module m.
// Rule: loading: what a kernel does with a module. Source: kernel load_module, btf_module_notify.
func (k *Kernel) Load(m *Module) Verdict {
	if m.err != nil {
		why := strings.TrimPrefix(m.err.Error(), m.Label)
		return Verdict{Outcome: Refused, Why: strings.TrimLeft(why, ": ")}
	}
	if why := k.checkHeaders(m); why != "" {
		return Verdict{Outcome: Refused, Why: why}
	}
	if m.name == verify.SitesModule {
		if v := checkSites(m, k.types); v.Outcome != Loads {
			return v
		}
	}
	if len(m.types) == 0 {
		return Verdict{Why: "it has no BTF"}
	}
	if m.name == verify.VmlinuxModule {
		return k.loadTypes(m)
	}
	if why := k.ignores(); why != "" {
		return Verdict{Outcome: WithoutBTF, Why: why}
	}
	own, loaded, err := k.parseModule(m)
	if err != nil {
		v := Verdict{Outcome: Refused, Why: err.Error(), Rejected: true,
			Guessed: k.mayDrop()}
		if k.drops {
			v.Outcome = WithoutBTF
		}
		return v
	}
	if why, outcome := k.checkIDs(m, own); outcome != Loads {
		if hasNoBase(own) {
			why = noBase + ": " + why
		}
		return Verdict{Outcome: outcome, Why: why}
	}
	if why := k.misfit(m, loaded); why != "" {
		return Verdict{Outcome: WrongBTF, Why: why}
	}
	if m.name == verify.SitesModule {
		return Verdict{}
	}
	return checkSites(m, own)
}

// checkSites checks a module's sites of inlined functions, which are based on the BTF in on.
func checkSites(m *Module, on *btf.Blob) Verdict {
	if len(m.inline) == 0 || on == nil {
		return Verdict{}
	}
	if _, err := verify.Sites(m.inline, on); err != nil {
		return Verdict{Outcome: WrongBTF, Why: fmt.Sprintf("section %s: %v", btf.SectionInline, err)}
	}
	return Verdict{}
}

// loadTypes is Load for the module that has the BTF of vmlinux. The kernel refuses other BTF.
func (k *Kernel) loadTypes(m *Module) Verdict {
	b, err := btf.Parse(m.types, nil)
	switch {
	case err != nil:
		return Verdict{Outcome: Refused, Why: err.Error(), Rejected: true}
	case k.types != nil && !b.SameRecords(k.types):
		return Verdict{Outcome: Refused, Why: "its BTF must be that of vmlinux, but differs from the " +
			"BTF of the kernel", Rejected: true}
	}
	return Verdict{Why: "its BTF is that of vmlinux (CONFIG_DEBUG_INFO_BTF=m)"}
}

// mayDrop reports whether it isn't known if the kernel drops BTF that it rejects.
// Rule: loading: when CONFIG_MODULE_ALLOW_BTF_MISMATCH is guessed. The image isn't known, or the
// release has the option but not yet the text that shows it. Source: kernel btf_module_notify.
func (k *Kernel) mayDrop() bool {
	return !k.image ||
		!k.drops && !k.version.before(addsDrops) && k.version.before(saysDrops)
}

// checkHeaders returns why the kernel refuses a module before it reads any BTF, or ""
// (elf_validity_cache_copy, check_modinfo).
// Rule: loading: is the module for this kernel (vermagic, machine). Source: kernel check_modinfo,
// same_magic, elf_validity_cache_index_mod.
func (k *Kernel) checkHeaders(m *Module) string {
	if k.machine.addrSize != 0 && k.machine != m.machine {
		return fmt.Sprintf("it was built for %v, but the kernel is for %v", m.machine, k.machine)
	}
	if k.ownSize != 0 && m.ownSize != uint64(k.ownSize) && !k.version.before(checksSize) {
		return fmt.Sprintf("%s: its struct module has %d bytes, but the kernel's has %d", k.another(m),
			m.ownSize, k.ownSize)
	}
	return k.checkVermagic(m)
}

// checkVermagic compares what the kernel and the module were built for (same_magic). If modules
// have the versions of symbols, their releases may differ.
func (k *Kernel) checkVermagic(m *Module) string {
	switch {
	case !k.image, k.Release == "":
		return ""
	case m.vermagic == "" && k.forces:
		return ""
	case m.vermagic == "":
		return "it has no vermagic, so it isn't known for which kernel it was built"
	case k.vermagic == "" && !m.crcs && m.Release() != k.Release:
		return fmt.Sprintf("it was built for the release %s, but the kernel is %s", m.Release(),
			k.Release)
	case k.vermagic == "":
		return ""
	}
	has, want := m.vermagic, k.vermagic
	if m.crcs {
		has, want = has[len(m.Release()):], want[len(k.Release):]
	}
	if has == want {
		return ""
	}
	return fmt.Sprintf("it was built for another kernel: its vermagic is %q, but the kernel's is %q",
		m.vermagic, k.vermagic)
}

// ignores returns why the kernel doesn't read the BTF of modules, or "".
func (k *Kernel) ignores() string {
	switch {
	case k.version.before(readsModules):
		return fmt.Sprintf("Linux %v doesn't read the BTF of modules", k.version)
	case k.image && !k.reads:
		return "the kernel was built without CONFIG_DEBUG_INFO_BTF_MODULES"
	}
	return ""
}

// parseModule reads a module's BTF as the kernel does (btf_parse_module). It returns the BTF to
// which the module's .BTF_ids refer, and the BTF that BPF programs see. These differ if the base is
// distilled. An error says why the kernel rejects the BTF.
func (k *Kernel) parseModule(m *Module) (own, loaded *btf.Blob, err error) {
	switch {
	case k.types == nil:
		return nil, nil, errors.New("no base: the kernel has no BTF")
	case k.invalid != "":
		return nil, nil, fmt.Errorf("no base: the kernel rejects its own BTF: %s", k.invalid)
	case m.packed:
		return nil, nil, fmt.Errorf("its section %s is compressed, which the kernel can't read",
			btf.SectionTypes)
	}
	base := k.types
	distilled := m.base != nil && !k.version.before(readsBase)
	if distilled {
		if base, err = k.parse(m.base, nil); err != nil {
			return nil, nil, fmt.Errorf("section %s: %w", btf.SectionBase, err)
		}
	}
	if own, err = k.parse(m.types, base); err != nil {
		var other *misfitError
		if errors.As(err, &other) {
			err = fmt.Errorf("%w; %s", err, k.another(m))
		}
		return nil, nil, err
	}
	if !distilled || own.PastEnd() {
		return own, own, nil
	}
	if loaded, err = relocate.Relocate(own, k.types); err != nil {
		return nil, nil, fmt.Errorf("its distilled base doesn't match the kernel: %w", err)
	}
	return own, loaded, nil
}

// parse reads one blob, and checks it by the rules for all BTF that the kernel reads
// (btf_parse_hdr, btf_parse_str_sec, btf_check_all_metas, btf_check_modifier_chain_length).
func (k *Kernel) parse(data []byte, base *btf.Blob) (*btf.Blob, error) {
	if _, order, err := btf.ReadHeader(data); err == nil && order != k.types.Order {
		return nil, fmt.Errorf("its BTF is %s, unlike the kernel's", endian(order))
	}
	b, err := btf.Parse(data, base)
	if err != nil && base != nil {
		if alone, other := btf.Parse(data, nil); other == nil {
			alone.Base, alone.StartID, alone.BaseStrLen = base, base.EndID(), base.EndStr()
			b, err = alone, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if why := k.version.unknown(b); why != "" {
		return nil, errors.New(why)
	}
	boot := verify.Boot
	if found := verify.Check(b, verify.Options{Only: &boot}); len(found) > 0 {
		err := fmt.Errorf("the kernel rejects %v%s", found[0], more(len(found)-1))
		if base != nil && hasNoBase(b) {
			return nil, fmt.Errorf("%s, and %w", noBase, err)
		}
		if b.Base != nil && b.CheckRefs() != nil {
			err = &misfitError{err}
		}
		return nil, err
	}
	return b, nil
}

// Rule: modules without vmlinux, so without a base. Verdict on a module that has such BTF.
const noBase = "its BTF has no base, but the kernel reads it as if it were based on the BTF of " +
	"vmlinux"

// hasNoBase reports whether BTF isn't split, although it was parsed as if it were: only then, its
// first string is empty.
func hasNoBase(b *btf.Blob) bool { return strings.HasPrefix(b.Strings, "\x00") }

// misfitError is an error about BTF whose references make no sense with its base.
type misfitError struct{ error }

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

func endian(order binary.ByteOrder) string {
	if order == binary.BigEndian {
		return "big-endian"
	}
	return "little-endian"
}
