package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// vmlinuxSource has something for each feature.
const vmlinuxSource = `
#if __has_attribute(btf_decl_tag)
#define tagged(t) __attribute__((btf_decl_tag(t)))
#define type_tagged(t) __attribute__((btf_type_tag(t)))
#else
#define tagged(t)
#define type_tagged(t)
#endif
enum wide { NARROW, WIDE = 1ul << 40 };
struct device { struct device type_tagged("rcu") *parent; enum wide wide; double speed;
	union { int now; struct { char was; } __UNIQUE_ID_rh_kabi_hide17; }; } tagged("counted");
__attribute__((section(".data..percpu"), used)) struct device here;
struct device elsewhere;
int probe(struct device *d tagged("trusted"), float scale) { return d->wide * scale; }
static __attribute__((noinline)) int shrink(struct device *d, int unused, int by)
{ return d->now / by; }
int open(struct device *d) { return shrink(d, 1, d->wide) + shrink(d, 2, d->now); }
void _start(void) { probe(&elsewhere, 1.5); open(&here); }
`

// moduleSource has the types of vmlinux, and its own types.
const moduleSource = vmlinuxSource + `
struct disk { struct device device; struct disk *next; float load; enum { ON, OFF } state; };
int insert(struct disk *d) { return d->state + probe(&d->device, d->load); }
`

// compile compiles a source for x86-64 and returns the path of the output.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	return programtest.Compile(t, source, "gcc",
		append([]string{"-std=gnu17", "-O2", "-g", "-fno-pic", "-w"}, flags...)...)
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return data
}

// copied returns the path of a copy of the file at path.
func copied(t *testing.T, path string) string {
	t.Helper()
	return write(t, filepath.Base(path), read(t, path))
}

// pahole runs the command.
func pahole(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Execute(program, args, nil, &out, &err)
	return code, out.String(), err.String()
}

// expected returns what btfgen elf --features=SET --base=BELOW --kabi-prefix=PREFIX makes from the
// file at path.
func expected(t *testing.T, path, below string, set features.Set, prefix string) []byte {
	t.Helper()
	var paths []string
	if below != "" {
		paths = []string{below}
	}
	bases := must.Get(base.Open(paths))(t)
	defer bases.Close()
	env := &cli.Env{Stderr: io.Discard}
	env.Quiet, env.Jobs = true, 1
	run := report.Start(env, []string{path})
	defer run.Close()
	options := convert.Options{Features: set, Jobs: 1, KABIPrefix: prefix}
	result := must.Get(pipeline.Linked(path, pipeline.How{Files: new(debugfile.Search), Bases: bases,
		Convert: options, Watch: run}))(t)
	return result.BTF
}

// distilled returns the distilled base of split BTF, and the BTF that is based on it.
func distilled(t *testing.T, split []byte, below string) (onto, types []byte) {
	t.Helper()
	b, err := btf.ReadOne(below, nil)
	must.OK(t, err)
	if onto, types, err = distill.Encode(split, b); err != nil {
		t.Fatal(err)
	}
	return onto, types
}
