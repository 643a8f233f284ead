package facts

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kfuncEntry is an entry of a set8 as the kernel's macros write it.
type kfuncEntry struct {
	name  string
	flags uint32
}

// kfuncSource is a source with a plain id list and set8s, laid out as include/linux/btf_ids.h does.
// A name that begins with "!" is that of a set8 without kfuncs.
func kfuncSource(sets map[string][]kfuncEntry) string {
	var names []string
	for name := range sets {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "%q\n",
			fmt.Sprintf(format, args...)+"\n")
	}
	b.WriteString("asm(\n")
	line(`.pushsection .BTF_ids,"a"`)
	counter := 0
	id := func(kind, name string) {
		counter++
		symbol := fmt.Sprintf("__BTF_ID__%s__%s__%d%d", kind, name, counter, 100+counter)
		line(".local %s ; .type %s, STT_OBJECT; .size %s, 4; %s: .zero 4", symbol, symbol, symbol, symbol)
	}
	id("struct", "some_struct")
	id("func", "not_in_a_set")
	for _, name := range names {
		flag := 1
		symbol := strings.TrimPrefix(name, "!")
		if symbol != name {
			flag = 0
		}
		line(".local %s; %s:", symbol, symbol)
		line(".local __BTF_ID__set8__%s; __BTF_ID__set8__%s: .zero 4; .long %d", symbol, symbol, flag)
		for _, e := range sets[name] {
			id("func", e.name)
			line(".long %#x", e.flags)
		}
		line(".size __BTF_ID__set8__%s, .-%s", symbol, symbol)
	}
	line(".popsection")
	b.WriteString(");\n")
	return b.String()
}

// typesOf returns a BTF blob with a FUNC for each name, in a different order from that of the sets.
func typesOf(t *testing.T, base *btf.Blob, names ...string) (*btf.Blob, map[string]uint32) {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, base, nil)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto})
	ids := map[string]uint32{}
	for i := len(names) - 1; i >= 0; i-- {
		ids[names[i]] = b.Add(btf.Type{Kind: btf.KindFunc, NameOff: b.Name(names[i]), SizeOrType: proto})
	}
	return b.Finish(), ids
}

// resolve does what resolve_btfids does to a file whose .BTF_ids section holds
// two words and then the sets in the order of their names.
func (w workspace) resolve(file, out string, sets map[string][]kfuncEntry, ids map[string]uint32,
	types *btf.Blob) {
	w.t.Helper()
	var names []string
	for name := range sets {
		names = append(names, name)
	}
	sort.Strings(names)
	words := []uint32{77, ids["not_in_a_set"]}
	for _, name := range names {
		set := append([]kfuncEntry(nil), sets[name]...)
		sort.SliceStable(set, func(i, j int) bool { return ids[set[i].name] < ids[set[j].name] })
		flag := uint32(1)
		if strings.HasPrefix(name, "!") {
			flag = 0
		}
		words = append(words, uint32(len(set)), flag)
		for _, e := range set {
			words = append(words, ids[e.name], e.flags)
		}
	}
	var data []byte
	for _, v := range words {
		data = binary.LittleEndian.AppendUint32(data, v)
	}
	w.write("ids", string(data))
	args := []string{"--update-section", ".BTF_ids=ids"}
	if types != nil {
		blob := must.Get(btf.Encode(types, btf.EncodeOptions{}))(w.t)
		w.write("btf", string(blob))
		args = append(args, "--add-section", ".BTF=btf")
	}
	w.run("objcopy", append(args, file, out)...)
}

var kfuncSets = map[string][]kfuncEntry{
	"first":  {{"bpf_a", 0x2000}, {"bpf_b", 0x1000}, {"bpf_c__d", 0x8002}},
	"second": {{"bpf_b", 0x4000}, {"bpf_e", 0}},
	"!other": {{"bpf_x", 0x1}},
	"same":   {{"bpf_f", 0x3005}, {"bpf_g", 0x3005}},
}

var kfuncsWanted = []Kfunc{
	{"bpf_a", 0x2000}, {"bpf_b", 0x5000}, {"bpf_c__d", 0x8000}, {"bpf_e", 0}, {"bpf_f",
		0x3000}, {"bpf_g", 0x3000},
}

func requireKfuncs(t *testing.T, f *Facts, want []Kfunc) {
	t.Helper()
	if f.KfuncState != KfuncsListed || !reflect.DeepEqual(f.Kfuncs, want) {
		t.Errorf("kfuncs %s: %+v, want %+v", f.KfuncState, f.Kfuncs, want)
	}
	text(t, f)
}

func TestKfuncsBeforeResolving(t *testing.T) {
	w := newWorkspace(t)
	object := w.compile("kfuncs.c", kfuncSource(kfuncSets))
	requireKfuncs(t, w.extract(object, defaults), kfuncsWanted)
	other := w.compile("other.c", "int x;")
	requireKfuncs(t, w.extract(w.link("linked", other, object), defaults), kfuncsWanted)
}

