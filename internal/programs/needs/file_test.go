package needs_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/programs/reach"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// sample returns needs of two programs, one of which has a guard and a kfunc.
func sample(t testing.TB, order binary.ByteOrder) *needs.Needs {
	t.Helper()
	b := btf.NewBuilder(order, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 32)
	s := b.Composite(btf.KindStruct, "task", 16, false, btf.Member{NameOff: b.Name("mm"), Type: i},
		btf.Member{NameOff: b.Name("pid"), Type: i, Offset: 64})
	k := b.Func("bpf_kfunc", b.FuncProto(i), btf.LinkageGlobal)
	local := must.Get(core.NewBTF(b.Finish(), nil))(t)
	test := func(text string) needs.Literal {
		t.Helper()
		parsed := must.Get(reach.ParseTest(text, 5))(t)
		return needs.Literal{Test: parsed, Found: true}
	}
	return &needs.Needs{Order: order, Local: local, Programs: []needs.Program{
		{Name: "one", Section: "fentry/f", Relocations: []core.Relocation{
			{Kind: core.FieldByteOffset, Type: s, Access: "0:0", Memory: 4},
			{Kind: core.FieldByteOffset, Type: s, Access: "0:1"},
			{Kind: core.FieldExists, Type: s, Access: "0:0"}},
			Conditions: map[int]needs.Condition{0: {{{Test: reach.Fact(2), Found: true}}},
				1: {{test("2,#99,>"), {Test: reach.Fact(4), Found: true}}},
				4: {{{Test: reach.Fact(4), Found: true}}}},
			Certain: map[int]needs.Condition{1: {}},
			Shared:  []int{1, 2},
			Refused: []needs.Refused{{Refusal: core.Refusal{What: `byte_off of void, access "0:1"`,
				Why: "why"}, Shared: true}, {Refusal: core.Refusal{What: "x", Why: "y"}}},
			Symbols: []needs.Symbol{{Kind: needs.Function, Name: "f", Args: 3},
				{Kind: needs.Kfunc, Name: "bpf_kfunc", Weak: true, Type: k}}},
		{Name: "two", Section: "socket", Object: 1}}}
}

func write(t testing.TB, n *needs.Needs) []byte {
	t.Helper()
	data := must.Get(needs.Write(n))(t)
	return data
}

func text(t testing.TB, n *needs.Needs) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, n.WriteText(&b))
	return b.String()
}

const someLines = `btfneeds 2
program "one" "fentry/f" 3 0
memory 0 4
shared 1 2
refused object "byte_off of void, access \"0:1\"" "why"
refused program "x" "y"
symbol function "f" strong 0 3
symbol kfunc "bpf_kfunc" weak 4 0
when 0 2
when 1 2,#99,> 4
when 4 4
certain 1 never
program "two" "socket" 0 1
`

const someText = `one (fentry/f)
  refused byte_off of void, access "0:1": why
  refused x: y
  function f, reads 3 arguments
  kfunc bpf_kfunc, optional, if kfunc(bpf_kfunc)
  byte_off struct task.mm, read or written directly, 4 bytes, if field_exists(struct task.mm)
  byte_off struct task.pid, for some settings, if (field_exists(struct task.mm) > 99) and ` +
	`kfunc(bpf_kfunc)
  field_exists struct task.mm
two (socket)
`

// TestFile checks that Read returns what was written, in both byte orders.
func TestFile(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := write(t, sample(t, order))
		if got := string(sectionsOf(t, data)[".BTF.needs"]); got != someLines {
			t.Errorf("%v: the lines are\n%s", order, got)
		}
		n := must.Get(needs.Read(data))(t)
		if n.Order != order || text(t, n) != someText {
			t.Errorf("%v: read as %v\n%s", order, n.Order, text(t, n))
		}
		if !bytes.Equal(write(t, sample(t, order)), data) {
			t.Errorf("%v: a second Write gives other bytes", order)
		}
		if changes := needs.Diff(sample(t, order), n); changes != nil {
			t.Errorf("%v: %v", order, changes)
		}
	}
}

