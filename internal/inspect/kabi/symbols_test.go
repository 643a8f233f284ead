package kabi

import (
	"strings"
	"testing"
)

func TestReadSymbols(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "b\na\n\n# all\n  c # why\nb\r\n", "a b c"},
		{"RHEL", "[rhel9_x86_64_stablelist]\n\tnetif_rx\n  __kmalloc\n", "__kmalloc netif_rx"},
		{"Android", "[abi_symbol_list]\n# commonly used symbols\n  x\n\n# required by y.ko\n  y\n" +
			"[abi_symbol_list]\n  z\n", "x y z"},
		{"Module.symvers", "0x0a1b2c3d\tnf_register\tnet/netfilter/nf-core\tEXPORT_SYMBOL_GPL\tNS\n" +
			"0x00000000\tjiffies\tvmlinux\tEXPORT_SYMBOL\t\n", "jiffies@vmlinux nf_register@nf_core"},
		{"Linux 5.4", "0x0a1b2c3d\tx\tNS\tdrivers/a.ko\tEXPORT_SYMBOL\n", "x@a"},
		{"before Linux 5.4", "0x0a1b2c3d\tx\tvmlinux\tEXPORT_SYMBOL\n", "x@vmlinux"},
		{"Rust", "_RNvXs_NtCs1_4core3fmt\n.dot.suffix\n", ".dot.suffix _RNvXs_NtCs1_4core3fmt"},
		{"empty", "# nothing\n[list]\n", "error: the list has no symbols"},
		{"two words", "a\nint b\n", `error: line 2: "int b" is not the name of a symbol`},
		{"BTF", "\x9f\xeb\x01\x00", "error: line 1: "},
		{"mixed", "0x1\tx\tvmlinux\tEXPORT_SYMBOL\ny\n", "error: line 2: some lines are of a"},
		{"no export", "0x1\tx\tvmlinux\n", "error: line 1: \"0x1\\tx\\tvmlinux\" is not a line"},
		{"byte order mark", "\ufeffx\r\ny\r\n", "x y"},
		{"truncated", "0x1\tx\tvmlinux\tEXPORT_SYMBOL\n0x1\ty\tvmlinux\tEXPORT_SYM",
			"error: line 2: a Module.symvers ends with a newline"},
		{"a number", "7z\n", `error: line 1: "7z" is not the name`},
	} {
		list, err := ReadSymbols([]byte(c.text))
		var names []string
		for _, s := range list {
			name := s.Name
			if s.Module != "" {
				name += "@" + s.Module
			}
			names = append(names, name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// FuzzReadSymbols: no input makes the reader panic, and what it returns can be read again.
func FuzzReadSymbols(f *testing.F) {
	f.Add("[abi_symbol_list]\n  a\n#x\n")
	f.Add("0x1\tx\tvmlinux\tEXPORT_SYMBOL\tNS\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadSymbols([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %v", err)
			}
			return
		}
		plain := ""
		for _, s := range list {
			plain += s.Name + "\n"
		}
		again, err := ReadSymbols([]byte(plain))
		if err != nil || len(again) > len(list) {
			t.Fatalf("%v: %d symbols, then %d", err, len(list), len(again))
		}
	})
}
