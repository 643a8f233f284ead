package params

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestAgreesWithPaholeOnCompilerOutput judges the functions of
// testdata/params.c as gcc compiles them. The wanted reasons are what pahole
// 1.32 prints (-V) for the output of gcc 12 and gcc 16; where pahole is
// installed, its own judgement of the very same file is asked too.
func TestAgreesWithPaholeOnCompilerOutput(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the wanted reasons are those of x86-64")
	}
	for _, c := range []struct {
		flags string
		want  map[string]string
	}{
		{"-O2", map[string]string{
			"constp": ReasonOptimized, "isra_first": ReasonOptimized, "isra_last": ReasonOptimized,
			"isra_deref": ReasonOptimized, "floating": ReasonUnexpectedRegister, "many_packed": ReasonUncertainLocation,
		}},
		{"-O1", map[string]string{"floating": ReasonUnexpectedRegister, "many_packed": ReasonUncertainLocation}},
		{"-O0", map[string]string{"many_packed": ReasonUncertainLocation}},
		{"-O2 -gdwarf-4", map[string]string{
			"constp": ReasonOptimized, "isra_first": ReasonOptimized, "isra_last": ReasonOptimized,
			"isra_deref": ReasonOptimized, "floating": ReasonUnexpectedRegister, "many_packed": ReasonUncertainLocation,
		}},
	} {
		t.Run(strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			bin := filepath.Join(t.TempDir(), "params")
			args := append(strings.Fields("-g -nostdlib -static -ffreestanding -fno-stack-protector -o "+bin), strings.Fields(c.flags)...)
			compile(t, append(args, "testdata/params.c")...)
			got := judgeFile(t, bin)
			if len(got) < 18 {
				t.Fatalf("only %d functions seen: %v", len(got), got)
			}
			for name, reason := range got {
				if reason != c.want[name] {
					t.Errorf("%s: reason %q, want %q", name, reason, c.want[name])
				}
			}
			for name := range c.want {
				if _, ok := got[name]; !ok {
					t.Errorf("%s: not seen", name)
				}
			}
			if theirs, ok := askPahole(t, bin); ok {
				for name, reason := range got {
					if reason != theirs[name] {
						t.Errorf("%s: reason %q, pahole says %q", name, reason, theirs[name])
					}
				}
			}
		})
	}
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// askPahole gives pahole's reasons by function name.
func askPahole(t *testing.T, bin string) (map[string]string, bool) {
	t.Helper()
	version, err := exec.Command("pahole", "--version").Output()
	if err != nil || strings.TrimSpace(string(version)) < "v1.32" {
		return nil, false
	}
	out, err := exec.Command("pahole", "-J", "-V", "--btf_features=default", "--btf_encode_detached="+bin+".btf", bin).CombinedOutput()
	if err != nil {
		t.Fatalf("pahole: %v\n%s", err, out)
	}
	reasons := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) : skipping BTF encoding of function due to (.*)$`).FindAllStringSubmatch(string(out), -1) {
		if m[2] == "unexpected register usage for parameter" {
			m[2] = ReasonUnexpectedRegister
		}
		reasons[m[1]] = m[2]
	}
	return reasons, true
}

// judgeFile gives the reason, or "", for each function with code in an
// x86-64 executable.
func judgeFile(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	machine := Machine{ID: f.Machine, AddrSize: 8}
	lists := readLists(t, f)
	result := map[string]string{}
	r := data.Reader()
	for {
		entry, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if entry == nil {
			return result
		}
		low, hasCode := entry.Val(dwarf.AttrLowpc).(uint64)
		if entry.Tag != dwarf.TagSubprogram || !hasCode {
			continue
		}
		origin := follow(t, data, entry)
		name, _ := origin.Val(dwarf.AttrName).(string)
		var ps []Param
		for _, child := range parameters(t, data, entry.Offset) {
			ps = append(ps, param(t, data, lists, child, parameters(t, data, origin.Offset)))
		}
		flags := Judge(machine, Options{}, ps).Flags
		clone := false
		for _, s := range symbols {
			if s.Value == low && (strings.Contains(s.Name, ".isra") || strings.Contains(s.Name, ".constprop")) {
				clone = true
			}
		}
		result[name] = reason(flags, clone)
	}
}

// reason applies the package comment's rules to a group of one.
func reason(f Flags, clone bool) string {
	switch {
	case f.Has(Optimized) && clone:
		return ReasonOptimized
	case f.Has(Reordered):
		return ReasonReordered
	case f.Has(UncertainLocation):
		return ReasonUncertainLocation
	case f.Has(UnexpectedRegister):
		return ReasonUnexpectedRegister
	}
	return ""
}

func follow(t *testing.T, data *dwarf.Data, e *dwarf.Entry) *dwarf.Entry {
	t.Helper()
	off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if !ok {
		return e
	}
	r := data.Reader()
	r.Seek(off)
	o, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func parameters(t *testing.T, data *dwarf.Data, at dwarf.Offset) []*dwarf.Entry {
	t.Helper()
	r := data.Reader()
	r.Seek(at)
	e, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var list []*dwarf.Entry
	for e.Children {
		child, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if child == nil || child.Tag == 0 {
			break
		}
		if child.Tag == dwarf.TagFormalParameter {
			list = append(list, child)
		}
		if child.Children {
			r.SkipChildren()
		}
	}
	return list
}

func param(t *testing.T, data *dwarf.Data, lists func(uint64) [][]byte, e *dwarf.Entry, origins []*dwarf.Entry) Param {
	t.Helper()
	p := Param{OriginIndex: NoOrigin, ConstValue: e.Val(dwarf.AttrConstValue) != nil}
	origin := follow(t, data, e)
	if origin != e {
		for i, o := range origins {
			if o.Offset == origin.Offset {
				p.OriginIndex = i
			}
		}
	}
	if field := e.AttrField(dwarf.AttrLocation); field != nil {
		p.HasLocation = true
		if field.Class == dwarf.ClassExprLoc {
			p.Locations = [][]byte{field.Val.([]byte)}
		} else {
			p.Locations = lists(uint64(field.Val.(int64)))
		}
	}
	typ, err := data.Type(origin.Val(dwarf.AttrType).(dwarf.Offset))
	if err != nil {
		t.Fatal(err)
	}
	p.Size = uint32(typ.Size())
	if st, ok := typ.(*dwarf.StructType); ok && st.Kind != "union" {
		p.Struct = true
		p.PackedStruct = st.StructName == "packed"
	}
	return p
}

// readLists gives a reader of the file's location lists by section offset.
func readLists(t *testing.T, f *elf.File) func(uint64) [][]byte {
	t.Helper()
	section := func(name string) []byte {
		s := f.Section(name)
		if s == nil {
			return nil
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	loc, lists := section(".debug_loc"), section(".debug_loclists")
	return func(off uint64) (exprs [][]byte) {
		if lists == nil { // DWARF 4: pairs of addresses, then a counted expression
			for b := loc[off:]; ; {
				begin, end := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
				b = b[16:]
				if begin == 0 && end == 0 {
					return exprs
				}
				if begin == ^uint64(0) {
					continue
				}
				n := binary.LittleEndian.Uint16(b)
				exprs = append(exprs, b[2:2+n])
				b = b[2+n:]
			}
		}
		b := lists[off:]
		number := func() (v uint64) {
			v, b, _ = uleb(b)
			return v
		}
		expression := func() {
			n := number()
			exprs = append(exprs, b[:n])
			b = b[n:]
		}
		for {
			kind := b[0]
			b = b[1:]
			switch kind {
			case 0: // end_of_list
				return exprs
			case 1: // base_addressx
				number()
			case 2, 3, 4, 9: // startx_endx, startx_length, offset_pair, view_pair
				number()
				number()
				if kind != 9 {
					expression()
				}
			case 6: // base_address
				b = b[8:]
			case 7: // start_end
				b = b[16:]
				expression()
			case 8: // start_length
				b = b[8:]
				number()
				expression()
			default:
				t.Fatalf("location list entry of kind %d", kind)
			}
		}
	}
}
