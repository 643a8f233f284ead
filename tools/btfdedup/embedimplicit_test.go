package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestEmbedImplicitArguments: for a file that has kfuncs with implicit arguments, "embed
// --resolve-ids" gives the same result as "resolve-ids --btf-out" and then embed.
func TestEmbedImplicitArguments(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.ko", idsSource)
	base, blob := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	shown, _ := writeBTF(t, dir, "shown.btf", nil, idsTypes)
	split, _ := writeBTF(t, dir, "split.btf", blob, idsTypes)
	for _, c := range []struct {
		name, types                   string
		on, onDistilled, embedOnSteps []string
	}{
		{"vmlinux", shown, nil, nil, nil},
		{"module", split, []string{"--base", base}, []string{"--base", base}, nil},
		{"distilled", split, []string{"--base", base}, []string{"--btf-base", base},
			[]string{"--btf-base", base}},
	} {
		t.Run(c.name, func(t *testing.T) {
			two := append([]string{"resolve-ids", "-o", p("step.ko"), "--btf", c.types, "--btf-out",
				p("two.btf"), object}, c.on...)
			succeeds(t, "", two...)
			succeeds(t, "section .BTF_ids already has ids", append([]string{"embed", "-o", p("two.ko"),
				"--btf", p("two.btf"), p("step.ko")}, c.embedOnSteps...)...)
			succeeds(t, "", append([]string{"embed", "-o", p("one.ko"), "--btf", c.types, "--resolve-ids",
				"--btf-out", p("one.btf"), object}, c.onDistilled...)...)
			if !sameFiles(t, p("one.ko"), p("two.ko")) || !sameFiles(t, p("one.btf"), p("two.btf")) {
				t.Error("one step gives different bytes than two")
			}
			if sameFiles(t, p("one.btf"), c.types) {
				t.Error("nothing is changed")
			}
			// If the BTF has already been changed, embedding it changes nothing more.
			succeeds(t, "", append([]string{"embed", "-o", p("again.ko"), "--btf", p("one.btf"),
				"--resolve-ids", "--btf-out", p("again.btf"), object}, c.onDistilled...)...)
			if !sameFiles(t, p("one.ko"), p("again.ko")) || !sameFiles(t, p("one.btf"), p("again.btf")) {
				t.Error("changing it again makes a difference")
			}
			// Sites of inlined functions are moved onto the changed BTF.
			var on *btf.Blob
			if c.types == split {
				on = blob
			}
			types := must.Get(btf.ReadOne(c.types, on))(t)
			sites, _ := writeBTF(t, dir, "sites", types, func(b *btf.Builder) {
				f := b.Func("inlined", b.FuncProto(0), btf.LinkageStatic)
				b.Locsec("inline.text", btf.Site{Func: idOf(t, c.types, "a", on), LocProto: b.LocProto()},
					btf.Site{Func: f, LocProto: b.LocProto(), Offset: 4})
			})
			succeeds(t, "", append([]string{"embed", "-o", p("sites.ko"), "--btf", c.types,
				"--resolve-ids", "--inline", sites, "--btf-out", p("on.btf"), "--inline-out", p("moved"),
				object}, c.onDistilled...)...)
			if !sameFiles(t, p("on.btf"), p("one.btf")) {
				t.Error("the sites change the types")
			}
			wantSection(t, p("sites.ko"), btf.SectionInline, p("moved"))
			dump := func(on, sites string) string {
				args := []string{"dump", "--inline", "--base", on, sites}
				if c.types == split {
					args = slices.Insert(args, 2, "--base", base)
				}
				_, text, _ := btfdedup(args...)
				return text
			}
			if got, want := dump(p("on.btf"), p("moved")), dump(c.types, sites); got != want ||
				strings.Count(got, "\n") != 2 {
				t.Errorf("the sites are\n%swant\n%s", got, want)
			}
		})
	}
	// Without such kfuncs the BTF doesn't change, whatever its order.
	plain := compileIDs(t, dir, "plain.ko", strings.ReplaceAll(idsSource, "0x10001", "0x1"))
	succeeds(t, "", "embed", "-o", p("plain.out"), "--btf", shown, "--resolve-ids", "--btf-out",
		p("plain.btf"), plain)
	if !sameFiles(t, p("plain.btf"), shown) {
		t.Error("BTF is changed without a reason")
	}
	code, _, stderr := btfdedup("embed", "-o", p("bad"), "--btf", shown, "--inline-out", p("bad.btf"),
		object)
	if code != 2 || !strings.Contains(stderr, "--inline-out needs --inline") {
		t.Errorf("--inline-out without --inline: %d, %s", code, stderr)
	}
}

// kfuncSource returns the source of a kfunc that has an implicit argument, and of the set with the
// kfunc's flag.
func kfuncSource(name string) string {
	return strings.NewReplacer("__k__", "__"+name+"__", "__a__", "__a_"+name+"__").
		Replace(idsSource) + `
		struct bpf_prog_aux { int i; };
		struct table { int n; struct table *next; } table_` + name + `[3];
		void a_` + name + `(void) {}
		int ` + name + `(int x, struct bpf_prog_aux *aux) { return x + aux->i + table_` + name +
		`[x].n; }`
}
