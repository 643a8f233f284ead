package pipeline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestObject checks whether a file's DWARF or its BTF is read.
func TestObject(t *testing.T) {
	programtest.NeedGCC16(t)
	w := newWorkspace(t)
	// Only the DWARF has the struct that is defined in a block.
	w.Write("a.c", "int f(int a) { struct in_block { int l; } x = { a }; return x.l; }\n")
	w.Write("b.c", "struct s { int a; } s; int g(void) { return s.a; }\n")
	w.Write("c.c", "struct t { int b; } t; int h(void) { return t.b; }\n")
	w.Write("asm.s", "nop\n")
	w.Run("gcc", "-g", "-c", "-o", "dwarf.o", "a.c")
	w.Run("gcc", "-gbtf", "-c", "-o", "btf.o", "a.c")
	w.Run("gcc", "-gbtf", "-c", "-o", "other.o", "b.c")
	w.Run("gcc", "-gbtf", "-c", "-o", "third.o", "c.c")
	w.Run("gcc", "-g", "-gbtf", "-c", "-o", "both.o", "a.c")
	w.Run("gcc", "-c", "-o", "neither.o", "a.c")
	w.Run("gcc", "-c", "-o", "asm.o", "asm.s")
	w.Run("gcc", "-g", "-c", "-o", "asm_g.o", "asm.s")
	w.Run("ld", "-r", "-o", "mixed.o", "dwarf.o", "other.o", "third.o")
	w.Run("ld", "-r", "-o", "assembled.o", "asm_g.o", "btf.o")
	w.Run("ld", "-r", "-o", "both_assembled.o", "asm_g.o", "both.o")
	read := func(name string, input Input) ([]byte, string, error) {
		var warnings []string
		o, err := Object(w.Open(name), input, convert.Options{Features: features.Default(), Jobs: 1,
			Warn: func(line string) { warnings = append(warnings, line) }})
		if err != nil {
			return nil, "", err
		}
		data, err := object.Write(o.Object, 1)
		must.OK(t, err)
		return data, strings.Join(warnings, "\n"), nil
	}
	data, _ := must.Get2(read("dwarf.o", InputAuto))(t)
	w.Write("converted.btfo", string(data))
	block, function := []byte("in_block"), []byte("\x00f\x00")
	for _, c := range []struct {
		file    string
		input   Input
		dwarf   bool   // the DWARF was read
		problem string // part of the error or warning
	}{
		{"dwarf.o", InputAuto, true, ""},
		{"dwarf.o", InputDWARF, true, ""},
		{"dwarf.o", InputBTF, false, "no BTF (.BTF); compile with -gbtf"},
		{"btf.o", InputAuto, false, ""},
		{"btf.o", InputBTF, false, ""},
		{"btf.o", InputDWARF, false, "no DWARF from a compiler (.debug_info), but BTF"},
		{"both.o", InputAuto, true, ""},
		{"both.o", "", true, ""},
		{"both.o", InputDWARF, true, ""},
		{"both.o", InputBTF, false, ""},
		{"neither.o", InputAuto, false,
			"no DWARF (.debug_info) and no BTF (.BTF); compile with -g or -gbtf and don't strip"},
		{"neither.o", InputBTF, false, "no BTF (.BTF); compile with -gbtf"},
		{"asm.o", InputAuto, false, ""},
		{"asm.o", InputBTF, false, ""},
		{"mixed.o", InputAuto, true,
			"it has DWARF, and BTF that the compiler wrote for 2 units"},
		{"mixed.o", InputBTF, false, ""},
		{"assembled.o", InputAuto, false, ""},
		{"assembled.o", InputDWARF, false, "no DWARF from a compiler (.debug_info), but BTF"},
		{"both_assembled.o", InputAuto, true, ""},
		{"converted.btfo", InputAuto, false,
			"it is already a BTF object (.BTF.units): pass it to btfdedup"},
		{"converted.btfo", InputBTF, false, "it is already a BTF object"},
		{"converted.btfo", InputDWARF, false, "it is already a BTF object"},
	} {
		data, problem, err := read(c.file, c.input)
		if err != nil {
			problem = err.Error()
		}
		if bytes.Contains(data, block) != c.dwarf || !strings.Contains(problem, c.problem) ||
			(problem == "") != (c.problem == "") {
			t.Errorf("%s --input=%s: DWARF %v, want %v; %q, want %q", c.file, c.input,
				bytes.Contains(data, block), c.dwarf, problem, c.problem)
		}
		if strings.HasSuffix(c.file, "assembled.o") && err == nil && !bytes.Contains(data, function) {
			t.Errorf("%s --input=%s: the function is lost", c.file, c.input)
		}
	}
}
