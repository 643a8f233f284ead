package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// writeModule writes a module with a name in .modinfo, and with files as sections.
func writeModule(t *testing.T, path, name string, files map[string]string) string {
	t.Helper()
	sections := []elfwrite.Section{
		{Name: ".gnu.linkonce.this_module", Data: make([]byte, 64), Alloc: true},
		{Name: ".modinfo", Data: []byte("name=" + name + "\x00"), Alloc: true},
	}
	for _, section := range []string{btf.SectionTypes, btf.SectionInline} {
		if files[section] == "" {
			continue
		}
		data := must.Get(os.ReadFile(files[section]))(t)
		sections = append(sections, elfwrite.Section{Name: section, Data: data})
	}
	return write(t, path, filetest.ELF(t, sections...))
}

// TestBaseOfSites: each verb that reads the sites of inlined functions accepts those of a module,
// and refuses those that are based on the BTF of another module.
func TestBaseOfSites(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	_, kernel := writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	own := func(n int) func(b *btf.Builder) {
		return func(b *btf.Builder) {
			for range n {
				b.Ref(btf.KindTypedef, "t", 1)
			}
		}
	}
	sites := func(b *btf.Builder) {
		b.Locsec("inline.text", btf.Site{Func: b.Func("inlined", b.FuncProto(1), 0),
			LocProto: b.LocProto()})
	}
	_, mine := writeBTF(t, dir, "m.btf", kernel, own(1))
	_, other := writeBTF(t, dir, "n.btf", kernel, own(3))
	writeBTF(t, dir, "right", mine, sites)
	writeBTF(t, dir, "wrong", other, sites)
	writeBTF(t, dir, "right.vmlinux", kernel, sites)
	writeBTF(t, dir, "wrong.vmlinux", mine, sites)
	writeModule(t, p("m.ko"), "m", map[string]string{btf.SectionTypes: p("m.btf")})
	for _, s := range []string{"right", "wrong"} {
		files := map[string]string{btf.SectionTypes: p("m.btf"), btf.SectionInline: p(s)}
		writeModule(t, p(s+".ko"), "m", files)
		files[btf.SectionInline] = p(s + ".vmlinux")
		writeModule(t, p(s+".vmlinux.ko"), "btf_vmlinux_inline", files)
	}
	for _, verb := range []string{
		"embed -q -o OUT --btf m.btf --base vmlinux.btf --inline SITES m.ko",
		"embed -q -o OUT --btf m.btf --base vmlinux.btf --inline SITES.vmlinux right.vmlinux.ko",
		"verify --base vmlinux.btf SITES.ko", "verify --base vmlinux.btf SITES.vmlinux.ko",
		"verify vmlinux.btf SITES.ko", "verify vmlinux.btf SITES.vmlinux.ko",
		"archive -q -o OUT.tar --release 7.4.0 --vmlinux vmlinux.btf SITES.ko",
		"archive -q -o OUT.tar --release 7.4.0 --vmlinux vmlinux.btf SITES.vmlinux.ko",
		"archive -q -o OUT.tar --release 7.4.0 --vmlinux vmlinux.btf m.btf m.inline=SITES",
		"dump --inline --base vmlinux.btf --base m.btf SITES",
	} {
		for code, s := range []string{"right", "wrong"} {
			args := strings.Fields(strings.NewReplacer("OUT", "out"+s, "SITES", s).Replace(verb))
			for i, arg := range args {
				if before, file, ok := strings.Cut(arg, "="); ok {
					args[i] = before + "=" + p(file)
				} else if _, err := os.Stat(p(arg)); err == nil || strings.HasPrefix(arg, "out") {
					args[i] = p(arg)
				}
			}
			got, stdout, stderr := btfdedup(args...)
			if got != code || code == 1 && strings.Count(stdout+stderr, "different base")+
				strings.Count(stdout+stderr, "is not a FUNC")+
				strings.Count(stdout+stderr, "kernel rejects") == 0 {
				t.Errorf("%q: exit code %d, want %d\n%s%s", args, got, code, stdout, stderr)
			}
			os.Remove(p("out" + s + ".tar"))
		}
	}
	code, _, stderr := btfdedup("embed", "-o", p("out"), "--btf", p("m.btf"), "--inline", p("right"),
		p("m.ko"))
	if code != 2 || !strings.Contains(stderr, "--inline needs --base") {
		t.Errorf("embed without --base: exit code %d, %s", code, stderr)
	}
}

// TestVmlinuxModule: the module btf_vmlinux has the BTF of vmlinux. Verbs that read many modules
// say so and go on.
func TestVmlinuxModule(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	vmlinux, kernel := writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
	})
	other, _ := writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) { b.Int("char", 1, 0, 0) })
	writeBTF(t, dir, "m.btf", kernel, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
	must.OK(t, os.MkdirAll(p("tree"), 0o777))
	m := writeModule(t, p("tree/m.ko"), "m", map[string]string{btf.SectionTypes: p("m.btf")})
	carrier := writeModule(t, p("tree/btf_vmlinux.ko"), "btf_vmlinux",
		map[string]string{btf.SectionTypes: vmlinux})
	wrong := writeModule(t, p("wrong.ko"), "btf_vmlinux", map[string]string{btf.SectionTypes: other})
	const says = "its BTF is that of vmlinux (CONFIG_DEBUG_INFO_BTF=m)"
	archive := []string{"archive", "--release", "7.4.0", "--vmlinux", vmlinux, "-o", p("out.tar")}
	for _, c := range []struct {
		args []string
		code int
		want string // on standard output or standard error
	}{
		{[]string{"verify", vmlinux, p("tree")}, 0, "2 modules: 2 load"},
		{[]string{"verify", vmlinux, p("tree")}, 0, carrier + ": " + says},
		{[]string{"verify", "--base", vmlinux, carrier, m}, 0, carrier + ": " + says},
		{append(archive, m, carrier), 0, carrier + ": left out, because " + says},
		{[]string{"verify", "--manifest", p("out.tar"), "--modules", p("tree")}, 0, ""},
		{[]string{"verify", vmlinux, wrong}, 1, "its BTF must be that of vmlinux, but differs"},
		{append(archive, wrong), 1, "its BTF must be that of vmlinux (CONFIG_DEBUG_INFO_BTF=m), but"},
		{[]string{"embed", "--btf", dir, "-o", p("out"), p("tree")}, 0,
			carrier + ": skipped, because " + says},
		{[]string{"embed", "--btf", dir, "-o", p("out"), carrier}, 1, "there is no other module"},
	} {
		code, stdout, stderr := btfdedup(c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}
