package statics

import (
	"bytes"
	std "debug/dwarf"
	stdelf "debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// workspace is a directory with the files that a test makes.
type workspace struct {
	programtest.Dir
	set features.Set
}

func newWorkspace(t *testing.T) workspace {
	return workspace{programtest.NewDir(t), features.Default()}
}

// preamble is at the beginning of every source.
const preamble = `
#define PERCPU __attribute__((section(".data..percpu"), used))
`

// compile makes an object of each source. The command may have flags.
func (w workspace) compile(command string, sources map[string]string) []string {
	w.Helper()
	var objects []string
	for name, text := range sources {
		w.Write(name, preamble+text)
		objects = append(objects, strings.TrimSuffix(name, ".c")+".o")
		words := strings.Fields(command)
		w.Run(words[0], append(words[1:], "-g", "-c", "-ffreestanding", "-fno-pic",
			"-o", objects[len(objects)-1], name)...)
	}
	slices.Sort(objects)
	return objects
}

// linkScript keeps per-CPU variables in their own section, like the kernel's linker script.
const linkScript = `SECTIONS {
	. = 0x100000;
	.text : { *(.text .text.*) }
	.data..percpu : { *(.data..percpu) }
	.data : { *(.data .data.*) }
	.bss : { *(.bss .bss.*) }
}
`

// link makes an executable.
func (w workspace) link(out string, objects ...string) string {
	w.Helper()
	w.Write("link.lds", linkScript)
	w.Run("ld", append([]string{"-T", "link.lds", "-e", "0", "-o", out}, objects...)...)
	return out
}

// open opens a file until the test ends.
func (w workspace) open(name string) *elf.File {
	w.Helper()
	f, err := elf.Open(w.Path(name))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { f.Close() })
	return f
}

func (w workspace) convert(name string) *object.Object {
	w.Helper()
	f, file := w.open(name), convert.File
	if f.Section(".debug_info") == nil {
		file = compilerbtf.File
	}
	o, err := file(f, convert.Options{Features: w.set, Jobs: 2})
	if err != nil {
		w.Fatal(err)
	}
	return o.Object
}

func (w workspace) facts(name string) *facts.Facts {
	w.Helper()
	f := w.open(name)
	known, err := facts.Extract(f, facts.Options{Features: w.set})
	if err == nil {
		err = Identify(f, known, w.set, nil)
	}
	if err != nil {
		w.Fatal(err)
	}
	return known
}

func (w workspace) linkBTF(known *facts.Facts, objects ...*object.Object) *link.Result {
	w.Helper()
	res, err := link.Link(objects, link.Options{Facts: known, Features: w.set, Jobs: 1})
	if err != nil {
		w.Fatal(err)
	}
	return res
}

// graph links the BTF of objects with the facts about a linked file, whose name is in the parameter
// known. Facts and objects are written and read again before the link.
func (w workspace) graph(known string, objects ...string) *link.Result {
	w.Helper()
	var text bytes.Buffer
	if err := w.facts(known).Write(&text); err != nil {
		w.Fatal(err)
	}
	x, err := facts.Parse(&text)
	if err != nil {
		w.Fatal(err)
	}
	var parts []*object.Object
	for _, name := range objects {
		data, err := object.Write(w.convert(name), 1)
		if err != nil {
			w.Fatal(err)
		}
		path := filepath.Join(w.TempDir(), "object.btfo")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			w.Fatal(err)
		}
		o, err := object.ReadFile(path, nil)
		if err != nil {
			w.Fatal(err)
		}
		parts = append(parts, o)
	}
	return w.linkBTF(x, parts...)
}

// roads makes the BTF in two ways: from the linked file alone, and from its objects. The results
// must be the same.
func (w workspace) roads(linked string, objects ...string) *link.Result {
	w.Helper()
	direct := w.linkBTF(w.facts(linked), w.convert(linked))
	graph := w.graph(linked, objects...)
	if !bytes.Equal(direct.BTF, graph.BTF) || !slices.Equal(direct.Skipped, graph.Skipped) {
		w.Errorf("%s: the objects and the linked file give different BTF: %v and %v\nskipped %q and %q",
			linked, w.variables(graph), w.variables(direct), graph.Skipped, direct.Skipped)
	}
	return direct
}

