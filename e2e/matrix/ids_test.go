package matrix

import (
	"bytes"
	"debug/elf"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// checkIDs checks that each entry of .BTF_ids is the id of the type that its symbol names.
func (k kernel) checkIDs(t *testing.T) {
	spec, err := content.Open(k.vmlinux(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("vmlinux", func(t *testing.T) { checkIDsOf(t, k.vmlinux(), spec) })
	if result.IDs == 0 {
		t.Error("vmlinux has no entries: nothing was checked")
	}
	for _, name := range k.modules {
		t.Run(name, func(t *testing.T) {
			base := spec
			if distilled := sectionOf(t, k.module(name), ".BTF.base"); distilled != nil {
				if base, err = btf.LoadSpecFromReader(bytes.NewReader(distilled)); err != nil {
					t.Fatal(err)
				}
			}
			split, err := content.Open(k.module(name), base)
			if err != nil {
				t.Fatal(err)
			}
			checkIDsOf(t, k.module(name), split)
		})
	}
	fmt.Println(result.IDs, "entries of .BTF_ids")
}

// An entry's symbol is __BTF_ID__KIND__NAME__NUMBER (include/linux/btf_ids.h).
var entry = regexp.MustCompile(`^__BTF_ID__(func|struct|union|typedef)__(.*?)__\d+$`)

func checkIDsOf(t *testing.T, path string, spec *btf.Spec) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section := f.Section(".BTF_ids")
	if section == nil {
		return
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		m := entry.FindStringSubmatch(s.Name)
		if m == nil {
			continue
		}
		at := s.Value
		if f.Type != elf.ET_REL {
			at -= section.Addr
		}
		if at+4 > uint64(len(data)) {
			t.Errorf("%s is outside of .BTF_ids", s.Name)
			continue
		}
		id := f.ByteOrder.Uint32(data[at:])
		if found := describe(spec, btf.TypeID(id)); found != m[1]+" "+m[2] {
			t.Errorf("%s has the id %d, which is %s", s.Name, id, found)
		}
		result.IDs++
	}
}

// describe returns kind and name of a type.
func describe(spec *btf.Spec, id btf.TypeID) string {
	typ, err := spec.TypeByID(id)
	if err != nil {
		return err.Error()
	}
	kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", typ), "*btf."))
	return kind + " " + typ.TypeName()
}

// sectionOf returns the content of a section, nil if the file has none of that name.
func sectionOf(t *testing.T, path, name string) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(harness.ReadFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	section := f.Section(name)
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
