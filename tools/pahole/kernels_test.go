package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// call is a line of testdata/kernels.txt.
type call struct {
	kernels, script, version string
	args                     []string
	features                 features.Set
}

func calls(t *testing.T) []call {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/kernels.txt"))(t)
	var list []call
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 5 {
			t.Fatalf("kernels.txt: %q", line)
		}
		set := must.Get(features.Parse(f[4]))(t)
		list = append(list, call{f[0], f[1], strings.Trim(f[2], "-"), strings.Fields(f[3]), set})
	}
	return list
}

// TestKernels runs the calls from kernel builds. Each must write the same BTF as btfgen elf with
// these features, to the file in which the build looks for the BTF.
func TestKernels(t *testing.T) {
	vmlinux := compile(t, vmlinuxSource, "-nostdlib", "-static")
	module := compile(t, moduleSource, "-c")
	base := write(t, "vmlinux.btf", expected(t, vmlinux, "", features.Default(), ""))
	for _, c := range calls(t) {
		t.Run(c.kernels, func(t *testing.T) {
			t.Setenv(versionVariable, c.version)
			out := t.TempDir() + "/out.BTF.1"
			target, below, prefix, detached := copied(t, vmlinux), "", "", false
			for i, arg := range c.args {
				switch c.args[i] = strings.ReplaceAll(arg, "OUT", out); arg {
				case "ELF":
					c.args[i] = target
				case "MODULE":
					target = copied(t, module)
					c.args[i] = target
				case "BASE":
					below = base
					c.args[i] = base
				}
				if _, value, ok := strings.Cut(arg, "--kabi_prefix="); ok {
					prefix = value
				}
				detached = detached || strings.Contains(arg, "detached")
			}
			if command, err := newCommand(c.version, ""); err != nil || command.parse(c.args) != nil ||
				command.features.Set != c.features {
				t.Errorf("%q: the features are %v, not %v", c.args, command.features.Set, c.features)
			}
			want := expected(t, target, below, c.features, prefix)
			before := read(t, target)
			if code, stdout, stderr := pahole(c.args...); code != 0 || stdout+stderr != "" {
				t.Fatalf("%q: exit code %d, output %q%q", c.args, code, stdout, stderr)
			}
			if detached {
				if !bytes.Equal(read(t, out), want) {
					t.Errorf("%q: the BTF differs from that of btfgen elf --features=%v", c.args, c.features)
				}
				if !bytes.Equal(read(t, target), before) {
					t.Error("the file has changed")
				}
				return
			}
			f := must.Get(elf.Parse(target, read(t, target)))(t)
			var base []byte
			if below != "" && c.features.Has(features.DistilledBase) {
				base, want = distilled(t, want, below)
			}
			for name, want := range map[string][]byte{".BTF": want, ".BTF.base": base} {
				var got []byte
				if s := f.Section(name); s != nil {
					got = s.Raw()
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%q: %d bytes of %s differ from the %d bytes of btfgen elf --features=%v",
						c.args, len(got),
						name, len(want), c.features)
				}
			}
		})
	}
}
