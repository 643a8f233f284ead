package facts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// workspace is a directory with the files that a test makes.
type workspace struct {
	t   *testing.T
	dir string
}

func newWorkspace(t *testing.T) workspace { return workspace{t, t.TempDir()} }

// write makes a file in the workspace and returns its name there.
func (w workspace) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	must.OK(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.OK(w.t, os.WriteFile(path, []byte(content), 0o644))
	return name
}

// run runs a tool in the workspace, and skips the test if it isn't installed.
func (w workspace) run(command string, args ...string) {
	w.t.Helper()
	programtest.Run(w.t, w.dir, command, args...)
}

// compile writes a source to a file and compiles that file to an object.
func (w workspace) compile(name, source string, flags ...string) string {
	w.t.Helper()
	w.write(name, source)
	object := strings.TrimSuffix(name, ".c") + ".o"
	w.run("gcc", append([]string{"-O2", "-c", "-fno-pic", "-ffreestanding",
		"-fno-asynchronous-unwind-tables", "-o", object, name}, flags...)...)
	return object
}

// linkScript keeps per-CPU variables in their own section, like the
// kernel's linker script.
const linkScript = `SECTIONS {
	. = 0x100000;
	.text : { *(.text .text.*) }
	.rodata : { *(.rodata .rodata.*) }
	.BTF_ids : { *(.BTF_ids) }
	. = ALIGN(4096);
	.data..percpu : { *(.data..percpu) }
	.data : { *(.data) }
	.bss : { *(.bss) }
}
`

// link makes an executable from objects.
func (w workspace) link(out string, objects ...string) string {
	w.t.Helper()
	w.write("link.lds", linkScript)
	w.run("ld", append([]string{"-T", "link.lds", "-e", "0", "-o", out}, objects...)...)
	return out
}

// extract returns the facts about a file in the workspace.
func (w workspace) extract(name string, o Options) *Facts {
	w.t.Helper()
	f := must.Get(w.tryExtract(name, o))(w.t)
	return f
}

func (w workspace) tryExtract(name string, o Options) (*Facts, error) {
	w.t.Helper()
	f, err := elf.Open(filepath.Join(w.dir, name))
	must.OK(w.t, err)
	defer f.Close()
	result, err := Extract(f, o)
	if err == nil {
		result.sort()
	}
	return result, err
}

// text writes facts, and checks that parsing the text gives the same facts.
func text(t *testing.T, f *Facts) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, f.Write(&b))
	again, err := Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	requireSame(t, again, f)
	return b.String()
}

// body is the text without the lines that depend on the machine.
func body(t *testing.T, f *Facts) string {
	t.Helper()
	lines := strings.SplitAfter(text(t, f), "\n")
	return strings.Join(lines[2:], "")
}

var defaults = Options{Features: features.Default()}
