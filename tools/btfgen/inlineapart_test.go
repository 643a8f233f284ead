package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestInlineApart: if the sites in the BTF of the feature inline are moved to separate BTF, as
// resolve-ids --inline-out does, they are the sites that btfgen inline finds. The rest is the BTF
// without the feature and, as in resolve_btfids, the other types that inlined functions need.
func TestInlineApart(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang", "s390x-linux-gnu-gcc",
		"clang --target=s390x-linux-gnu"} {
		t.Run(compiler, func(t *testing.T) {
			programtest.Need(t, strings.Fields(compiler)[0])
			dir := t.TempDir()
			p := func(name string) string { return filepath.Join(dir, name) }
			for name, text := range inlineSources {
				writeFile(t, p(name), text)
			}
			shell(t, dir, compiler+" -w -g -O2 -fno-pic -c a.c")
			run := func(args ...string) {
				t.Helper()
				if code, _, stderr := btfgen(append(args, "-q", p("a.o"))...); code != 0 {
					t.Fatalf("%q: %s", args, stderr)
				}
			}
			var order binary.ByteOrder = binary.LittleEndian
			if strings.Contains(compiler, "s390x") {
				order = binary.BigEndian
			}
			b := btf.NewBuilder(order, nil, nil)
			b.Int("int", 4, btf.IntSigned, 0)
			kernel, err := b.Encode(btf.EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, p("kernel"), string(kernel))
			for _, bases := range [][]string{nil, {"--base", p("kernel")}} {
				with := func(args ...string) { run(append(args, bases...)...) }
				with("elf", "--features=+layout", "-o", p("plain"))
				with("elf", "--features=+layout,inline", "-o", p("all"))
				run(slices.Concat([]string{"inline"}, bases, []string{"--base", p("plain"), "-o",
					p("sites")})...)
				var below *btf.Blob
				if bases != nil {
					below = parseBTF(t, kernel, nil)
				}
				checkApart(t, p, below)
			}
		})
	}
}

func checkApart(t *testing.T, p func(string) string, below *btf.Blob) {
	t.Helper()
	f, err := elf.Open(p("a.o"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	outlined, err := (*resolveids.IDs)(nil).Outlined(f)
	if err != nil {
		t.Fatal(err)
	}
	data, sites, err := implicitargs.RewriteApart(parseBTF(t, readFile(t, p("all")), below), nil,
		outlined, 1)
	if err != nil {
		t.Fatal(err)
	}
	main, plain := parseBTF(t, data, below), parseBTF(t, readFile(t, p("plain")), below)
	apart := parseBTF(t, sites, main)
	for _, b := range []*btf.Blob{main, apart} {
		for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
			t.Error(v)
		}
	}
	got, want := sitesIn(t, apart), sitesIn(t, parseBTF(t, readFile(t, p("sites")), plain))
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("the sites are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if below == nil && main.Header.LayoutLen == 0 {
		t.Error("the layout section is lost")
	}
	less, more := named(plain), named(main)
	for name := range less {
		if more[name] != less[name] {
			t.Errorf("%s: %d times, want %d", name, more[name], less[name])
		}
		delete(more, name)
	}
	if more["INT unsigned char"] != 1 || slices.ContainsFunc(slices.Collect(maps.Keys(more)),
		func(s string) bool { return strings.HasPrefix(s, "FUNC") }) {
		t.Errorf("the BTF without sites has more: %v", more)
	}
	if functions := named(apart); functions["FUNC add"] != 1 || functions["INT unsigned char"] != 0 {
		t.Errorf("the BTF with the sites has %v", functions)
	}
}

// named counts the named types of b itself.
func named(b *btf.Blob) map[string]int {
	count := map[string]int{}
	for i := range b.Types {
		if t := &b.Types[i]; t.NameOff != 0 {
			count[fmt.Sprint(t.Kind, " ", b.TypeName(t))]++
		}
	}
	return count
}

// sitesIn lists the sites in b, sorted.
func sitesIn(t *testing.T, b *btf.Blob) []string {
	t.Helper()
	names, err := dump.NamesOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := dump.WriteSites(&text, b, nil, names, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	slices.Sort(lines)
	return lines
}

func parseBTF(t *testing.T, data []byte, base *btf.Blob) *btf.Blob {
	t.Helper()
	b, err := btf.Parse(data, base)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
