package params

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestAgreesWithPaholeOnCompilerOutput judges the functions of testdata/params.c as gcc and clang
// compile them. The wanted reasons are what pahole 1.32 prints (-V) for the output of gcc 12, gcc
// 16 and clang 21. If pahole is installed, its judgement of the same file must also be the same.
func TestAgreesWithPaholeOnCompilerOutput(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the wanted reasons are those of x86-64")
	}
	always := map[string]string{"floating": ReasonUnexpectedRegister,
		"many_packed": ReasonUncertainLocation}
	gcc := map[string]string{"constp": ReasonOptimized, "isra_first": ReasonOptimized,
		"isra_last": ReasonOptimized, "isra_deref": ReasonOptimized}
	clang := map[string]string{"constp": ReasonOptimized, "isra_first": ReasonOptimized,
		"isra_last": ReasonOptimized}
	for _, c := range []struct {
		compiler, flags string
		want            []map[string]string
	}{
		{"gcc", "-O2", []map[string]string{always, gcc}},
		{"gcc", "-O2 -gdwarf-4", []map[string]string{always, gcc}},
		{"gcc", "-O1", []map[string]string{always}},
		{"gcc", "-O0", []map[string]string{{"many_packed": ReasonUncertainLocation}}},
		{"clang", "-O2 -gdwarf-4", []map[string]string{always, clang}},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			want := map[string]string{}
			for _, m := range c.want {
				for name, reason := range m {
					want[name] = reason
				}
			}
			bin := compile(t, c.compiler, c.flags)
			got := judgeFile(t, bin)
			if len(got) < 18 {
				t.Fatalf("only %d functions seen: %v", len(got), got)
			}
			theirs, asked := askPahole(t, bin)
			for name, j := range got {
				if j.reason != want[name] {
					t.Errorf("%s: reason %q, want %q", name, j.reason, want[name])
				}
				if asked && j.reason != theirs[name] {
					t.Errorf("%s: reason %q, pahole says %q", name, j.reason, theirs[name])
				}
			}
			for name := range want {
				if _, ok := got[name]; !ok {
					t.Errorf("%s: not seen", name)
				}
			}
		})
	}
}

// TestRemovedParametersOfCompilerOutput checks which parameters remain in functions that a compiler
// has changed.
func TestRemovedParametersOfCompilerOutput(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: which functions are changed is known for x86-64")
	}
	for _, c := range []struct{ compiler, flags string }{{"gcc", "-O2"}, {"clang", "-O2 -gdwarf-4"}} {
		t.Run(c.compiler, func(t *testing.T) {
			got := judgeFile(t, compile(t, c.compiler, c.flags))
			for name, want := range map[string]string{
				"constp": "b c", "isra_first": "b", "isra_last": "a",
				"plain": "a b c", "unused": "a b", "by_pair": "p k", "many_plain": "a b c d e f g h",
			} {
				if left := strings.Join(got[name].left, " "); left != want {
					t.Errorf("%s: parameters %q are left, want %q", name, left, want)
				}
			}
		})
	}
}

// compile makes an executable of testdata/params.c.
func compile(t *testing.T, compiler, flags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "params")
	args := strings.Fields("-g -w -nostdlib -static -ffreestanding -fno-stack-protector -o " + bin +
		" " + flags + " testdata/params.c")
	programtest.Run(t, "", compiler, args...)
	return bin
}

// askPahole returns pahole's reasons by function name.
func askPahole(t *testing.T, bin string) (map[string]string, bool) {
	t.Helper()
	version, err := exec.Command("pahole", "--version").Output()
	if err != nil || strings.TrimSpace(string(version)) < "v1.32" {
		return nil, false
	}
	out, err := exec.Command("pahole", "-J", "-V", "--btf_features=default",
		"--btf_encode_detached="+bin+".btf", bin).CombinedOutput()
	if err != nil {
		t.Fatalf("pahole: %v\n%s", err, out)
	}
	reasons := map[string]string{}
	skipped := regexp.MustCompile(`(?m)^(\w+) : skipping BTF encoding of function due to (.*)$`)
	for _, m := range skipped.FindAllStringSubmatch(string(out), -1) {
		if m[2] == "unexpected register usage for parameter" {
			m[2] = ReasonUnexpectedRegister
		}
		reasons[m[1]] = m[2]
	}
	return reasons, true
}

