package features

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

const layoutSource = `
struct list { struct list *next; unsigned flags : 3; union { long l; char c[8]; }; };
enum mode { OFF, ON = 7 };
typedef int (*visit_fn)(struct list *, enum mode, ...);
int walk(struct list *l, visit_fn fn) { return fn(l, ON); }
double half(double d) { return d / 2; }
`

// TestLayout checks the feature layout. Base BTF gets a layout section, and nothing else in this
// BTF changes. If the BTF is linked again, the section stays. Split BTF gets no layout section.
func TestLayout(t *testing.T) {
	elf := program(t, layoutSource)
	plain, with := beside(elf, "plain.btf"), beside(elf, "layout.btf")
	again, object := beside(elf, "again.btf"), beside(elf, "x.btfo")
	tool(t, "btfgen", "elf", "-o", plain, elf)
	tool(t, "btfgen", "elf", "--features=default,layout", "-o", with, elf)

	b := harness.ReadFile(t, with)
	u32 := binary.LittleEndian.Uint32
	typeLen, strOff, strLen := u32(b[12:]), u32(b[16:]), u32(b[20:])
	layoutOff, layoutLen := u32(b[24:]), u32(b[28:])
	if u32(b[4:]) != 32 || layoutOff != typeLen || layoutLen != 20*4 || strOff != typeLen+layoutLen ||
		32+strOff+strLen != uint32(len(b)) {
		t.Fatalf("header % x of %d bytes", b[:32], len(b))
	}
	p := harness.ReadFile(t, plain)
	if u32(p[4:]) != 24 || !bytes.Equal(p[24:24+typeLen], b[32:32+typeLen]) ||
		!bytes.Equal(p[24+typeLen:], b[32+strOff:]) {
		t.Error("types or strings differ from those without the layout")
	}

	tool(t, "btfdedup", "verify", "--sorted", with)
	tool(t, "btfdedup", "link", "-o", again, with)
	if !bytes.Equal(b, harness.ReadFile(t, again)) {
		t.Error("linking the BTF again changes it")
	}
	tool(t, "btfdedup", "merge", "-o", object, with)
	tool(t, "btfdedup", "link", "-o", again, object)
	if !bytes.Equal(b, harness.ReadFile(t, again)) {
		t.Error("merging the BTF into an object and linking this object changes the BTF")
	}

	if _, err := content.Load(with); err != nil {
		t.Errorf("cilium/ebpf: %v", err)
	}
	if harness.Has("bpftool") {
		dump := func(path string) string {
			return harness.MustRun(t, "", "bpftool", "btf", "dump", "file", path)
		}
		if dump(plain) != dump(with) {
			t.Error("bpftool prints the BTF with the layout differently")
		}
	}

	module := program(t, layoutSource+"struct more { struct list list; };\n"+
		"int more(struct more *m) { return m->list.flags; }")
	split := beside(module, "split.btf")
	tool(t, "btfgen", "elf", "--features=default,layout", "--base", with, "-o", split, module)
	if s := harness.ReadFile(t, split); u32(s[4:]) != 24 {
		t.Errorf("split BTF has a header of %d bytes; only base BTF gets a layout", u32(s[4:]))
	}
	tool(t, "btfdedup", "verify", "--sorted", "--base", with, split)
	if _, err := content.Load(split, with); err != nil {
		t.Errorf("cilium/ebpf: %v", err)
	}
}
