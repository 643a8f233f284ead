package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
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
			types, err := btf.ReadOne(c.types, on)
			if err != nil {
				t.Fatal(err)
			}
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

// TestModulesImplicitArguments: for modules and vmlinux, "modules --embed" gives the same result as
// the three steps modules, "resolve-ids --btf-out" and embed.
func TestModulesImplicitArguments(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(p("ko"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{"vmlinux": "v", "ko/m.ko": "m", "ko/n.ko": ""} {
		source := "int plain(int x) { return x; }"
		if name != "" {
			source = kfuncSource(name)
		}
		cmd := exec.Command("gcc", "-g", "-O2", "-xc", "-c", "-o", p(path), "-")
		cmd.Stdin = strings.NewReader(source)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("gcc: %v\n%s", err, out)
		}
	}
	full := []string{"modules", "-q", "--features=default,global_var", p("ko")}
	verb := func(args ...string) { succeeds(t, "", append(slices.Clone(full), args...)...) }
	verb("--vmlinux", p("vmlinux"), "-o", p("one"), "--embed", p("one.ko"), "--extra-dir", p("extra"))

	verb("--vmlinux", p("vmlinux"), "-o", p("shown"), "--variables=percpu")
	succeeds(t, "", "resolve-ids", "-o", p("vmlinux.ids"), "--btf", p("shown/vmlinux.btf"),
		"--btf-out", p("vmlinux.btf"), p("vmlinux"))
	if sameFiles(t, p("shown/vmlinux.btf"), p("vmlinux.btf")) ||
		!sameFiles(t, p("one/vmlinux.btf"), p("vmlinux.btf")) {
		t.Error("vmlinux differs from the result of two steps, or its BTF is not changed")
	}
	verb("--base", p("vmlinux.btf"), "-o", p("steps"), "--variables=percpu")
	for _, name := range []string{"m", "n"} {
		ko := p("ko/" + name + ".ko")
		succeeds(t, "", "resolve-ids", "-o", p("ids.ko"), "--btf", p("steps/"+name+".btf"), "--base",
			p("vmlinux.btf"), "--btf-out", p("out.btf"), ko)
		warning := "section .BTF_ids already has ids"
		if name == "n" {
			warning = ""
		}
		succeeds(t, warning, "embed", "-o", p("steps.ko"), "--btf", p("out.btf"), p("ids.ko"))
		if !sameFiles(t, p("out.btf"), p("one/"+name+".btf")) ||
			!sameFiles(t, p("steps.ko"), p("one.ko/"+name+".ko")) {
			t.Errorf("%s differs from the result of three steps", name)
		}
		if changed := !sameFiles(t, p("out.btf"), p("steps/"+name+".btf")); changed != (name == "m") {
			t.Errorf("%s: the BTF is changed: %v", name, changed)
		}
		// The extra BTF is based on the embedded BTF.
		code, stdout, stderr := btfdedup("verify", "--base", p("vmlinux.btf"), "--base", p("out.btf"),
			p("extra/"+name+"-btf-extra.btf"))
		if code != 0 {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
	}
	kernel, err := btf.ReadOne(p("vmlinux.btf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	module, err := btf.ReadOne(p("one/m.btf"), kernel)
	if err != nil {
		t.Fatal(err)
	}
	extra, err := btf.ReadOne(p("extra/m-btf-extra.btf"), module)
	if err != nil {
		t.Fatal(err)
	}
	for i := range extra.Types {
		v := &extra.Types[i]
		if v.Kind != btf.KindVar {
			continue
		}
		array, in := extra.ByID(v.SizeOrType)
		elem, at := in.ByID(in.ArrayOf(array).Elem)
		if name := at.TypeName(elem); extra.TypeName(v) != "table_m" || name != "table" {
			t.Errorf("variable %s is an array of %s", extra.TypeName(v), name)
		}
	}

	// If the old ids are kept, the BTF stays as the link made it.
	verb("--vmlinux", p("vmlinux"), "-o", p("kept"), "--embed", p("kept.ko"), "--keep-ids",
		"--variables=percpu")
	if !sameFiles(t, p("kept/vmlinux.btf"), p("shown/vmlinux.btf")) ||
		!sameFiles(t, p("kept/m.btf"), p("shown/m.btf")) {
		t.Error("with --keep-ids the BTF is changed")
	}
}
