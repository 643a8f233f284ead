package rules

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// followPackage has targets whose files refer to other files. If a target's name begins with
// "bare", the target doesn't declare these other files.
const followPackage = `
load("@rules_btf//rules:defs.bzl", "btf_objects", "cc_btf", "module_btf", "modules_btf",
     "vmlinux_btf")
load("@rules_cc//cc:cc_import.bzl", "cc_import")

members = ["a.o", "b.o"]
dwos = ["split/a.dwo", "split/b.dwo"]

cc_import(name = "bare_import", static_library = "thin.a")
cc_btf(name = "bare_cc", deps = [":bare_import"])
btf_objects(name = "bare_archive", srcs = ["thin.a"])
btf_objects(name = "bare_archive_of_one", srcs = ["thin.a"], debug = ["b.o"])
vmlinux_btf(name = "bare_vmlinux", srcs = ["thin.a"])
btf_objects(name = "bare_split", srcs = ["split/a.o"])
vmlinux_btf(name = "bare_linked", vmlinux = "split/linked")
vmlinux_btf(name = "bare_dwz", vmlinux = "dwz")
vmlinux_btf(name = "bare_stripped", vmlinux = "stripped")

btf_objects(name = "archive", srcs = ["thin.a"], debug = members)
btf_objects(name = "archive_and_objects", srcs = ["thin.a"] + members, debug = members)
vmlinux_btf(name = "vmlinux", srcs = ["thin.a"], debug = members)
btf_objects(name = "split", srcs = ["split/a.o", "split/b.o", "split/thin.a"],
            debug = dwos + ["split/a.o", "split/b.o"])
vmlinux_btf(name = "linked", vmlinux = "split/linked", debug = dwos)
vmlinux_btf(name = "dwz_btf", vmlinux = "dwz", debug = ["sup"])
vmlinux_btf(name = "stripped_btf", vmlinux = "stripped", debug = ["stripped.debug"])
modules_btf(name = "modules", modules = ["split/m.ko"], base = ":linked", debug = dwos)
`

// followScript compiles the object files. Callers replace STRUCT with the members of a struct.
const followScript = `
set -e; mkdir -p follow/split; cd follow
echo 'struct s { STRUCT; }; int f(struct s *s) { return 0; }' > a.c
echo 'struct t { long l; }; int g(struct t *t) { return 1; }' > b.c
for i in a b; do
	gcc -g -O1 -c -o $i.o $i.c
	(cd split; gcc -g -O1 -gsplit-dwarf -c -o $i.o ../$i.c)
done
[ -e thin.a ] || ar rcTD thin.a a.o b.o
cd split
[ -e thin.a ] || ar rcTD thin.a a.o b.o
`

// followLinked links the object files that followScript makes, and makes further files from the
// linked files.
const followLinked = `
set -e; cd follow
for d in . split; do (cd $d; ld -e 0 --build-id=0x0102 -o linked a.o b.o); done
(cd split; ld -r -o m.ko a.o b.o)
objcopy --only-keep-debug linked stripped.debug
objcopy --strip-debug --add-gnu-debuglink=stripped.debug linked stripped
cp linked dwz; cp linked other; dwz -l none -L none -m sup dwz other
touch linked.dwp split/linked.dwp stripped.dwp
`

// followWorkspace makes a workspace with followPackage and the files of the two scripts.
func followWorkspace(t *testing.T) *harness.Workspace {
	t.Helper()
	harness.Need(t, "dwz")
	w := newWorkspace(t)
	w.Write("follow/BUILD.bazel", followPackage)
	w.Shell(strings.ReplaceAll(followScript, "STRUCT", "int i"))
	w.Shell(followLinked)
	return w
}

// strategies are flags for the ways in which Bazel can run our actions.
var strategies = []string{
	"--spawn_strategy=local",
	"--spawn_strategy=sandboxed",
}

