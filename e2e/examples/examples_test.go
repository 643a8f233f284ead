package examples

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func example(name string) string { return filepath.Join(harness.Repo(), "examples", name) }

// contains checks that a BTF file in a workspace contains the given names.
func contains(w *harness.Workspace, path string, names ...string) {
	w.Helper()
	data := w.Read(path)
	for _, name := range names {
		if !strings.Contains(data, "\x00"+name+"\x00") {
			w.Errorf("%s doesn't contain the name %s", path, name)
		}
	}
}

func TestHello(t *testing.T) {
	w := newWorkspace(t, example("hello"))
	w.Shell("bazel test //...")
	contains(w, "bazel-bin/vmlinux_btf.btf", "run_queue", "schedule")
	contains(w, "bazel-bin/raid_btf.btf", "raid_add")
}

func TestModule(t *testing.T) {
	w := newWorkspace(t, example("module"))
	w.Shell("bazel build //:ring && bazel test //...")
	contains(w, "bazel-bin/ring_btf.btf", "ring_entry", "ring_add")
	contains(w, "bazel-bin/out/ring.ko", "ring_entry")
	if strings.Contains(w.Read("bazel-bin/ring_btf.btf"), "list_head") {
		t.Error("the module's BTF has a type of the kernel")
	}

	// A command in the README builds the BTF with a copied vmlinuz instead of the small kernel. If
	// the copy is of that kernel, the BTF must be the same as before.
	command := regexp.MustCompile(`(?m)^    (bazel build .*--//:kernel=//:(vmlinuz-\S+))$`).
		FindStringSubmatch(w.Read("README.md"))
	if command == nil {
		t.Fatal("README.md has no command with a copied vmlinuz")
	}
	w.Shell("cp -L bazel-bin/kernel_btf.btf " + command[2] + " && " +
		"cp -L bazel-bin/small_kernel/ring.ko ring/ && cp -L bazel-bin/ring_btf.btf before && " +
		command[1] + " && cmp before bazel-bin/ring_btf.btf")
}

func TestKbuild(t *testing.T) {
	w := newWorkspace(t, example("kbuild"))
	w.Shell("chmod +x linux/build && linux/build && bazel build //... @kernel//:all_btf")
	w.Shell("bazel test //...")
	w.Shell("bpftool -B bazel-bin/external/_main~_repo_rules~kernel/vmlinux_btf.btf " +
		"btf dump file bazel-bin/external/_main~_repo_rules~kernel/dummy_btf.btf | grep dummy_send")
	list := w.Shell("tar -tf bazel-bin/release.tar")
	if list != "dummy\nmanifest.json\nvmlinux\n" {
		t.Errorf("the archive has %q", list)
	}

	// The last build uses a copy of the tree, in which a source file is edited.
	w.Shell("cp -a linux elsewhere && sed -i 's/int pid;/int pid, group;/' elsewhere/*/*.c && " +
		"echo elsewhere >>.bazelignore && elsewhere/build && " +
		`bazel build @kernel//:all_btf --repo_env=LINUX="$PWD/elsewhere"`)
	contains(w, "bazel-bin/external/_main~_repo_rules~kernel/vmlinux_btf.btf", "group")
}
