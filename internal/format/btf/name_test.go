package btf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfload"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// names returns names with every character at several positions, and names with lengths around the
// kernel's limit.
func names() (all []string) {
	for c := range 256 {
		if c == 0 {
			continue // ends a string
		}
		s := string([]byte{byte(c)})
		all = append(all, s, "x"+s, "1234567"+s, "a23456"+s+"8", "a2345678"+s, s+s+s+s+s+s+s+s+s)
	}
	for n := btf.MaxNameLen - 2; n <= btf.MaxNameLen+2; n++ {
		all = append(all, strings.Repeat("x", n), strings.Repeat("\xe9", n))
	}
	return append(all, "", "9x", "_x9", "task_struct", ".text", "a.b", "é", "a b", "Vec<u8>",
		".data..percpu", ".data..percpu section of a long name")
}

// TestNamesAsTheKernel loads every name into the running kernel, as the name of a type and as the
// name of a section.
func TestNamesAsTheKernel(t *testing.T) {
	for _, name := range names() {
		typ := btf.NewBuilder(nil, nil, nil)
		i := typ.Int("int", 4, 0, 0)
		typ.Ref(btf.KindTypedef, name, i)
		ask(t, fmt.Sprintf("typedef %q", name), typ, btf.ValidIdentifier([]byte(name)))

		sec := btf.NewBuilder(nil, nil, nil)
		i = sec.Int("int", 4, 0, 0)
		v := sec.Var("v", i, btf.LinkageGlobal)
		sec.Datasec(name, 4, btf.Secinfo{Type: v, Size: 4})
		ask(t, fmt.Sprintf("section %q", name), sec, btf.ValidSectionName([]byte(name)))
	}
}

// ask fails the test if the running kernel accepts types that it should refuse, or refuses types
// that it should accept.
func ask(t *testing.T, what string, types *btf.Builder, want bool) {
	t.Helper()
	data, err := types.Encode(btf.EncodeOptions{})
	must.OK(t, err)
	err = btfload.Load(data, 0)
	if errors.Is(err, btfload.ErrUnavailable) {
		t.Skip("SKIPPED:", err)
	}
	if got := err == nil; got != want {
		t.Errorf("%s: valid %v, the kernel says %v", what, want, err)
	}
}

// TestValidNames checks names for which the kernel's answers are known, for machines where a test
// can't load BTF into the kernel.
func TestValidNames(t *testing.T) {
	long := strings.Repeat("x", btf.MaxNameLen)
	for _, c := range []struct {
		name                string
		identifier, section bool
	}{
		{"", false, false},
		{"x", true, true},
		{"_x9", true, true},
		{".text", true, true},
		{"9x", false, true},
		{"a-b", false, true},
		{"Vec<u8>", false, true},
		{"long enough but not -", false, true},
		{"long_enough\tbut_not", false, false},
		{"\xe9t\xe9", true, true}, // Latin-1
		{"é", false, true},        // UTF-8: the second byte is a symbol in Latin-1
		{"\xd7", false, true},     // the multiplication sign
		{"control\x9f", false, false},
		{"\xa0", false, true},
		{"x\x00", false, false},
		{long, true, true},
		{long + "x", false, false},
	} {
		if got := btf.ValidIdentifier([]byte(c.name)); got != c.identifier {
			t.Errorf("ValidIdentifier(%.20q) is %v", c.name, got)
		}
		if got := btf.ValidSectionName([]byte(c.name)); got != c.section {
			t.Errorf("ValidSectionName(%.20q) is %v", c.name, got)
		}
	}
}

func BenchmarkValidIdentifier(b *testing.B) {
	names := [][]byte{[]byte("x"), []byte("task_struct"), []byte("__rcu_read_lock_nesting_depth")}
	for b.Loop() {
		for _, n := range names {
			if !btf.ValidIdentifier(n) {
				b.Fatal(n)
			}
		}
	}
}

// TestCheckNames: names may share their ends, unless there are very many of them.
func TestCheckNames(t *testing.T) {
	for n, overlap := range map[uint32]bool{3: false, 5000: true} {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("int", 4, 0, 0)
		at := b.Name(strings.Repeat("x", 5000))
		for i := range n {
			b.Ref(btf.KindTypedef, "", 1)
			b.Blob.Types[1+2*i].NameOff = at + i
			b.Ref(btf.KindTypedef, "int", 1) // a name that is used again counts only once
		}
		err := b.Finish().CheckNames()
		if (err != nil) != overlap || overlap && !strings.Contains(err.Error(), "overlap") {
			t.Errorf("%d names: %v", n, err)
		}
	}
}
