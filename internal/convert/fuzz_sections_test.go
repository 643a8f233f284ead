package convert

import (
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// FuzzSections is like FuzzConvert, but changes only the debug sections. The result must be valid
// as a kernel's own BTF.
func FuzzSections(f *testing.F) {
	names := []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_loclists"}
	for path, data := range programtest.Seeds(f, "testdata/objects/*.[oe]*") {
		file, err := elf.Parse(path, data)
		if err != nil {
			continue // bitcode
		}
		parts := make([][]byte, len(names))
		for i, name := range names {
			if s := file.Section(name); s != nil {
				data := must.Get(s.Data())(f)
				parts[i] = append([]byte(nil), data...)
			}
		}
		f.Add(parts[0], parts[1], parts[2], parts[3])
	}
	for i, leaf := range leaves {
		for j, outer := range composed {
			if (i+j)%7 == 0 {
				g := &grammar{}
				g.add(8, "t", outer.make(g, leaf.make(g, 0)))
				f.Add([]byte(unitOf(1, "\x01"+g.entries.String()+"\x00")), []byte(grammarAbbrevs),
					[]byte(nil), []byte(nil))
			}
		}
	}
	sets := [2]features.Set{features.Default() | features.Of(features.GlobalVar), features.All()}
	f.Fuzz(func(t *testing.T, info, abbrev, str, lists []byte) {
		size := len(info) + len(abbrev) + len(str) + len(lists)
		if size > 1<<16 {
			t.Skip()
		}
		var sections []elfwrite.Section
		for i, data := range [][]byte{info, abbrev, str, lists} {
			sections = append(sections, elfwrite.Section{Name: names[i], Data: data})
		}
		file, err := elf.Parse("input", filetest.ELF(t, sections...))
		must.OK(t, err)
		var result *Result
		programtest.Bounded(t, size, 20*time.Second, 512<<20, func() {
			set := sets[size/2%2].With(features.SkipUnencodable)
			result, err = File(file, Options{Features: set, Jobs: 1})
		})
		if err != nil {
			return
		}
		merged, err := object.Merge(result.Object)
		must.OK(t, err)
		out, err := object.Write(merged, 1)
		if err != nil {
			return
		}
		linked, err := link.Link([]*object.Object{readObject(t, out)},
			link.Options{Features: merged.Features, Jobs: 1})
		if err != nil {
			return
		}
		blob, err := btf.Parse(linked.BTF, nil)
		must.OK(t, err)
		boot := verify.Boot
		for _, v := range verify.Check(blob, verify.Options{Only: &boot, Sorted: true}) {
			if v.Rule != "no-types" && v.Rule != "name-invalid" { // a link needs facts to check names
				t.Errorf("a kernel refuses this as its own BTF: %v", v)
			}
		}
	})
}