// judgement is the result for one function.
type judgement struct {
	reason string   // or ""
	left   []string // names of the parameters that are not removed
}

// judgeFile judges each function with code in an x86-64 executable.
func judgeFile(t *testing.T, path string) map[string]judgement {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	data := must.Get(f.DWARF())(t)
	symbols := must.Get(f.Symbols())(t)
	machine := Machine{ID: f.Machine, Operands: operands(8)}
	lists := readLists(t, f)
	result := map[string]judgement{}
	clang := false
	r := data.Reader()
	for {
		entry := must.Get(r.Next())(t)
		if entry == nil {
			return result
		}
		if entry.Tag == dwarf.TagCompileUnit {
			producer, _ := entry.Val(dwarf.AttrProducer).(string)
			clang = strings.Contains(producer, "clang")
		}
		low, hasCode := entry.Val(dwarf.AttrLowpc).(uint64)
		if entry.Tag != dwarf.TagSubprogram || !hasCode {
			continue
		}
		origin := follow(t, data, entry)
		name, _ := origin.Val(dwarf.AttrName).(string)
		var ps []Param
		var names []string
		for _, child := range parameters(t, data, entry.Offset) {
			ps = append(ps, param(t, data, lists, child, parameters(t, data, origin.Offset)))
			name, _ := follow(t, data, child).Val(dwarf.AttrName).(string)
			names = append(names, name)
		}
		o := Options{Clang: clang, NoCall: clang && origin.Val(dwarf.AttrCalling) == int64(3)}
		for _, s := range symbols {
			if s.Value == low && (strings.Contains(s.Name, ".isra") ||
				strings.Contains(s.Name, ".constprop")) {
				o.Clone = true
			}
		}
		flags := Judge(machine, o, ps).Flags
		j := judgement{reason: reason(flags, o.Clone || o.NoCall)}
		o.TrueSignature = true
		removed := Judge(machine, o, ps).Removed
		for i, n := range names {
			if !slices.Contains(removed, i) {
				j.left = append(j.left, n)
			}
		}
		result[name] = j
	}
}

// reason applies the package comment's rules to a group that consists of one function.
func reason(f Flags, changed bool) string {
	switch {
	case f.Has(Optimized) && changed:
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
	o := must.Get(r.Next())(t)
	return o
}

func parameters(t *testing.T, data *dwarf.Data, at dwarf.Offset) []*dwarf.Entry {
	t.Helper()
	r := data.Reader()
	r.Seek(at)
	e := must.Get(r.Next())(t)
	var list []*dwarf.Entry
	for e.Children {
		child := must.Get(r.Next())(t)
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

func param(t *testing.T, data *dwarf.Data, lists func(uint64) [][]byte, e *dwarf.Entry,
	origins []*dwarf.Entry) Param {
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
	typ := must.Get(data.Type(origin.Val(dwarf.AttrType).(dwarf.Offset)))(t)
	p.Size = uint32(typ.Size())
	if st, ok := typ.(*dwarf.StructType); ok && st.Kind != "union" {
		p.Struct = true
		p.PackedStruct = st.StructName == "packed"
	}
	return p
}

// readLists returns a function that reads the file's location lists by section offset.
func readLists(t *testing.T, f *elf.File) func(uint64) [][]byte {
	t.Helper()
	section := func(name string) []byte {
		s := f.Section(name)
		if s == nil {
			return nil
		}
		b := must.Get(s.Data())(t)
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
		number := func() uint64 {
			v, size := binary.Uvarint(b)
			b = b[size:]
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
