// Package ids compares "btfdedup resolve-ids" with the kernel's own resolve_btfids. The input is
// kernels and modules that Debian ships, and the kernel that e2e/linux builds.
package ids

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// kernels returns the directories that fetch.sh makes.
func kernels(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("IDS_DIR")
	if dir == "" {
		t.Skip("SKIPPED: set IDS_DIR to what e2e/ids/fetch.sh prints")
	}
	list, err := filepath.Glob(filepath.Join(dir, "*", "vmlinux"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: no kernels (%v); run e2e/ids/fetch.sh", dir, err)
	}
	for i, path := range list {
		list[i] = filepath.Dir(path)
	}
	return list
}

// resolvers returns the paths of the resolve_btfids programs. The directory of each program is
// named after the version of the kernel to which the program belongs.
func resolvers(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(os.Getenv("IDS_DIR"), "[0-9].*[0-9]", "resolve_btfids"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no resolve_btfids (%v); run e2e/ids/fetch.sh", err)
	}
	return list
}

// image is a kernel or module under test.
type image struct {
	path string   // the file; if it is a module, a copy without the signature
	base []string // the files with the base BTF; nil for a kernel
}

// images returns the kernel in dir and its modules.
func images(t *testing.T, dir string) []image {
	t.Helper()
	vmlinux := filepath.Join(dir, "vmlinux")
	list := []image{{vmlinux, nil}}
	modules, err := filepath.Glob(filepath.Join(dir, "modules", "*.ko"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("%s: no modules (%v)", dir, err)
	}
	for _, path := range modules {
		unsigned := filepath.Join(t.TempDir(), filepath.Base(path))
		harness.WriteFile(t, unsigned, string(withoutSignature(harness.ReadFile(t, path))))
		list = append(list, image{unsigned, []string{vmlinux}})
	}
	return list
}

// withoutSignature removes what scripts/sign-file.c appends to a module: the signature; a struct
// module_signature of 12 bytes, of which the last 4 are the signature's length; and a line of text.
func withoutSignature(module []byte) []byte {
	rest, found := bytes.CutSuffix(module, []byte("~Module signature appended~\n"))
	if !found {
		return module
	}
	length := binary.BigEndian.Uint32(rest[len(rest)-4:])
	return rest[:len(rest)-12-int(length)]
}

// resolve runs "btfdedup resolve-ids" on x, and writes the result to out.
func resolve(t *testing.T, x image, out string, options ...string) {
	t.Helper()
	argv := []string{harness.Tool(t, "btfdedup"), "resolve-ids", "-o", out}
	for _, base := range x.base {
		argv = append(argv, "--base", base)
	}
	harness.MustRun(t, "", append(append(argv, options...), x.path)...)
}

// kernelResolve runs the kernel's resolve_btfids on x, and returns the new content of .BTF_ids. Up
// to Linux 6.18, the program changes the ELF file; later, it writes the section to a separate file.
func kernelResolve(t *testing.T, program string, x image, options ...string) []byte {
	t.Helper()
	argv := []string{program}
	for _, base := range x.base {
		argv = append(argv, "-b", base)
	}
	harness.MustRun(t, "", append(append(argv, options...), x.path)...)
	if data, err := os.ReadFile(x.path + btfids.SectionName); err == nil {
		return data
	}
	f := must.Get(elf.Open(x.path))(t)
	defer f.Close()
	return bytes.Clone(f.Section(btfids.SectionName).Raw())
}

// unresolve makes a copy of x in which the section .BTF_ids has no ids, as after compilation.
func unresolve(t *testing.T, x image) image {
	t.Helper()
	f := must.Get(elf.Open(x.path))(t)
	defer f.Close()
	section := must.Get(btfids.Find(f))(t)
	base := must.Get(relocate.ReadBases(x.base))(t)
	blobs := must.Get(btf.ReadELF(f, base))(t)
	must.OK(t, section.Restore(blobs[0]))
	data := must.Get(section.Unresolved())(t)
	parts := must.Get(btfids.Patch(f, data))(t)
	path := filepath.Join(t.TempDir(), filepath.Base(x.path))
	harness.WriteFile(t, path, string(bytes.Join(parts, nil)))
	return image{path, x.base}
}

func idsOf(t *testing.T, path string) []byte {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	return bytes.Clone(f.Section(btfids.SectionName).Raw())
}

func sameFile(t *testing.T, what, a, b string) {
	t.Helper()
	if !bytes.Equal(harness.ReadFile(t, a), harness.ReadFile(t, b)) {
		t.Errorf("%s: the files differ: %s, %s", what, a, b)
	}
}

// TestShipped resolves ids in shipped files, whose ids the kernel's build has already resolved. The
// result must be the shipped file, even if the ids are removed first.
func TestShipped(t *testing.T) {
	for _, dir := range kernels(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, x := range images(t, dir) {
				again := filepath.Join(t.TempDir(), "again")
				resolve(t, x, again)
				sameFile(t, "resolved again", again, x.path)
				raw := unresolve(t, x)
				if bytes.Equal(idsOf(t, raw.path), idsOf(t, x.path)) {
					t.Errorf("%s: nothing was resolved", x.path)
				}
				resolve(t, raw, again)
				sameFile(t, "resolved", again, x.path)
			}
		})
	}
}

