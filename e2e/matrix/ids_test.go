package matrix

import (
	"bytes"
	"debug/elf"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// checkIDs checks that each id in .BTF_ids is that of the type that the symbol there names.
func (k kernel) checkIDs(t *testing.T) {
	spec, err := content.Open(k.vmlinux(), nil)
	must.OK(t, err)
	absent := map[string]bool{}
	for _, name := range k.absent(t) {
		absent[name] = true
	}
	t.Run("vmlinux", func(t *testing.T) { checkIDsOf(t, k.vmlinux(), spec, absent) })
	if result.ids == 0 {
		t.Error("vmlinux has no entries: nothing was checked")
	}
	for _, name := range k.modules {
		t.Run(name, func(t *testing.T) {
			base := spec
			if distilled := harness.Section(t, k.module(name), ".BTF.base"); distilled != nil {
				if base, err = btf.LoadSpecFromReader(bytes.NewReader(distilled)); err != nil {
					t.Fatal(err)
				}
			}
			own := bytes.NewReader(harness.Section(t, k.module(name), ".BTF"))
			split := must.Get(btf.LoadSplitSpecFromReader(own, base))(t)
			checkIDsOf(t, k.module(name), split, nil)
		})
	}
	fmt.Println(result.ids, "entries of .BTF_ids")
}

// The symbol for a type is __BTF_ID__KIND__NAME__NUMBER. The symbol for a set has the same prefix.
// Its size includes the set's header and all entries (include/linux/btf_ids.h).
var (
	typeSymbol = regexp.MustCompile(`^__BTF_ID__(func|struct|union|typedef)__(.*?)__\d+$`)
	setSymbol  = regexp.MustCompile(`^__BTF_ID__set8?__`)
)

// checkIDsOf checks the ids in one file. Because resolve_btfids sorts the entries of a set by id
// but leaves the symbols where they are, a set is compared as a whole. The map absent has the names
// of types that don't exist.
func checkIDsOf(t *testing.T, path string, spec *btf.Spec, absent map[string]bool) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	section := f.Section(".BTF_ids")
	if section == nil {
		return
	}
	data := must.Get(section.Data())(t)
	symbols := must.Get(f.Symbols())(t)
	if f.Type != elf.ET_REL {
		for i := range symbols {
			symbols[i].Value -= section.Addr
		}
	}
	var sets []elf.Symbol
	for _, s := range symbols {
		if setSymbol.MatchString(s.Name) && s.Size > 0 {
			sets = append(sets, s)
		}
	}
	want, found := map[string][]string{}, map[string][]string{}
	for _, s := range symbols {
		m := typeSymbol.FindStringSubmatch(s.Name)
		if m == nil {
			continue
		}
		if s.Value+4 > uint64(len(data)) {
			t.Errorf("%s is outside of .BTF_ids", s.Name)
			continue
		}
		place := s.Name
		for _, set := range sets {
			if set.Value <= s.Value && s.Value < set.Value+set.Size {
				place = set.Name
			}
		}
		text := m[1] + " " + m[2]
		if absent[m[2]] {
			text = "void "
		}
		want[place] = append(want[place], text)
		id := btf.TypeID(f.ByteOrder.Uint32(data[s.Value:]))
		found[place] = append(found[place], describe(spec, id))
		result.ids++
	}
	for place, names := range want {
		slices.Sort(names)
		slices.Sort(found[place])
		if !slices.Equal(names, found[place]) {
			t.Errorf("%s should have the ids of %q, but has those of %q", place, names, found[place])
		}
	}
}

// describe returns the kind and name of a type.
func describe(spec *btf.Spec, id btf.TypeID) string {
	typ, err := spec.TypeByID(id)
	if err != nil {
		return err.Error()
	}
	kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", typ), "*btf."))
	return kind + " " + typ.TypeName()
}
