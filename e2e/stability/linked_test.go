package stability

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestLinkedKernel edits kernel/sched/core.c and links the kernel again. After an edit of a
// function's body, which moves most functions, the BTF object made from the kernel must have the
// same bytes as before.
func TestLinkedKernel(t *testing.T) {
	kernel := harness.Kernel(t)
	harness.KernelCompiler(t, kernel)
	const file = "kernel/sched/core.c"
	source := string(harness.ReadFile(t, filepath.Join(kernel, file)))
	const function = "int wake_up_process(struct task_struct *p)\n{\n"
	if !strings.Contains(source, function) {
		t.Fatalf("%s has no %q", file, function)
	}
	object := func(text string) []byte {
		t.Helper()
		out := filepath.Join(t.TempDir(), "vmlinux.btfo")
		harness.MustRun(t, "", harness.Tool(t, "btfgen"), "object", "-o", out,
			linkEdited(t, kernel, file, text))
		return harness.ReadFile(t, out)
	}
	before := object(source)
	if !bytes.Equal(before, object(strings.Replace(source, function, function+
		"\tvolatile char dbg[37] = {1}; void ***deep = (void *)p;\n"+
		"\tif (dbg[2] && deep[0]) wake_up_process((void *)deep[1]);\n", 1))) {
		t.Error("an edit of a body changes the kernel's BTF object")
	}
	if bytes.Equal(before, object(source+
		"\nstruct added_by_test { struct rq *rq; } added_by_test;\n")) {
		t.Error("a new type doesn't change the kernel's BTF object")
	}
}

// linkEdited compiles a text in place of one of the kernel's source files, and links the kernel
// with the result. It returns the path of the linked kernel. It changes nothing in the kernel's
// directory.
func linkEdited(t *testing.T, kernel, file, text string) string {
	t.Helper()
	dir, object := t.TempDir(), strings.TrimSuffix(file, ".c")+".o"
	edited, output := filepath.Join(dir, file), filepath.Join(dir, "edited.o")
	harness.WriteFile(t, edited, text)
	command := must.Get(harness.CompileCommand(kernel, object, edited, output))(t)
	// With this option, the name of the unit in the DWARF is that of the original file.
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

// paramFile writes a file with arguments for ld.
func paramFile(t *testing.T, args []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "args")
	harness.WriteFile(t, path, strings.Join(args, "\n"))
	return path
}
