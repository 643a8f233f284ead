package stability

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestEditOfKernelFile compiles kernel/sched/core.c with Kbuild's command, before and after edits.
// The BTF object must change if and only if an edit changes a type.
func TestEditOfKernelFile(t *testing.T) {
	kernel := harness.Kernel(t)
	harness.KernelCompiler(t, kernel)
	const object = "kernel/sched/core.o"
	source := string(harness.ReadFile(t, filepath.Join(kernel, "kernel/sched/core.c")))

	compile := func(t *testing.T, text string) []byte {
		t.Helper()
		file := filepath.Join(t.TempDir(), "core.c")
		harness.WriteFile(t, file, text)
		return kernelObject(t, kernel, object, file)
	}

	// function is the beginning of a function that is in every version of the file.
	const function = "int wake_up_process(struct task_struct *p)\n{\n"
	const member = "struct cfs_rq"
	if !strings.Contains(source, function) {
		t.Fatalf("kernel/sched/core.c has no %q", function)
	}
	before := compile(t, source)
	for _, e := range []struct {
		name string
		same bool
		text string
	}{
		{"a comment at the top", true, "/* a\n * comment */\n" + source},
		{"a comment in a body", true, strings.Replace(source, function, function+"\t/* here */\n", 1)},
		{"new locals and a call", true, strings.Replace(source, function, function+
			"\tvolatile char dbg[37] = {1}; void ***deep = (void *)p;\n"+
			"\tif (dbg[2] && deep[0]) wake_up_process((void *)deep[1]);\n", 1)},
		{"control: a struct at file scope", false,
			source + "\nstruct added_by_test { int a; } added_by_test;\n"},
		{"control: a function", false, source + "\nint added_by_test(struct " +
			strings.TrimPrefix(member, "struct ") + " *rq);\nint added_by_test(" + member +
			" *rq) { return rq != 0; }\n"},
	} {
		t.Run(e.name, func(t *testing.T) {
			if same := bytes.Equal(before, compile(t, e.text)); same != e.same {
				t.Errorf("the BTF object is the same: %t, want %t", same, e.same)
			}
		})
	}
}

// TestSpellingsOfKernelFile compiles drivers/base/cpu.c with Kbuild's command, and with additional
// flags that change only the form of the DWARF. The BTF object must stay the same.
func TestSpellingsOfKernelFile(t *testing.T) {
	kernel := harness.Kernel(t)
	harness.KernelCompiler(t, kernel)
	compile := func(t *testing.T, flags string) []byte {
		t.Helper()
		return kernelObject(t, kernel, "drivers/base/cpu.o",
			filepath.Join(kernel, "drivers/base/cpu.c"), flags)
	}
	plain := compile(t, "")
	for _, flags := range []string{
		"-gdwarf-2", "-gdwarf-3 -gstrict-dwarf", "-gdwarf-4", "-gdwarf64",
		"-gdwarf-4 -fdebug-types-section", "-fdebug-types-section", "-gz=zlib", "-gz=zstd",
		"-ffunction-sections -fdata-sections",
	} {
		t.Run(flags, func(t *testing.T) {
			if !bytes.Equal(plain, compile(t, flags)) {
				t.Error("the BTF object is not the same")
			}
		})
	}
	t.Run("control: -fshort-enums", func(t *testing.T) {
		if bytes.Equal(plain, compile(t, "-fshort-enums")) {
			t.Error("the BTF object is the same")
		}
	})
}

// kernelObject compiles a source with the command with which Kbuild compiled an object of the
// kernel, and with additional flags. It returns the BTF object.
func kernelObject(t *testing.T, kernel, object, source string, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	command := must.Get(harness.CompileCommand(kernel, object, source, filepath.Join(dir, "x.o")))(t)
	harness.MustRun(t, kernel, "sh", "-c", strings.Join(append([]string{command}, flags...), " "))
	harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "object", "-o", "x.btfo", "x.o")
	return harness.ReadFile(t, filepath.Join(dir, "x.btfo"))
}
