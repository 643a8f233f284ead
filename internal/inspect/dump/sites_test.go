package dump

import (
	"bytes"
	stdelf "debug/elf"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// sitesBTF has sites of two functions, one of which is variadic.
func sitesBTF() *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, btf.IntSigned, 0)
	proto := b.FuncProto(0, btf.Param{NameOff: b.Name("fd"), Type: integer},
		btf.Param{NameOff: b.Name("mask"), Type: integer}, btf.Param{})
	one := b.Func("one", proto, 0)
	none := b.Func("none", b.FuncProto(0), 0)
	param := func(size, flags uint32, values ...uint32) uint32 {
		return b.LocParam(size, flags, values...)
	}
	edi := param(4, btf.LocReg, 5)
	mask := param(4, btf.LocConst, 0x4000)
	at := param(8, btf.LocReg|btf.LocDeref|btf.LocOffset|btf.LocSigned, 7, 16)
	addr := param(8, btf.LocConst|btf.LocAddr, 8, 0)
	empty := b.LocProto()
	b.Locsec("inline.text", btf.Site{Func: one, LocProto: b.LocProto(edi, mask, 0), Offset: 0x2c},
		btf.Site{Func: one, LocProto: b.LocProto(at, addr, 0), Offset: 4},
		btf.Site{Func: none, LocProto: empty, Offset: 0x2c})
	b.Locsec("inline.init.text", btf.Site{Func: one, LocProto: b.LocProto(0, 0, 0), Offset: 1})
	return b.Finish()
}

func TestSites(t *testing.T) {
	none, err := NamesOf(nil)
	must.OK(t, err)
	x86 := none
	x86.Register = registerX86
	x86.Caller = func(section string, offset uint32) string {
		if section == ".text" && offset == 0x2c {
			return "caller+0x2c"
		}
		return ""
	}
	x86.Object = func(offset uint64) string {
		if offset == 8 {
			return "variable"
		}
		return ""
	}
	for _, c := range []struct {
		what  string
		names []string
		in    Names
		json  bool
		want  string
	}{
		{"numbers", nil, none, false, `.init.text+0x1  one(fd = ?, mask = ?, ...)
.text+0x4  one(fd = *(reg7 + 0x10), mask = 0x8 (addr), ...)
.text+0x2c  one(fd = reg5, mask = 0x4000, ...)
.text+0x2c  none()
`},
		{"names", []string{"one"}, x86, false, `.init.text+0x1  one(fd = ?, mask = ?, ...)
.text+0x4  one(fd = *(%rsp + 0x10), mask = &variable, ...)
caller+0x2c  one(fd = %edi, mask = 0x4000, ...)
`},
		{"JSON", []string{"none"}, x86, true, `{"caller":"caller+0x2c","section":".text","offset":44,` +
			`"function":"none","id":5,"parameters":[]}` + "\n"},
		{"parameters as JSON", []string{"one"}, x86, true, `{"section":".init.text","offset":1,` +
			`"function":"one","id":3,"parameters":[{"name":"fd"},{"name":"mask"},{"name":"..."}]}
{"section":".text","offset":4,"function":"one","id":3,"parameters":[` +
			`{"name":"fd","location":"*(%rsp + 0x10)","size":8},` +
			`{"name":"mask","location":"\u0026variable","size":8},{"name":"..."}]}
{"caller":"caller+0x2c","section":".text","offset":44,"function":"one","id":3,"parameters":[` +
			`{"name":"fd","location":"%edi","size":4},{"name":"mask","location":"0x4000","size":4},` +
			`{"name":"..."}]}
`},
	} {
		var out bytes.Buffer
		must.OK(t, WriteSites(&out, sitesBTF(), c.names, c.in, c.json))
		if out.String() != c.want {
			t.Errorf("%s:\n%swant\n%s", c.what, out.String(), c.want)
		}
	}
	var out bytes.Buffer
	err = WriteSites(&out, sitesBTF(), []string{"one", "other"}, none, false)
	if err == nil || err.Error() != `no site of a function with the name "other"` || out.Len() != 0 {
		t.Errorf("a name without sites: %v\n%s", err, out.String())
	}
}

// TestNamesOf finds the function around an address of a relocatable file.
func TestNamesOf(t *testing.T) {
	f := must.Get(elf.Parse("file", filetest.ELF(t, elfwrite.Section{Name: ".text",
		Data: make([]byte, 64), Alloc: true})))(t)
	n := must.Get(NamesOf(f))(t)
	for _, section := range []string{".text", ".other"} {
		if s := n.Caller(section, 8); s != "" { // the file has no symbols
			t.Errorf("the caller in %s is %s", section, s)
		}
	}
	if n.Register(0, 8) != "%rax" {
		t.Errorf("register 0 is %s", n.Register(0, 8))
	}
}

func TestRegisters(t *testing.T) {
	for _, c := range []struct {
		machine      stdelf.Machine
		number, size uint32
		want         string
	}{
		{stdelf.EM_X86_64, 5, 8, "%rdi"}, {stdelf.EM_X86_64, 5, 4, "%edi"},
		{stdelf.EM_X86_64, 5, 2, "%di"}, {stdelf.EM_X86_64, 5, 1, "%dil"},
		{stdelf.EM_X86_64, 0, 1, "%al"}, {stdelf.EM_X86_64, 7, 0, "%rsp"},
		{stdelf.EM_X86_64, 8, 0, "%r8"}, {stdelf.EM_X86_64, 15, 4, "%r15d"},
		{stdelf.EM_X86_64, 17, 16, "%xmm0"}, {stdelf.EM_X86_64, 99, 8, ""},
		{stdelf.EM_AARCH64, 0, 4, "w0"}, {stdelf.EM_AARCH64, 30, 8, "x30"},
		{stdelf.EM_AARCH64, 31, 0, "sp"}, {stdelf.EM_AARCH64, 64, 16, "v0"},
		{stdelf.EM_RISCV, 10, 8, "a0"}, {stdelf.EM_RISCV, 32, 8, ""},
		{stdelf.EM_S390, 15, 8, "%r15"}, {stdelf.EM_S390, 16, 8, ""},
	} {
		if got := registersOf(c.machine)(c.number, c.size); got != c.want {
			t.Errorf("%v: register %d of %d bytes is %q, want %q", c.machine, c.number, c.size, got,
				c.want)
		}
	}
	if registersOf(stdelf.EM_PPC64) != nil {
		t.Error("the registers of PowerPC have names")
	}
}
