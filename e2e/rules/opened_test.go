package rules

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// everyKind has a target for each kind of our actions for which followPackage has none.
const everyKind = `
load("@rules_btf//rules:defs.bzl", "bpf_needs", "btf_archive", "btf_embed", "btf_import",
     "btf_min", "btf_section_object", "vmlinux_h")
load(":tree.bzl", "tree")

modules_btf(name = "embedded", modules = ["split/m.ko"], base = ":linked", debug = dwos,
            embed = True)
tree(name = "tree", srcs = ["split/m.ko"] + dwos)
modules_btf(name = "of_tree", modules = [":tree"], base = ":linked")
modules_btf(name = "bare_modules", modules = ["split/m.ko"], base = ":linked")
module_btf(name = "module", module = "split/m.ko", base = ":linked", debug = dwos, inline = True)
btf_embed(name = "embed", src = "split/m.ko", btf = ":module")
module_btf(name = "upon", module = "split/m.ko", base = ":embed", debug = dwos)
btf_section_object(name = "object", machine_of = "a.o", btf = ":linked")
btf_import(name = "import_btf", src = ":embed", base = ":linked")
btf_archive(name = "release", release = "7.0.0", format = "tar", vmlinux = ":linked",
            modules = [":modules"])
vmlinux_h(name = "header", btf = ":linked")
bpf_needs(name = "needs", srcs = ["program.bpf.o"])
btf_min(name = "minimal", kernels = [":linked"], needs = [":needs"])
btf_min(name = "minimal_archive", format = "tar", kernels = [":linked"], needs = [":needs"])
`

// program is a BPF program that checks whether a struct exists.
const program = `
struct s { int i; };
__attribute__((section("tc"), used)) int run(void *ctx) {
	return __builtin_preserve_type_info(*(struct s *)0, 0);
}
`

// treeRule is a rule that copies files to a tree artifact.
const treeRule = `
def _tree_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        arguments = [out.path] + [file.path for file in ctx.files.srcs],
        command = "out=$1; shift; cp \"$@\" $out",
    )
    return [DefaultInfo(files = depset([out]))]

tree = rule(implementation = _tree_impl, attrs = {"srcs": attr.label_list(allow_files = True)})
`

// TestActionsOpenTheirInputs runs the command of each of our actions in the execution root, as
// Bazel does without a sandbox. It checks that the command opens only its inputs there, even if the
// command fails because an undeclared file is missing.
func TestActionsOpenTheirInputs(t *testing.T) {
	w := followWorkspace(t)
	w.Write("follow/BUILD.bazel", followPackage+everyKind)
	w.Write("follow/tree.bzl", treeRule)
	w.Write("follow/program.c", program)
	w.Shell("clang -target bpf -g -O2 -c -o follow/program.bpf.o follow/program.c")
	w.AddBtfcore(t)
	w.Try("bazel build -k --spawn_strategy=local --output_groups=+btf_facts,+btf_base,+btf_inline " +
		"//follow:all //:all")
	g := readGraph(w, "", `mnemonic("B[tp]f.*", //follow:all + deps(//:all))`)
	root := strings.TrimSpace(w.Shell("bazel info execution_root 2>log"))
	opened := watch(t, w.Dir, strings.TrimSpace(w.Shell("bazel info output_path 2>log")))
	ran := map[string]int{}
	for _, n := range g.actions() {
		what := n.mnemonic + " of " + n.outputs[0]
		params := n.outputs[0] + "-0.params" // Bazel doesn't delete this parameter file
		if _, err := os.Stat(filepath.Join(root, params)); err != nil {
			// A bare_ target may lack inputs, and old.btf is made only if something is embedded.
			if !strings.Contains(what, "/bare_") && !strings.HasSuffix(what, ".old.btf") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		const command = 4 // the arguments outside of the parameter file: tool, verb, -j, number
		opened()
		cmd := exec.Command(filepath.Join(root, n.arguments[0]), n.arguments[1:command]...)
		cmd.Args = append(cmd.Args, "@"+params)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "RULES_BTF_ACTION=1")
		if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(what, "/bare_") {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
		declared := map[string]bool{}
		for _, file := range slices.Concat(n.inputs, n.outputs, []string{params}) {
			if path, err := filepath.EvalSymlinks(filepath.Join(root, file)); err == nil {
				declared[path] = true
			}
		}
		read := opened()
		for _, path := range read {
			dir := path
			for dir != "/" && !declared[dir] {
				dir = filepath.Dir(dir)
			}
			if dir == "/" {
				t.Errorf("%s opens %s, which isn't one of its inputs", what, path)
			}
		}
		if len(read) < 3 {
			t.Errorf("%s opens %q, want the tool, the parameter file and an input", what, read)
		}
		ran[n.mnemonic]++
	}
	for _, mnemonic := range mnemonics(t) {
		if ran[mnemonic] == 0 {
			t.Errorf("no %s was run", mnemonic)
		}
	}
}

// actions returns all actions in a graph, sorted by their first outputs.
func (g *graph) actions() (list []*node) {
	for _, nodes := range g.byTarget {
		list = append(list, nodes...)
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.outputs[0], b.outputs[0]) })
	return list
}

// mnemonics returns the mnemonics of our actions.
func mnemonics(t *testing.T) (list []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(harness.Repo(), "rules/private/*.bzl")))(t)
	for _, file := range files {
		for _, m := range regexp.MustCompile(`mnemonic = "(B[tp]f\w+)"`).FindAllStringSubmatch(
			string(harness.ReadFile(t, file)), -1) {
			list = append(list, m[1])
		}
	}
	if len(list) < 11 {
		t.Fatalf("mnemonics: %q", list)
	}
	return list
}

// watch starts to watch all files and directories below roots, and returns a function. Each call of
// this function returns the paths that were opened since the last call. New files aren't included.
func watch(t *testing.T, roots ...string) func() []string {
	t.Helper()
	fd := must.Get(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
	t.Cleanup(func() { unix.Close(fd) })
	dirs, there := map[int32]string{}, map[string]bool{}
	for _, root := range roots {
		root := must.Get(filepath.EvalSymlinks(root))(t)
		must.OK(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			there[path] = true
			if err != nil || !d.IsDir() {
				return err
			}
			number, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_ONLYDIR)
			dirs[int32(number)] = path
			return err
		}))
	}
	return func() (paths []string) {
		buf := make([]byte, 1<<20)
		for {
			n, err := unix.Read(fd, buf)
			if err != nil {
				slices.Sort(paths)
				return slices.Compact(paths)
			}
			for at := 0; at < n; { // number, mask, cookie, size of the name, name
				number := int32(binary.NativeEndian.Uint32(buf[at:]))
				size := int(binary.NativeEndian.Uint32(buf[at+12:]))
				if number < 0 {
					t.Fatal("the queue of inotify events overflowed")
				}
				name, _, _ := bytes.Cut(buf[at+16:at+16+size], []byte{0})
				if path := filepath.Join(dirs[number], string(name)); there[path] {
					paths = append(paths, path)
				}
				at += 16 + size
			}
		}
	}
}