func TestKfuncsAfterResolving(t *testing.T) {
	w := newWorkspace(t)
	object := w.compile("kfuncs.c", kfuncSource(kfuncSets))
	linked := w.link("linked", object)
	types, ids := typesOf(t, nil, "bpf_a", "bpf_b", "bpf_c__d", "bpf_e", "bpf_f", "bpf_g", "bpf_x",
		"not_in_a_set")
	w.resolve(linked, "resolved", kfuncSets, ids, types)
	requireKfuncs(t, w.extract("resolved", defaults), kfuncsWanted)

	// A function that is not in the BTF keeps id 0, so it comes first in its set. Its name is the only
	// one that is left when all other ids have names.
	types, ids = typesOf(t, nil, "bpf_a", "bpf_b", "bpf_e", "bpf_f", "bpf_g", "bpf_x", "not_in_a_set")
	w.resolve(linked, "unresolved", kfuncSets, ids, types)
	requireKfuncs(t, w.extract("unresolved", defaults), kfuncsWanted)
}

func TestKfuncsOfModules(t *testing.T) {
	w := newWorkspace(t)
	object := w.compile("kfuncs.c", kfuncSource(kfuncSets))
	base, _ := typesOf(t, nil, "in_the_base", "in_the_base_too")
	types, ids := typesOf(t, base, "bpf_a", "bpf_b", "bpf_c__d", "bpf_e", "bpf_f", "bpf_g", "bpf_x",
		"not_in_a_set")
	w.resolve(object, "mod.ko", kfuncSets, ids, types)
	withBase := defaults
	withBase.Base = base
	requireKfuncs(t, w.extract("mod.ko", withBase), kfuncsWanted)
	if f, err := w.tryExtract("mod.ko", defaults); err == nil ||
		!strings.Contains(err.Error(), "base") {
		t.Errorf("without a base: %+v, %v; want an error that mentions the base", f, err)
	}
	wrong, _ := typesOf(t, nil, "another", "base", "than", "that")
	withBase.Base = wrong
	if f, err := w.tryExtract("mod.ko", withBase); err == nil ||
		!strings.Contains(err.Error(), "base") {
		t.Errorf("with a wrong base: %+v, %v; want an error", f, err)
	}

	// Where all functions of a set have the same flags, no base is needed.
	uniform := map[string][]kfuncEntry{"same": kfuncSets["same"]}
	object = w.compile("uniform.c", kfuncSource(uniform))
	w.resolve(object, "uniform.ko", uniform, ids, types)
	requireKfuncs(t, w.extract("uniform.ko", defaults), []Kfunc{{"bpf_f", 0x3000}, {"bpf_g", 0x3000}})

	// A distilled base is found in the module itself.
	blob := must.Get(btf.Encode(base, btf.EncodeOptions{}))(t)
	w.write("base", string(blob))
	w.run("objcopy", "--add-section", ".BTF.base=base", "mod.ko", "distilled.ko")
	requireKfuncs(t, w.extract("distilled.ko", defaults), kfuncsWanted)
	requireKfuncs(t, w.extract("distilled.ko", withBase), kfuncsWanted)
}

func TestKfuncsWithoutContents(t *testing.T) {
	w := newWorkspace(t)
	linked := w.link("linked", w.compile("kfuncs.c", kfuncSource(kfuncSets)))
	w.run("objcopy", "--only-keep-debug", linked, "linked.debug")
	if f := w.extract("linked.debug", defaults); f.KfuncState != KfuncsStripped || f.Kfuncs != nil {
		t.Errorf("separate debug file: %s, %v", f.KfuncState, f.Kfuncs)
	}
	if f := w.extract(w.link("none", w.compile("none.c", "int x;")),
		defaults); f.KfuncState != KfuncsAbsent {
		t.Errorf("no section: %s", f.KfuncState)
	}
}

func TestKfuncsOfDamagedSections(t *testing.T) {
	w := newWorkspace(t)
	object := w.compile("kfuncs.c", kfuncSource(kfuncSets))
	types, ids := typesOf(t, nil, "bpf_a")
	w.resolve(object, "nobtf", kfuncSets, ids, nil)
	w.resolve(object, "incomplete", kfuncSets, ids, types)
	w.run("objcopy", "--wildcard", "--strip-symbol=__BTF_ID__func__bpf_b*", object, "nosymbol")
	for _, c := range []struct{ file, want string }{
		{"nobtf", "no section .BTF"},
		{"incomplete", "isn't a function in the file's BTF"},
		{"nosymbol", "kfunc set"},
	} {
		_, err := w.tryExtract(c.file, defaults)
		if err == nil || !strings.Contains(err.Error(), c.want) &&
			!strings.Contains(err.Error(), "is not at entry") {
			t.Errorf("%s: error %v, want one with %q", c.file, err, c.want)
		}
	}
	data := must.Get(os.ReadFile(filepath.Join(w.dir, object)))(t)
	// Let the count contradict the size of the set's symbol.
	at := strings.Index(string(data),
		"\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00")
	if at < 0 {
		t.Fatal("the set is not in the object")
	}
	data[at] = 9
	w.write("count.o", string(data))
	if _, err := w.tryExtract("count.o", defaults); err == nil ||
		!strings.Contains(err.Error(), "the count says 9 entries, but the size says 3") {
		t.Errorf("wrong count: error %v", err)
	}
}

// TestIDName: the rule is that of get_id in the kernel's resolve_btfids.
func TestIDName(t *testing.T) {
	for symbol, want := range map[string]string{
		"x__1": "x", "a__b__12": "a__b", "x___1": "x_", "x__": "x", "__1": "",
		"x__1_2": "no", "x": "no", "x_1": "no", "": "no",
	} {
		name, ok := IDName(symbol)
		if !ok {
			name = "no"
		}
		if name != want {
			t.Errorf("%q: %q, want %q", symbol, name, want)
		}
	}
}