// place is where a variable lies: its offset in .data..percpu.
type place struct {
	name   string
	offset uint64
}

func (p place) String() string { return fmt.Sprintf("%s+%#x", p.name, p.offset) }

// variables are the types of the encoded variables, by offset in .data..percpu. A structure is
// written as its name and the names of its members, a pointer to it with a *, and a base type as
// its name.
func (w workspace) variables(r *link.Result) map[place]string {
	w.Helper()
	b, err := btf.Parse(r.BTF, nil)
	if err != nil {
		w.Fatal(err)
	}
	name := func(off uint32) string {
		s, err := b.Name(off)
		if err != nil {
			w.Fatal(err)
		}
		return s
	}
	var spell func(id uint32) string
	spell = func(id uint32) string {
		t, _ := b.ByID(id)
		switch t.Kind {
		case btf.KindPtr:
			return "*" + spell(t.SizeOrType)
		case btf.KindStruct:
			text := name(t.NameOff)
			for _, m := range b.MembersOf(t) {
				text += " " + name(m.NameOff)
			}
			return text
		}
		return name(t.NameOff)
	}
	out := map[place]string{}
	for _, s := range b.Secinfos {
		v, _ := b.ByID(s.Type)
		out[place{name(v.NameOff), uint64(s.Offset)}] = spell(v.SizeOrType)
	}
	return out
}

// oracle returns the result that w.variables should give: the types that the standard library finds
// in the DWARF.
func (w workspace) oracle(file string) map[place]string {
	w.Helper()
	f, err := stdelf.Open(w.Path(file))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		w.Fatal(err)
	}
	var spell func(t std.Type) string
	spell = func(t std.Type) string {
		switch t := t.(type) {
		case *std.PtrType:
			return "*" + spell(t.Type)
		case *std.StructType:
			text := t.StructName
			for _, m := range t.Field {
				text += " " + m.Name
			}
			return text
		}
		return t.Common().Name
	}
	addresses := []byte(nil)
	if s := f.Section(".debug_addr"); s != nil {
		if addresses, err = s.Data(); err != nil {
			w.Fatal(err)
		}
	}
	base := int64(0)
	section := f.Section(facts.PerCPUSection)
	out := map[place]string{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			w.Fatal(err)
		}
		if e == nil {
			return out
		}
		if e.Tag == std.TagCompileUnit {
			base, _ = e.Val(std.AttrAddrBase).(int64)
			continue
		}
		r.SkipChildren()
		location, _ := e.Val(std.AttrLocation).([]byte)
		if e.Tag != std.TagVariable || len(location) == 0 {
			continue
		}
		if location[0] == 0xa1 { // DW_OP_addrx
			location = addresses[base+8*int64(location[1])-1:]
		}
		if origin, ok := e.Val(std.AttrAbstractOrigin).(std.Offset); ok { // gcc -flto
			other := d.Reader()
			other.Seek(origin)
			if e, err = other.Next(); err != nil {
				w.Fatal(err)
			}
		}
		t, err := d.Type(e.Val(std.AttrType).(std.Offset))
		if err != nil {
			w.Fatal(err)
		}
		address := f.ByteOrder.Uint64(location[1:9])
		if section.Addr <= address && address < section.Addr+section.Size {
			out[place{e.Val(std.AttrName).(string), address - section.Addr}] = spell(t)
		}
	}
}

// skipped are the lines for variables in the --skipped list, except variables of functions, whose
// names are like state.0 or function.state.
func skipped(r *link.Result) string {
	var lines []string
	for _, s := range r.Skipped {
		if s.Variable() && strings.Count(s.Name, ".") != 1 {
			lines = append(lines, fmt.Sprintf("%s: %s", s.Name, s.Reason))
		}
	}
	return strings.Join(lines, "\n")
}