// TestResolvers checks that we produce the same ids as the resolve_btfids programs from several
// kernel versions. Those from 7.2 and 7.3 first change the BTF, so we resolve the ids in the
// changed BTF.
func TestResolvers(t *testing.T) {
	for _, dir := range kernels(t) {
		for _, program := range resolvers(t) {
			version := filepath.Base(filepath.Dir(program))
			if strings.HasPrefix(version, "7.") && strings.HasPrefix(filepath.Base(dir), "6.") {
				continue // these programs sort the BTF, which gives other ids: the 6.* BTF isn't sorted
			}
			t.Run(filepath.Base(dir)+" by "+version, func(t *testing.T) {
				for _, x := range images(t, dir) {
					raw := unresolve(t, x)
					want := kernelResolve(t, program, raw)
					var options []string
					if types := raw.path + btf.SectionTypes; exists(types) {
						options = []string{"--btf", types}
					}
					ours := filepath.Join(t.TempDir(), "ours")
					resolve(t, raw, ours, options...)
					if !bytes.Equal(want, idsOf(t, ours)) {
						t.Errorf("%s: the ids differ", x.path)
					}
					os.Remove(ours)
				}
			})
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestImplicitArgs resolves ids with the BTF that btfgen makes from DWARF. It checks that --btf-out
// writes BTF with the same content as resolve_btfids does, and that a second run on this BTF, whose
// kfuncs already have their implicit arguments, doesn't change it. The resolve_btfids of 7.3 also
// adds the tags of kfuncs, so it gets BTF without them.
func TestImplicitArgs(t *testing.T) {
	for _, dir := range kernels(t) {
		name := filepath.Base(dir)
		if !strings.HasPrefix(name, "7.") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			vmlinux := image{filepath.Join(dir, "vmlinux"), nil}
			work := t.TempDir()
			before, after := filepath.Join(work, "before"), filepath.Join(work, "after")
			theirs, ours := before, "default"
			if !strings.HasPrefix(name, "7.2") {
				theirs, ours = filepath.Join(work, "theirs"), "default,attributes"
			}
			make := func(features, out string) {
				harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-q", "--lang-exclude=rust",
					"--features="+features, "-o", out, vmlinux.path)
			}
			make(ours, before)
			if theirs != before {
				make("-decl_tag_kfuncs", theirs)
			}
			raw := unresolve(t, vmlinux)
			resolve(t, raw, filepath.Join(work, "out"), "--btf", before, "--btf-out", after)
			kernelResolve(t, filepath.Join(dir, "resolve_btfids"), raw, "--btf", theirs)
			same(t, after, raw.path+btf.SectionTypes)
			if !differ(t, before, after) {
				t.Error("no kfunc has implicit arguments")
			}
			harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "verify", "--sorted", after)

			// The ids refer to the changed BTF. Given that BTF, a version of resolve_btfids that
			// leaves BTF unchanged must produce the same ids.
			program := filepath.Join(dir, "..", "6.12", "resolve_btfids")
			want := kernelResolve(t, program, unresolve(t, vmlinux), "--btf", after)
			if !bytes.Equal(want, idsOf(t, filepath.Join(work, "out"))) {
				t.Error("the ids differ")
			}

			again := filepath.Join(work, "again")
			resolve(t, raw, filepath.Join(work, "out2"), "--btf", after, "--btf-out", again)
			sameFile(t, "BTF", after, again)
			sameFile(t, "ELF", filepath.Join(work, "out"), filepath.Join(work, "out2"))
		})
	}
}

