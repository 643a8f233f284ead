package standins

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// rulesModules are the modules on which both Kleaf and rules_btf depend, with the directories in
// which a checkout of Kleaf has them.
var rulesModules = map[string]string{
	"bazel_skylib": "external/bazel-skylib",
	"platforms":    "external/bazelbuild-platforms",
	"rules_cc":     "external/bazelbuild-rules_cc",
}

const systemOptions = "/etc/bazel/bazelrc"

// withoutRegistry removes the registry from the options of the offline root. The modules on which
// Kleaf depends become directories in the workspace, as in a checkout of Kleaf. The options for
// Bazel's own modules stay.
func (w *workspace) withoutRegistry() {
	w.Helper()
	system, err := os.ReadFile(systemOptions)
	if err != nil {
		w.Skipf("SKIPPED: %v (./bazelw --root-exec has this file)", err)
	}
	var options strings.Builder
	for line := range strings.Lines(string(system)) {
		name, dir, _ := strings.Cut(strings.TrimPrefix(line, "common --override_module="), "=")
		if strings.HasPrefix(line, "common --registry=") {
			continue
		}
		if link := rulesModules[name]; link != "" {
			path := filepath.Join(w.Dir, link)
			if err := os.Symlink(strings.TrimSpace(dir), path); err != nil {
				w.Fatal(err)
			}
			continue
		}
		options.WriteString(line)
	}
	w.SetOptions(options.String())
	for name, link := range rulesModules {
		if _, err := os.Stat(filepath.Join(w.Dir, link, "MODULE.bazel")); err != nil {
			w.Skipf("SKIPPED: %s doesn't say where the module %s is", systemOptions, name)
		}
	}
	w.startup = "--nosystem_rc --nohome_rc"
}

// TestKleaf makes BTF in the ways that docs/kernel.md shows for Kleaf: with our pahole in Kleaf's
// own actions, and with our rules. There is no registry, and nothing may be downloaded.
func TestKleaf(t *testing.T) {
	w := newWorkspace(t, "kleaf", "bash", "llvm-objcopy", "llvm-strip", "make", "tar")
	w.withoutRegistry()
	spawns := w.build("//:kernel_x86_64 //:kernel_x86_64_btf //:vmlinux_btf //:modules_btf")

	archive := w.output("//:kernel_x86_64_unstripped_modules_archive")
	var standin []string
	add := func(line string) {
		if !slices.Contains(standin, line) {
			standin = append(standin, line)
		}
	}
	module := regexp.MustCompile(`/[\w/]+\.ko$`)
	for label := range strings.FieldsSeq(w.bazel("query 'filter(\"//:kernel\", //:all)'")) {
		add("label " + module.ReplaceAllString(strings.TrimPrefix(label, "//:"), "/MODULE.ko"))
	}
	for label := range strings.FieldsSeq(w.bazel("query @kleaf//build/kernel/kleaf/impl:pahole")) {
		add("label " + directories.ReplaceAllString(label[strings.Index(label, "//"):], ""))
	}
	env := w.Read(strings.TrimPrefix(w.output("//:kernel_x86_64_env"), w.Dir+"/"))
	path := regexp.MustCompile(`PAHOLE=\$\{ROOT_DIR\}/\S*/(\w+)"`).FindStringSubmatch(env)
	if path == nil {
		t.Fatalf("kernel_x86_64_env.sh doesn't set PAHOLE:\n%s", env)
	}
	add("TOOL_ARGS PAHOLE=${ROOT_DIR}/" + path[1])
	for _, s := range spawns {
		if s.Mnemonic == "Btf" {
			script := strings.TrimSpace(s.Args[len(s.Args)-1])
			script = directories.ReplaceAllString(strings.ReplaceAll(script, "\n", "; "), "")
			add("Btf " + script)
		}
	}
	for name := range strings.FieldsSeq(harness.MustRun(t, "", "tar", "-tzf", archive)) {
		if name != "unstripped/" {
			add(filepath.Base(archive) + " " + module.ReplaceAllString(name, "/MODULE.ko"))
		}
	}
	dep := regexp.MustCompile(`bazel_dep\(name = "(.*)", version = "(.*)"\)`)
	for _, m := range dep.FindAllStringSubmatch(w.Read("external/kleaf/MODULE.bazel"), -1) {
		if m[1] != "rules_btf" {
			add("depends on " + m[1] + " " + m[2])
		}
	}
	for line := range strings.Lines(w.Read(".bazelrc")) {
		if !strings.HasPrefix(line, "#") {
			add(strings.TrimSpace(line))
		}
	}
	w.recorded(standin)

	kernel := w.outputs("//:kernel_x86_64")
	base := w.output("//:vmlinux_btf")
	w.same("vmlinux", w.section(kernel["vmlinux"]), harness.ReadFile(t, base))
	// Without --btf_features, pahole uses the features of its version.
	w.same("vmlinux.btf", w.section(w.output("//:kernel_x86_64_btf")),
		w.elf(kernel["vmlinux"], "--features=var,decl_tag,type_tag,enum64"))
	delete(kernel, "vmlinux")
	if len(kernel) == 0 {
		t.Error("the kernel has no modules")
	}
	btfs := filepath.Join(w.output("//:modules_btf"))
	for _, ko := range slices.Sorted(maps.Keys(kernel)) {
		btf := harness.ReadFile(t, filepath.Join(btfs, strings.TrimSuffix(ko, ".ko")+".btf"))
		w.same(ko, w.section(kernel[ko]), btf)
		if harness.Section(t, kernel[ko], ".debug_info") != nil {
			t.Errorf("%s: not stripped, so nothing shows that its BTF comes from the archive", ko)
		}
	}
}
