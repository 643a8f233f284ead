package kernel

import (
	"debug/elf"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const globalVar = "--features=default,global_var"

// linkAlone links a module into a file in which each section has a different address. pahole needs
// such a file, because it finds the section of a variable by the variable's address, and in a
// module the address of every section is 0.
func linkAlone(t *testing.T, ko string) string {
	t.Helper()
	f := must.Get(elf.Open(ko))(t)
	defer f.Close()
	script := "SECTIONS {\n\t. = 0x100000;\n"
	seen := map[string]bool{}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && !seen[s.Name] {
			seen[s.Name] = true
			script += fmt.Sprintf("\t%s : { KEEP(*(%[1]s)) }\n", s.Name)
		}
	}
	dir := t.TempDir()
	out := filepath.Join(dir, strings.TrimSuffix(filepath.Base(ko), ".debug"))
	lds := filepath.Join(dir, "link.lds")
	harness.WriteFile(t, lds, script+"}\n")
	harness.MustRun(t, "", "ld", "-T", lds, "-e", "0", "--unresolved-symbols=ignore-all",
		"--no-warn-rwx-segments", "-o", out, ko)
	return out
}

// typeOf is the prefix of a line that gives a variable's type; the function placed returns such
// lines.
const typeOf = "type of "

// placed returns two lines for each variable in a blob: one with its section, offset, size and
// name, and one with its type.
func placed(t *testing.T, b oracle.Blob) map[string]bool {
	t.Helper()
	c := must.Get(content.Load(b.Path, b.Bases...))(t)
	found := map[string]bool{}
	for section, texts := range c.Definitions[content.Section] {
		for _, text := range texts {
			_, text, _ = strings.Cut(text, "{")
			for entry := range strings.SplitSeq(strings.TrimSuffix(text, " }"), ";") {
				if entry = strings.TrimSpace(entry); entry != "" {
					found[section+" "+entry] = true
				}
			}
		}
	}
	for name, texts := range c.Definitions[content.Var] {
		for _, text := range texts {
			found[typeOf+name+": "+text] = true
		}
	}
	return found
}

// joined joins a chain of BTF files into one file, because cilium/ebpf accepts only one base.
func joined(t *testing.T, chain ...string) string {
	t.Helper()
	data := must.Get(oracle.Join(chain...))(t)
	path := filepath.Join(t.TempDir(), "joined.btf")
	harness.WriteFile(t, path, string(data))
	return path
}

// TestModuleVariables checks all variables of the modules that MODULES names. It converts each
// module twice: as it is, which puts all variables except per-CPU variables into extra BTF, and
// after linkAlone has linked it. The variables must be the same. It also compares our BTF of the
// linked module with pahole's.
func TestModuleVariables(t *testing.T) {
	list := modules(t)
	if len(list) == 0 {
		t.Skip("SKIPPED: set MODULES to modules of the kernel VMLINUX, or to directories with modules")
	}
	vmlinux := vmlinux(t)
	base, _ := encode(t, vmlinux, nil)
	pahole := oracle.Pahole(t, vmlinux)
	dir := t.TempDir()
	own, apart := filepath.Join(dir, "own"), filepath.Join(dir, "extra")
	harness.MustRun(t, "", append([]string{harness.Tool(t, "btfgen"), "modules", "-q", globalVar,
		"--base=" + base.Path, "-o", own, "--extra-dir", apart}, list...)...)
	variables := 0
	for _, ko := range list {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(ko), ".debug"), ".ko")
		t.Run(name, func(t *testing.T) {
			linked := linkAlone(t, ko)
			ours, skipped := encode(t, linked, []string{base.Path}, globalVar)
			oracle.SameTypes(t, linked, ours, skipped,
				oracle.PaholeWith(t, oracle.Features+",global_var", linked, pahole.Path))

			ownBTF := filepath.Join(own, name+".btf")
			parts := placed(t, oracle.Blob{Path: ownBTF, Bases: []string{base.Path}})
			maps.Copy(parts, placed(t, oracle.Blob{Path: filepath.Join(apart, name+"-btf-extra.btf"),
				Bases: []string{joined(t, base.Path, ownBTF)}}))
			whole := placed(t, ours)
			for _, text := range slices.Sorted(maps.Keys(whole)) {
				if !parts[text] {
					t.Errorf("only in the linked file: %s", text)
				}
			}
			for _, text := range slices.Sorted(maps.Keys(parts)) {
				if !whole[text] {
					t.Errorf("only in the module: %s", text)
				}
			}
			for text := range whole {
				if !strings.HasPrefix(text, typeOf) {
					variables++
				}
			}
		})
	}
	if variables == 0 {
		t.Error("no module has a variable")
	}
	t.Logf("%d variables, compared with their section and offset, in %d modules", variables, len(list))
}
