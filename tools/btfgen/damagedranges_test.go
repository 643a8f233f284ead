package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDamagedRanges: a range list that can't be read is an error that names its offset. Otherwise,
// sites of inlined functions would be missing without a word.
func TestDamagedRanges(t *testing.T) {
	programtest.Need(t, "gcc", "objcopy")
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, p("x.c"), `
		int other(int, int); void __attribute__((cold)) rare(int);
		static inline int small(int a, int b)
		{ if (a > b) { rare(a); other(a, b); rare(b); } return other(b, a); }
		int first(int x, int y) { int r = small(x, y); return small(r, x) * small(y, r); }
		int second(int x, int y) { int r = small(x, 2) + x; return small(r, y) + small(y, x); }`)
	for _, c := range []struct{ flags, section string }{
		{"-gdwarf-5", ".debug_rnglists"}, {"-gdwarf-4", ".debug_ranges"},
	} {
		programtest.Shell(t, dir, "gcc -O2 -fno-pic "+c.flags+` -c x.c
			ld -e 0 --unresolved-symbols=ignore-all -o x x.o
			objcopy -O binary --set-section-flags `+c.section+"=alloc -j "+c.section+" x lists")
		run := func(name string) (int, string) {
			programtest.Shell(t, dir, "objcopy --update-section "+c.section+"="+name+" x damaged")
			code, _, stderr := btfgen("elf", "-q", "-o", p("out"), "--features=+inline", p("damaged"))
			return code, stderr
		}
		lists := readFile(t, p("lists"))
		if code, stderr := run("lists"); code != 0 {
			t.Fatalf("%s: without damage: %s", c.flags, stderr)
		}
		want := regexp.MustCompile(`damaged: \.debug_info\+0x\w+: its range list, at offset 0x\w+ of ` +
			regexp.QuoteMeta(c.section) + `, can't be read`)
		damages := map[string][]byte{"cut": lists[:13], "tiny": lists[:1]}
		if c.section == ".debug_rnglists" {
			damages["unknown kinds"] = append(bytes.Clone(lists[:12]),
				bytes.Repeat([]byte{0xee}, len(lists)-12)...)
			damages["no such index"] = append(bytes.Clone(lists[:12]),
				bytes.Repeat([]byte{3}, len(lists)-12)...)
		}
		for name, data := range damages {
			writeFile(t, p("bad"), string(data))
			if code, stderr := run("bad"); code != 1 || !want.MatchString(stderr) {
				t.Errorf("%s, %s: exit code %d, %s", c.flags, name, code, stderr)
			}
		}
	}
}
