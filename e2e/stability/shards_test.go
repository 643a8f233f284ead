package stability

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestShardsOfKernel edits net/core/dev.c, links the kernel again, and wants btfgen split to make
// the same files as before, but for the one of that unit if one of its types changed. The shards'
// objects are the BTF of the kernel.
func TestShardsOfKernel(t *testing.T) {
	kernel := harness.Kernel(t)
	harness.KernelCompiler(t, kernel)
	const file = "net/core/dev.c"
	source := string(harness.ReadFile(t, filepath.Join(kernel, file)))
	const function = "int netif_rx(struct sk_buff *skb)\n{\n"
	if !strings.Contains(source, function) {
		t.Fatalf("%s has no %q", file, function)
	}
	build := func(text string) string { return linkEdited(t, kernel, file, text) }
	original := build(source)
	for _, e := range []struct {
		name, text string
		changes    int // shards
	}{
		{"a body", strings.Replace(source, function, function+
			"\tvolatile char dbg[37] = {1}; void ***deep = (void *)skb;\n"+
			"\tif (dbg[2] && deep[0]) netif_rx((void *)deep[1]);\n", 1), 0},
		{"a type", source + "\nstruct added_by_test { struct net_device *dev; } added_by_test;\n", 1},
	} {
		t.Run(e.name, func(t *testing.T) {
			edited := build(e.text)
			for _, n := range []int{16, 64} {
				before, after := shardsOf(t, original, n), shardsOf(t, edited, n)
				changed := 0
				for i := range before {
					if bytes.Equal(before[i], after[i]) {
						continue
					}
					changed++
					if !slices.Contains(unitsOf(t, after[i]), filepath.Base(file)) {
						t.Errorf("shard %d of %d differs, and has no %s", i+1, n, filepath.Base(file))
					}
				}
				if changed != e.changes {
					t.Errorf("%d of %d shards differ, not %d", changed, n, e.changes)
				}
				if e.changes > 0 {
					sameKernel(t, edited, after)
				}
			}
		})
	}
}

// linkEdited compiles a text in place of a kernel's source file, links the kernel, and returns its
// path. Nothing in the kernel's directory is changed.
func linkEdited(t *testing.T, kernel, file, text string) string {
	t.Helper()
	dir, object := t.TempDir(), strings.TrimSuffix(file, ".c")+".o"
	edited, output := filepath.Join(dir, file), filepath.Join(dir, "edited.o")
	harness.WriteFile(t, edited, text)
	command, err := harness.CompileCommand(kernel, object, edited, output)
	if err != nil {
		t.Fatal(err)
	}
	// The unit's name is that of the kernel's file.
	harness.MustRun(t, kernel, "sh", "-c", command+" -ffile-prefix-map="+dir+"/=")
	var objects []string
	found := false
	for _, o := range strings.Fields(harness.MustRun(t, kernel, "ar", "t", "vmlinux.a")) {
		if o == object {
			o, found = output, true
		}
		objects = append(objects, o)
	}
	if !found {
		t.Fatalf("vmlinux.a has no %s", object)
	}
	objects = append(objects, ".vmlinux.export.o", "init/version-timestamp.o")
	vmlinux := filepath.Join(dir, "vmlinux")
	harness.MustRun(t, kernel, "ld", "-o", vmlinux, "-z", "noexecstack", "--no-warn-rwx-segments",
		"-z", "max-page-size=0x200000", "--unresolved-symbols=ignore-all",
		"--script=arch/x86/kernel/vmlinux.lds", "@"+paramFile(t, objects))
	return vmlinux
}

// paramFile is a file with arguments for ld.
func paramFile(t *testing.T, args []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "args")
	harness.WriteFile(t, path, strings.Join(args, "\n"))
	return path
}

// shardsOf are the files that btfgen split makes.
func shardsOf(t *testing.T, vmlinux string, n int) [][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shards")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "split", "-n", fmt.Sprint(n), "-o", dir, vmlinux)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != n {
		t.Fatalf("%d shards, not %d: %v", len(names), n, err)
	}
	var shards [][]byte
	for _, name := range names {
		shards = append(shards, harness.ReadFile(t, name))
	}
	return shards
}

// unitsOf are the names of a shard's compilation units.
func unitsOf(t *testing.T, shard []byte) (names []string) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(shard))
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := d.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return names
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok && e.Tag == dwarf.TagCompileUnit {
			names = append(names, name)
		}
	}
}

// sameKernel wants the link of the shards' objects to be what btfgen elf makes of the kernel.
func sameKernel(t *testing.T, vmlinux string, shards [][]byte) {
	t.Helper()
	dir, btfgen := t.TempDir(), harness.Tool(t, "btfgen")
	args := []string{harness.Tool(t, "btfdedup"), "link", "--facts", "facts", "-o", "shards.btf"}
	for i, shard := range shards {
		name := fmt.Sprintf("%d.elf", i)
		if err := os.WriteFile(filepath.Join(dir, name), shard, 0o666); err != nil {
			t.Fatal(err)
		}
		harness.MustRun(t, dir, btfgen, "object", "-o", name+".btfo", name)
		args = append(args, name+".btfo")
	}
	harness.MustRun(t, dir, btfgen, "facts", "-o", "facts", vmlinux)
	harness.MustRun(t, dir, btfgen, "elf", "-o", "elf.btf", vmlinux)
	harness.MustRun(t, dir, args...)
	if !bytes.Equal(harness.ReadFile(t, filepath.Join(dir, "shards.btf")),
		harness.ReadFile(t, filepath.Join(dir, "elf.btf"))) {
		t.Errorf("the BTF of %d shards is not that of the kernel", len(shards))
	}
}
