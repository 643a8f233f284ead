package bpftest

import (
	_ "embed"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

//go:embed testdata/load.c
var loadSource string

// Loader loads objects with libbpf into the running kernel, whose verifier accepts or refuses them.
type Loader struct{ program string }

// NewLoader builds the program that loads objects. It skips the test if libbpf is missing, or if
// the kernel has no BTF or refuses even a program without relocations.
func NewLoader(t testing.TB) *Loader {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("SKIPPED: the kernel has no BTF here: ", err)
	}
	needLibbpf(t)
	d := programtest.NewDir(t)
	d.Write("load.c", loadSource)
	d.Run("gcc", "-O1", "-o", "load", "load.c", "-l:libbpf.a", "-lelf", "-lz")
	l := &Loader{d.Path("load")}
	if ok, log := l.Load(t, Compile(t, `SEC("socket") int p(void *c) { return 0; }`), "p"); !ok {
		t.Skip("SKIPPED: the kernel doesn't load BPF programs here: ", log)
	}
	return l
}

// Load loads the programs and struct_ops maps with these names from an object file. The result log
// is what libbpf and the verifier say.
func (l *Loader) Load(t testing.TB, object []byte, names ...string) (ok bool, log string) {
	t.Helper()
	d := programtest.NewDir(t)
	d.Write("p.o", string(object))
	out := must.Get(exec.Command(l.program, append([]string{d.Path("p.o")}, names...)...).Output())(t)
	word, log, _ := strings.Cut(string(out), "\n")
	return word == "loaded", log
}

// LoadEach loads the programs one after the other, with relocations resolved for a kernel's BTF. It
// returns, by name, "loaded" or "refused", with " missing" if libbpf found nothing for one of the
// program's relocations.
func (l *Loader) LoadEach(t testing.TB, object, vmlinux []byte, names []string) map[string]string {
	t.Helper()
	d := programtest.NewDir(t)
	d.Write("p.o", string(object))
	d.Write("k.btf", string(vmlinux))
	args := append([]string{"--btf", d.Path("k.btf"), "--each", d.Path("p.o")}, names...)
	out := must.Get(exec.Command(l.program, args...).Output())(t)
	results := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		results[name] = result
	}
	return results
}