// TestUndeclared builds targets that don't declare a file to which one of their files refers. The
// error must not depend on the strategy.
func TestUndeclared(t *testing.T) {
	w := followWorkspace(t)
	wrong := map[string]string{ // maps each target to a part of the error of its action
		"bare_import": "follow/thin.a(a.o): this member of a thin archive is in the file follow/a.o, " +
			"which no --debug-file names; add --debug-file for it, or convert the members instead of " +
			"the archive; in Bazel, --debug-file is the attribute debug (not in cc_btf, ",
		"bare_archive":        "follow/thin.a(a.o): this member of a thin archive",
		"bare_archive_of_one": "follow/thin.a(a.o): this member of a thin archive",
		"bare_vmlinux":        "follow/thin.a(a.o): this member of a thin archive",
		"bare_split": "but no --debug-file names a file a.dwo; add --debug-file for it " +
			"or for a package",
		"bare_linked": "but no --debug-file names a file a.dwo; add --debug-file for it " +
			"or for a package",
		"bare_dwz":      "but no --debug-file names it; add --debug-file for it; in Bazel",
		"bare_stripped": "--debug-file is the attribute debug",
	}
	targets := " //follow:bare_cc" // fails because an action of bare_import fails
	for target := range wrong {
		targets += " //follow:" + target
	}
	for _, flags := range strategies {
		printed, exit := w.Try("bazel clean && bazel build -k " + flags + targets)
		if exit == 0 {
			t.Errorf("%s: exit 0", flags)
		}
		for target, want := range wrong {
			// The message for an action begins with "ERROR: " and the position of the action's target.
			// It ends before the next error.
			found := false
			for _, part := range strings.Split(printed, "ERROR: ")[1:] {
				found = found || strings.Contains(part, ":"+target+" failed") && strings.Contains(part, want)
			}
			if !found {
				t.Errorf("%s: %s: want %q in\n%s", flags, target, want, printed)
			}
		}
	}
}

// TestDeclared checks that builds succeed if the files are declared, and that after an edit of
// these files, a build gives the same results as a clean build.
func TestDeclared(t *testing.T) {
	w := followWorkspace(t)
	const targets = " //follow:archive //follow:archive_and_objects //follow:vmlinux //follow:split " +
		"//follow:linked //follow:dwz_btf //follow:stripped_btf //follow:modules"
	files := func() map[string][]byte {
		found := map[string][]byte{}
		for _, path := range strings.Fields(w.Shell("bazel cquery --output=files" +
			" 'set(" + targets + ")' 2>log")) {
			if strings.Contains(path, "/bin/follow/") {
				found[path] = bytes.Clone(harness.ReadFile(t, filepath.Join(w.Dir, path)))
			}
		}
		if len(found) != 8 {
			t.Fatalf("%d outputs: %v", len(found), found)
		}
		return found
	}
	differ := func(a, b map[string][]byte) (n int) {
		for path, data := range a {
			if !bytes.Equal(data, b[path]) {
				n++
			}
		}
		return n
	}
	var first map[string][]byte
	for _, flags := range strategies {
		w.Shell(strings.ReplaceAll(followScript, "STRUCT", "int i"))
		w.Shell(followLinked)
		w.Shell("bazel clean && bazel build " + flags + targets)
		built := files()
		if first == nil {
			first = built
		}
		if n := differ(built, first); n != 0 {
			t.Errorf("%s: %d of %d outputs differ from those of the first strategy", flags, n,
				len(built))
		}

		// This changes only the members of the thin archives, not the archives themselves.
		w.Shell(strings.ReplaceAll(followScript, "STRUCT", "int i, j"))
		w.Shell(followLinked)
		w.Shell("bazel build " + flags + targets)
		again := files()
		w.Shell("bazel clean && bazel build " + flags + targets)
		if n := differ(again, files()); n != 0 {
			t.Errorf("%s: after an edit, %d outputs differ from those of a clean build", flags, n)
		}
		// The module's BTF stays the same, because its types are in the base.
		if n := differ(again, built); n != len(built)-1 {
			t.Errorf("%s: an edit changed %d of %d outputs, want all but one", flags, n, len(built))
		}
	}
}