func sectionsOf(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	must.OK(t, err)
	all := map[string][]byte{}
	for _, s := range f.Sections[1:] {
		if all[s.Name], err = s.Data(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// withSections returns the file with the contents of some sections replaced; nil removes a section.
func withSections(t testing.TB, data []byte, changes map[string][]byte) []byte {
	t.Helper()
	sections := sectionsOf(t, data)
	o := elfwrite.File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(elf.EM_BPF)}
	for _, name := range []string{".BTF", ".BTF.ext", ".BTF.needs"} {
		content := sections[name]
		if c, ok := changes[name]; ok {
			content = c
		}
		if content != nil {
			o.Sections = append(o.Sections, elfwrite.Section{Name: name, Data: content, Align: 4})
		}
	}
	return filetest.Bytes(t, o)
}

// TestMalformed checks the errors for files that Write can't have written.
func TestMalformed(t *testing.T) {
	good := write(t, sample(t, binary.LittleEndian))
	lines := string(sectionsOf(t, good)[".BTF.needs"])
	replaced := func(pairs ...string) []byte {
		t.Helper()
		changed := lines
		for ; len(pairs) > 0; pairs = pairs[2:] {
			if !strings.Contains(changed, pairs[0]) {
				t.Fatalf("there is no %q", pairs[0])
			}
			changed = strings.Replace(changed, pairs[0], pairs[1], 1)
		}
		return withSections(t, good, map[string][]byte{".BTF.needs": []byte(changed)})
	}
	section := func(name, content string) []byte {
		if content == "" {
			return withSections(t, good, map[string][]byte{name: nil})
		}
		return withSections(t, good, map[string][]byte{name: []byte(content)})
	}
	must.Get(needs.Read(withSections(t, good, nil)))(t)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, `empty file, expected a file from "btfcore needs": `},
		{"text", []byte("text"), `not a file from "btfcore needs": make one from the object files`},
		{"truncated", good[:70], `not a file from "btfcore needs": `},
		{"an object file", section(".BTF.needs", ""), `not a file from "btfcore needs": `},
		{"no .BTF", section(".BTF", ""), "no section .BTF; make the file again"},
		{"no .BTF.ext", section(".BTF.ext", ""), "no section .BTF.ext; make the file again"},
		{"bad .BTF", section(".BTF", "text"), "section .BTF: "},
		{"bad .BTF.ext", section(".BTF.ext", "text"), "section .BTF.ext: the section has 4 " +
			"bytes, but its header"},

		{"version", replaced("btfneeds 2", "btfneeds 1"), `section .BTF.needs: line 1 is ` +
			`"btfneeds 1", expected "btfneeds 2"; make the file again with this btfcore`},
		{"no lines", section(".BTF.needs", "\n"), `line 1 is "", expected "btfneeds 2"`},
		{"unknown line", replaced("memory 0 4", "remember 0 4"), `line 3: unknown "remember 0 4"`},
		{"empty line", replaced("memory 0 4", ""), `line 3: unknown ""`},
		{"no count", replaced(`"fentry/f" 3 0`, `"fentry/f"`), "line 2: malformed program"},
		{"no quotes", replaced(`"one"`, `one`), "line 2: malformed program"},
		{"more words", replaced(`"fentry/f" 3 0`, `"fentry/f" 3 0 4`), "line 2: malformed program"},
		{"more relocations", replaced(`"fentry/f" 3`, `"fentry/f" 4`), "line 2: .BTF.ext doesn't " +
			`have the 4 relocations of "one"`},
		{"a huge count", replaced(`"fentry/f" 3 0`, `"fentry/f" 4294967295 0`), "line 2: .BTF.ext doesn't"},
		{"no relocations", replaced("program \"one\" \"fentry/f\" 3 0\nmemory 0 4\nshared 1 2\n",
			"program \"one\" \"fentry/f\" 0 0\n", "when 0 2\nwhen 1 2,#99,> 4\nwhen 4 4\n"+
				"certain 1 never\n", ""), ".BTF.ext has 1 section for which there is no program"},
		{"a program too many", replaced(`"socket" 0 1`, `"socket" 1 1`), "doesn't have the 1 relocations"},
		{"memory too large", replaced("memory 0 4", "memory 3 4"), "line 3: malformed memory"},
		{"no bytes", replaced("memory 0 4", "memory 0 0"), "line 3: malformed memory"},
		{"memory first", replaced("program", "memory 0 4\nprogram"), "line 2: malformed memory"},
		{"when too large", replaced("when 0 2", "when 5 2"), `line 9: "5" is not one of 5 relocations`},
		{"a guard too large", replaced("when 0 2", "when 0 5"), `line 9: "5" is not one of 5 relocat`},
		{"a guard below 0", replaced("when 0 2", "when 0 -1"), `line 9: "-1" is not one of 5 relocat`},
		{"no condition", replaced("when 0 2", "when 0"), "line 9: malformed when"},
		{"two conditions", replaced("when 4 4", "when 0 4"), "line 11: malformed when"},
		{"certain twice", replaced("when 4 4", "certain 1 2"), "line 12: malformed certain"},
		{"certain too large", replaced("certain 1", "certain 5"), `line 12: "5" is not one of 5 reloc`},
		{"when first", replaced("program", "when 0 2\nprogram"), "line 2: malformed when"},
		{"a long condition", replaced("when 0 2", "when 0 2"+strings.Repeat(" | 2", 64)),
			"line 9: the condition is too long"},
		{"a long test", replaced("when 0 2", "when 0 2"+strings.Repeat(",2,+", 16)),
			"line 9: a test in the condition is too long"},
		{"no operand", replaced("#99,>", ">"), `line 10: "2,>" is not a test`},
		{"no operator", replaced("#99,>", "#99"), `line 10: "2,#99" is not a test`},
		{"unknown operator", replaced("#99,>", "#99,%"), `line 10: "%" is not one of 5 relocations`},
		{"no number", replaced("#99,>", "#x,>"), `line 10: "#x" is not a number`},
		{"a number in another form", replaced("#99,>", "#099,>"), "line 10: malformed when"},
		{"symbol's type", replaced("weak 4", "weak 5"), "line 8: malformed symbol"},
		{"arguments below 0", replaced("strong 0 3", "strong 0 -3"), "line 7: malformed symbol"},
		{"no arguments", replaced("strong 0 3", "strong 0"), "line 7: malformed symbol"},
		{"symbol's strength", replaced("strong", "strange"), "line 7: malformed symbol"},
		{"symbol's kind", replaced("symbol function", "symbol folder"), `line 7: unknown kind of ` +
			`symbol "folder"; make the file again with this btfcore`},
		{"an object below 0", replaced(`"fentry/f" 3 0`, `"fentry/f" 3 -1`), "line 2: malformed program"},
		{"shared too large", replaced("shared 1 2", "shared 1 3"), `line 4: "3" is not one of 3 relocat`},
		{"nothing shared", replaced("shared 1 2", "shared "), "line 4: malformed shared"},
		{"shared first", replaced("program", "shared 0\nprogram"), "line 2: malformed shared"},
		{"refused what", replaced("refused program", "refused function"), "line 6: malformed refused"},
		{"symbol first", replaced("program", "symbol function \"f\" weak 0 0\nprogram"),
			"line 2: malformed symbol"},
	} {
		n, err := needs.Read(c.data)
		if n != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// exercise does everything that commands do with needs, except for making minimal BTF, which the
// tests of package minimal do.
func exercise(t testing.TB, n *needs.Needs) {
	t.Helper()
	text(t, n)
	n.JSON()
	needs.Diff(n, n)
	k := &core.Kernel{Vmlinux: n.Local}
	if _, err := check.Kernel(k.Index(needs.Names(n)), n); err != nil {
		t.Error(err)
	}
	data, err := needs.Write(n)
	if err != nil {
		return // Read accepts some needs that Write refuses
	}
	again, err := needs.Read(data)
	if err != nil || text(t, again) != text(t, n) {
		t.Errorf("the needs differ after Write and Read, or: %v", err)
	}
}

// TestHostile checks that small files don't take long, even if their types have billions of parts.
func TestHostile(t *testing.T) {
	for name, build := range map[string]func(b *btf.Builder) []core.Relocation{
		"array of 4 G elements": func(b *btf.Builder) []core.Relocation {
			i := b.Int("int", 4, 0, 32)
			a := b.Array(i, i, 1<<32-1)
			s := b.Composite(btf.KindStruct, "s", 1<<32-1, false,
				btf.Member{NameOff: b.Name("a"), Type: a})
			return []core.Relocation{{Kind: core.FieldByteOffset, Type: s, Access: "0:0:2147483647"},
				{Kind: core.TypeMatches, Type: s, Access: "0"}, {Kind: core.TypeSize, Type: s, Access: "0"}}
		},
		"each twice in the next": func(b *btf.Builder) (list []core.Relocation) {
			at := b.Int("int", 4, 0, 32)
			for i := range 60 {
				at = b.Composite(btf.KindStruct, fmt.Sprint("s", i), 4, false,
					btf.Member{NameOff: b.Name("a"), Type: at}, btf.Member{NameOff: b.Name("b"), Type: at})
				list = append(list, core.Relocation{Kind: core.TypeMatches, Type: at, Access: "0"})
			}
			return list
		},
		"prototypes, each twice in the next": func(b *btf.Builder) (list []core.Relocation) {
			at := b.Int("int", 4, 0, 32)
			for i := range 40 {
				at = b.Ref(btf.KindPtr, "", b.FuncProto(at, btf.Param{Type: at}, btf.Param{Type: at}))
				at = b.Ref(btf.KindTypedef, fmt.Sprint("t", i), at)
				list = append(list, core.Relocation{Kind: core.TypeExists, Type: at, Access: "0"},
					core.Relocation{Kind: core.TypeMatches, Type: at, Access: "0"})
			}
			return list
		},
		"thousands of relocations": func(b *btf.Builder) (list []core.Relocation) {
			i := b.Int("int", 4, 0, 32)
			var members []btf.Member
			for n := range 5000 {
				members = append(members, btf.Member{NameOff: b.Name(fmt.Sprint("m", n)), Type: i})
			}
			s := b.Composite(btf.KindUnion, "u", 4, false, members...)
			for n := range 5000 {
				list = append(list, core.Relocation{Kind: core.FieldExists, Type: s,
					Access: fmt.Sprint("0:", n)})
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := btf.NewBuilder(binary.LittleEndian, nil, nil)
			relocations := build(b)
			local, err := core.NewBTF(b.Finish(), nil)
			must.OK(t, err)
			start := time.Now()
			n, err := needs.Read(write(t, &needs.Needs{Order: binary.LittleEndian, Local: local,
				Programs: []needs.Program{{Name: "p", Relocations: relocations}}}))
			if err != nil {
				t.Logf("refused: %v", err)
				return
			}
			exercise(t, n)
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// FuzzRead checks that Read doesn't panic or take long, and that the needs that it returns are
// valid.
func FuzzRead(f *testing.F) {
	f.Add(write(f, sample(f, binary.LittleEndian)))
	f.Add(write(f, sample(f, binary.BigEndian)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := needs.Read(data); err == nil {
			exercise(t, n)
		}
	})
}

// TestMutated does the same as FuzzRead with thousands of files in which a few bytes are changed.
func TestMutated(t *testing.T) {
	good := write(t, sample(t, binary.LittleEndian))
	r := rand.New(rand.NewPCG(1, 1))
	read := 0
	for range 5000 {
		data := bytes.Clone(good)
		for range 1 + r.IntN(3) {
			data[r.IntN(len(data))] = []byte{0, 1, 2, 0xff, 0x7f, byte(r.IntN(256))}[r.IntN(6)]
		}
		if n, err := needs.Read(data); err == nil {
			read++
			exercise(t, n)
		}
	}
	if read < 500 {
		t.Errorf("only %d of 5000 could be read", read)
	}
}