func differ(t *testing.T, a, b string) bool {
	t.Helper()
	r, err := harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff", a, b}}.Run()
	if err != nil || r.Exit > 1 || r.Stderr != "" {
		t.Fatalf("btfdedup diff: exit %d, %v, %s", r.Exit, err, r.Stderr)
	}
	return r.Exit == 1
}

// same checks that two files with BTF have the same content. There is one exception: if a kfunc has
// implicit arguments and takes arena pointers, resolve_btfids of 7.3 leaves the prototype of
// NAME_impl without tags, but the pahole of earlier kernels adds them.
func same(t *testing.T, a, b string) {
	t.Helper()
	r, err := harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff", a, b}}.Run()
	if err != nil || r.Exit > 1 {
		t.Fatalf("btfdedup diff: exit %d, %v, %s", r.Exit, err, r.Stderr)
	}
	impl := len(regexp.MustCompile(`(?m)^func \w+_impl: `).FindAllString(r.Stdout, -1))
	if want := fmt.Sprintf(" 0 only in A, 0 only in B, %d differ, 0 forward declarations, "+
		"0 differ only because of those", impl); r.Exit != 0 && !strings.Contains(r.Stdout, want) {
		t.Errorf("%s and %s differ\n%s", a, b, r.Stdout)
	}
}

// TestBuilt resolves ids in the file in which the build of the kernel in e2e/linux resolves them.
// With the build's BTF, we must produce the same ids as the build. With our BTF, we must produce
// the same ids as that kernel's resolve_btfids does with our BTF.
func TestBuilt(t *testing.T) {
	dir := harness.Kernel(t)
	vmlinux := filepath.Join(dir, "vmlinux")
	raw := image{filepath.Join(dir, ".tmp_vmlinux1"), nil}
	work := t.TempDir()
	out := filepath.Join(work, "out")
	resolve(t, raw, out, "--btf", vmlinux)
	if !bytes.Equal(idsOf(t, out), idsOf(t, vmlinux)) {
		t.Error("with the BTF of the kernel's build: the ids differ")
	}

	ours, after := filepath.Join(work, "ours"), filepath.Join(work, "after")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-q", "-o", ours, raw.path)
	harness.MustRun(t, "", "cp", raw.path, work)
	copied := image{filepath.Join(work, ".tmp_vmlinux1"), nil}
	program := filepath.Join(dir, "tools/bpf/resolve_btfids/resolve_btfids")
	want := kernelResolve(t, program, copied, "--btf", ours)
	types := copied.path + btf.SectionTypes
	resolve(t, raw, out, "--btf", types)
	if !bytes.Equal(want, idsOf(t, out)) {
		t.Error("with our BTF: the ids differ")
	}
	resolve(t, raw, out, "--btf", ours, "--btf-out", after)
	same(t, after, types)
}
