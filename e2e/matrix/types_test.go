package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/e2e/matrix/record"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// checkTypes compares our BTF with pahole's for each recorded call.
func (k kernel) checkTypes(t *testing.T) {
	list := must.Get(record.ReadCalls(k.calls("")))(t)
	if want := 1 + len(k.modules); len(list) != want {
		t.Fatalf("%d calls are recorded, want %d", len(list), want)
	}
	for _, c := range list {
		t.Run(c.File, func(t *testing.T) {
			if c.OursSaid != "" || c.PaholeSaid != "" {
				t.Errorf("our program printed %q, pahole %q", c.OursSaid, c.PaholeSaid)
			}
			r := k.compare(t, c)
			sum := &result.modules
			if !isModule(c) {
				sum = &result.vmlinux
			}
			for class, n := range r.Ours {
				sum.equal += n - differing(r, string(class))
			}
			sum.explained += len(r.Differences)
		})
	}
}

func isModule(c record.Call) bool { return strings.HasSuffix(c.File, ".ko") }

// differing counts the names of a class in our BTF that pahole's BTF lacks or defines differently.
func differing(r *compare.Result, class string) int {
	n := 0
	for _, d := range r.Differences {
		if string(d.Class) == class && d.Kind != compare.OnlyOracle {
			n++
		}
	}
	return n
}

func (k kernel) calls(name string) string { return filepath.Join(k.dir, "calls", name) }

// compare compares the two blobs of one call. It also runs "btfgen elf", which must make the same
// BTF as our program, and which writes the list of skipped functions; that list explains some of
// the differences from pahole.
func (k kernel) compare(t *testing.T, c record.Call) *compare.Result {
	t.Helper()
	dir := t.TempDir()
	again, skipped := filepath.Join(dir, "again.btf"), filepath.Join(dir, "skipped")
	argv := []string{harness.Tool(t, "btfgen"), "elf", "-q", "--lang-exclude=rust",
		"--features=" + featuresOf(c), "-o", again, "--skipped", skipped}
	ours := oracle.Blob{Path: k.calls(c.File + ".ours.btf")}
	pahole := oracle.Blob{Path: k.calls(c.File + ".pahole.btf")}
	made := ours.Path
	if isModule(c) {
		argv = append(argv, "--base="+k.vmlinux())
		ours.Bases, pahole.Bases = []string{k.vmlinux()}, []string{k.vmlinux()}
	}
	if base := k.calls(c.File + ".ours.base.btf"); exists(base) {
		argv = append(argv, "--distilled-base="+filepath.Join(dir, "again.base.btf"))
		ours.Path = k.relocate(t, ours.Path, base, filepath.Join(dir, "ours"))
		pahole.Path = k.relocate(t, pahole.Path, k.calls(c.File+".pahole.base.btf"),
			filepath.Join(dir, "pahole"))
	}
	harness.MustRun(t, "", append(argv, k.out(c.File))...)
	if !bytes.Equal(harness.ReadFile(t, again), harness.ReadFile(t, made)) {
		t.Error("btfgen elf makes different BTF from that of our pahole, which Kbuild called")
	}
	if !exists(pahole.Path) {
		return k.contained(t, c, ours, dir)
	}
	return oracle.SameTypes(t, k.out(c.File), ours, skipped, pahole)
}

// contained checks BTF that pahole didn't make: in a kernel with LTO, pahole also leaves out the C
// units of a Rust module. So pahole runs again, without --lang_exclude. That BTF must contain
// everything that ours contains.
func (k kernel) contained(t *testing.T, c record.Call, ours oracle.Blob, dir string,
) *compare.Result {
	t.Helper()
	copied, all := filepath.Join(dir, "copied.ko"), filepath.Join(dir, "all.btf")
	harness.MustRun(t, "", "llvm-objcopy", "--remove-section=.BTF", k.out(c.File), copied)
	argv := []string{"pahole", "-J", "--btf_encode_detached=" + all, "--btf_base=" + k.vmlinux(),
		"--btf_features=" + featuresOf(c) + ",encode_force"}
	harness.MustRun(t, "", append(argv, copied)...)
	var r *compare.Result
	harness.Do(t, func() {
		a := harness.Get(content.Load(ours.Path, ours.Bases...))
		b := harness.Get(content.Load(all, k.vmlinux()))
		oracle.DropBase(a, ours.Bases)
		oracle.DropBase(b, ours.Bases)
		r = compare.Contents(a, b)
	})
	r.Differences = slices.DeleteFunc(r.Differences, func(d compare.Difference) bool {
		return d.Kind == compare.OnlyOracle
	})
	for _, d := range r.Differences {
		t.Errorf("%s %s: in our BTF, but not the same in pahole's", d.Class, d.Name)
	}
	return r
}

// relocate relocates BTF from its distilled base to the kernel's BTF. It writes the result to the
// file out, and returns this path.
func (k kernel) relocate(t *testing.T, blob, base, out string) string {
	t.Helper()
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "relocate", "--distilled-base="+base,
		"--base="+k.vmlinux(), "-o", out, blob)
	return out
}

// featuresOf returns the features that Kbuild requested, as a value for btfgen's --features.
func featuresOf(c record.Call) string {
	var names []string
	if !slices.ContainsFunc(c.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "--btf_features=")
	}) {
		names = olderFeatures(c.Args)
	}
	for _, arg := range c.Args {
		if list, ok := strings.CutPrefix(arg, "--btf_features="); ok {
			if list[0] == '+' { // pahole also adds all features of "default"
				names = append(names, "default")
			}
			for name := range strings.SplitSeq(list, ",") {
				// btfgen always does what these two features request.
				name = strings.TrimPrefix(name, "+")
				if name != "encode_force" && name != "reproducible_build" {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// olderFeatures returns the features that a kernel before 6.10 requests. In such a kernel, each of
// pahole's options turns one feature on or off.
func olderFeatures(args []string) []string {
	names := []string{"var", "decl_tag", "type_tag", "enum64"}
	for _, arg := range args {
		switch arg {
		case "--btf_gen_floats":
			names = append(names, "float")
		case "--btf_gen_optimized":
			names = append(names, "optimized_func")
		case "--skip_encoding_btf_inconsistent_proto":
			names = append(names, "consistent_func")
		}
		if off, ok := strings.CutPrefix(arg, "--skip_encoding_btf_"); ok {
			names = slices.DeleteFunc(names, func(name string) bool { return name == off })
		}
	}
	return names
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
