package release

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// workspace is a workspace that takes rules_btf from a registry. Only it uses its output base.
type workspace struct {
	dir, bazel, base, rc string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	bazel := os.Getenv("BAZEL")
	if bazel == "" {
		path, err := exec.LookPath("bazel")
		if err != nil {
			t.Skip("SKIPPED: bazel isn't on PATH (./bazelw --root-exec has it)")
		}
		bazel = path
	}
	base := must.Get(os.MkdirTemp("", "bazel"))(t)
	w := &workspace{dir: t.TempDir(), bazel: bazel, base: base, rc: filepath.Join(t.TempDir(), "rc")}
	t.Cleanup(func() {
		w.run("clean", "--expunge")
		harness.Command{Argv: []string{"chmod", "-R", "u+w", base}}.Run()
		os.RemoveAll(base)
	})
	// Bazel takes the archives of the release from a directory, in place of their URLs.
	harness.WriteFile(t, w.rc, "common --registry=file://"+registry(t)+
		"\ncommon --distdir="+release(t)+"\n")
	return w
}

// registry makes a registry with this release, as the publishing workflow does from .bcr.
func registry(t *testing.T) string {
	t.Helper()
	v := version(t)
	source := map[string]string{}
	text := string(harness.ReadFile(t, filepath.Join(harness.Repo(), ".bcr/source.template.json")))
	text = strings.NewReplacer("{OWNER}", "rules-btf", "{REPO}", "rules_btf", "{TAG}", "v"+v,
		"{VERSION}", v).Replace(text)
	must.OK(t, json.Unmarshal([]byte(text), &source))
	archive := filepath.Join(release(t), filepath.Base(source["url"]))
	sum := sha256.Sum256(harness.ReadFile(t, archive))
	source["integrity"] = "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	entry := must.Get(json.Marshal(source))(t)
	dir := t.TempDir()
	module := filepath.Join(dir, "modules/rules_btf", v)
	harness.WriteFile(t, filepath.Join(dir, "bazel_registry.json"), "{}")
	harness.WriteFile(t, filepath.Join(module, "source.json"), string(entry))
	harness.WriteFile(t, filepath.Join(module, "MODULE.bazel"),
		string(untar(t, archive)[source["strip_prefix"]+"/MODULE.bazel"]))
	return dir
}

// run runs a Bazel command. All other modules come from the offline root, because the option for
// the registry of this release replaces the default registry.
func (w *workspace) run(args ...string) (harness.Result, error) {
	argv := append([]string{w.bazel, "--bazelrc=" + w.rc, "--output_base=" + w.base}, args...)
	return harness.Command{Argv: argv, Dir: w.dir, Env: []string{"BAZELW_MODE=offline"}}.Run()
}

// build builds targets, and returns the spawns in the log.
func (w *workspace) build(t *testing.T, args ...string) []execlog.Spawn {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	result, err := w.run(append([]string{"build", "--execution_log_compact_file=" + log}, args...)...)
	if err != nil || result.Exit != 0 {
		t.Fatalf("bazel: %v, exit code %d\n%s", err, result.Exit, result.Stderr)
	}
	found, err := execlog.ReadFile(log)
	must.OK(t, err)
	return found.Spawns
}

// btfActions checks that no Go code was built, that at least some number of actions make BTF, and
// that the path of each such action's program contains the text tool.
func btfActions(t *testing.T, spawns []execlog.Spawn, tool string, least int) {
	t.Helper()
	n := 0
	for _, s := range spawns {
		switch {
		case strings.HasPrefix(s.Mnemonic, "Go"):
			t.Errorf("ran %s %s", s.Mnemonic, s.Label)
		case strings.HasPrefix(s.Mnemonic, "Btf"):
			n++
			if !strings.Contains(s.Args[0], tool) {
				t.Errorf("%s ran %s, want %s", s.Mnemonic, s.Args[0], tool)
			}
		}
	}
	if n < least {
		t.Errorf("only %d actions make BTF, want %d", n, least)
	}
}

// example returns the first Starlark example after a given text in a file of the documentation.
func example(t *testing.T, file, after string) string {
	t.Helper()
	text := string(harness.ReadFile(t, filepath.Join(harness.Repo(), file)))
	_, text, _ = strings.Cut(text, after)
	_, text, _ = strings.Cut(text, "```starlark\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatalf("%s has no example after %q", file, after)
	}
	return text
}

// sums returns the checksums of the release's files. The keys are the files' names.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	of := map[string]string{}
	for line := range strings.Lines(string(harness.ReadFile(t, filepath.Join(dir, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		of[name] = sum
	}
	return of
}

// firstBTF adds the lines that README.md shows to a workspace with a library, and runs the command
// that README.md shows.
func (w *workspace) firstBTF(t *testing.T) {
	t.Helper()
	build := example(t, "README.md", "use `cc_btf` instead")
	module, _, _ := strings.Cut(example(t, "README.md", "In a Bazel workspace"), "local_path_override")
	for name, text := range map[string]string{
		"MODULE.bazel": "bazel_dep(name = \"rules_cc\", version = \"0.1.5\")\n" + module,
		"BUILD.bazel": "load(\"@rules_cc//cc:cc_library.bzl\", \"cc_library\")\n" + build +
			"cc_library(name = \"drawing\", srcs = [\"drawing.c\"])\n",
		"drawing.c": "struct point { int x; };\nint draw(struct point *p) { return p->x; }\n",
	} {
		harness.WriteFile(t, filepath.Join(w.dir, name), text)
	}
	readme := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "README.md")))
	_, command, _ := strings.Cut(readme, "    bazel build --copt")
	command = "--copt" + command
	command, _, _ = strings.Cut(command, " #")
	start := time.Now()
	btfActions(t, w.build(t, strings.Fields(command)...), "btf_tools_linux_amd64", 2)
	t.Logf("the first BTF took %.1f s, with the start of Bazel", time.Since(start).Seconds())
	btf := string(harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/drawing_btf.btf")))
	for _, name := range []string{"point", "draw"} {
		if !strings.Contains(btf, "\x00"+name+"\x00") {
			t.Errorf("bazel-bin/drawing_btf.btf doesn't contain the name %s", name)
		}
	}
	w.nothingOfGo(t)
}

// TestPrebuilt builds BTF with the tools from a release. At first MODULE.bazel has only the line
// that README.md shows, and then the tag that docs/releases.md shows, with local files as URLs.
func TestPrebuilt(t *testing.T) {
	w := newWorkspace(t)
	dir := release(t)
	v := version(t)
	w.firstBTF(t)

	harness.CopyWorkspace(t, filepath.Join(harness.Repo(), "examples/hello"), w.dir)
	module := string(harness.ReadFile(t, filepath.Join(w.dir, "MODULE.bazel")))
	module = regexp.MustCompile(`(?s)local_path_override\(.*?\n\)`).ReplaceAllString(module, "")
	call := example(t, "docs/releases.md", "In MODULE.bazel")
	for _, platform := range []string{"linux-amd64", "linux-arm64"} {
		sum := sums(t, dir)["rules_btf-"+v+"-"+platform+".tar.gz"]
		call = strings.Replace(call, `"`+platform+`": "…"`, `"`+platform+`": "`+sum+`"`, 1)
	}
	urls := "    urls = [\"file://" + dir + "/rules_btf-{version}-{platform}.tar.gz\"],\n"
	call = strings.Replace(call, "    version = \"VERSION\",\n", "    version = \""+v+"\",\n"+urls, 1)
	write := func(call string) {
		harness.WriteFile(t, filepath.Join(w.dir, "MODULE.bazel"), module+call)
	}

	sum := sums(t, dir)["rules_btf-"+v+"-linux-amd64.tar.gz"]
	for _, wrong := range []struct{ from, to, want string }{
		{sum, strings.Repeat("0", 64), "Checksum was " + sum + " but wanted 0000"},
		{sum, "abc", `sha256 of linux-amd64: expected 64 hexadecimal digits`},
		{"linux-amd64", "linux-riscv64", "unknown platform linux-riscv64; the platforms are linux-amd64"},
		{"-{platform}", "", "sha256 has several platforms, so the URL"},
	} {
		write(strings.Replace(call, wrong.from, wrong.to, 1))
		result, err := w.run("build", "//:vmlinux_btf")
		if err != nil || result.Exit == 0 || !strings.Contains(result.Stderr, wrong.want) {
			t.Errorf("%s for %s: %v, exit code %d, want %q\n%s", wrong.to, wrong.from, err, result.Exit,
				wrong.want, result.Stderr)
		}
	}

	targets := []string{"//:vmlinux_btf", "//:raid_btf"}
	build := filepath.Join(w.dir, "BUILD.bazel")
	harness.WriteFile(t, build, string(harness.ReadFile(t, build))+`
load("@rules_btf//rules:defs.bzl", "btf_repro_test")
btf_repro_test(name = "repro_test", a = "a.log", b = "b.log")
`)
	log := string(harness.ReadFile(t, filepath.Join(harness.Repo(),
		"internal/repro/testdata/mapped_a.log")))
	harness.WriteFile(t, filepath.Join(w.dir, "a.log"), log)
	harness.WriteFile(t, filepath.Join(w.dir, "b.log"), log)
	module += kernelTree(t)
	write(call)
	btfActions(t, w.build(t, append(targets, "@kernel//:vmlinux_btf")...),
		"btf_tools_linux_amd64", 8)
	if result, err := w.run("test", "//:repro_test"); err != nil || result.Exit != 0 {
		t.Errorf("repro_test: %v, exit code %d\n%s%s", err, result.Exit, result.Stdout, result.Stderr)
	}
	w.nothingOfGo(t)

	// The next builds use tools that are files in the workspace, as the documentation of
	// btf_toolchain shows.
	files := unpack(t, dir, "linux-amd64")
	for _, tool := range []string{"btfgen", "btfdedup"} {
		path := filepath.Join(w.dir, "own/bin", tool)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.OK(t, os.WriteFile(path, files[tool], 0o755))
	}
	harness.WriteFile(t, filepath.Join(w.dir, "own/BUILD.bazel"),
		"load(\"@rules_btf//rules:defs.bzl\", \"btf_toolchain\")\n"+
			example(t, "docs/rules.md", "### btf_toolchain"))
	write("")
	const own = "--extra_toolchains=//own:prebuilt"
	btfActions(t, w.build(t, append(targets, own)...), "own/bin/", 8)
	result, err := w.run("build", own, "//:repro_test")
	if err != nil || !strings.Contains(result.Stderr, "the toolchain has no btfrepro") {
		t.Errorf("repro_test without btfrepro: %v\n%s", err, result.Stderr)
	}
	w.nothingOfGo(t)
}

// kernelTree makes a tree that looks as if Kbuild had built a kernel there. It returns the lines
// for MODULE.bazel that call kbuild_tree for this tree.
func kernelTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.MustRun(t, dir, "sh", "-ec", `mkdir init
		echo 'struct task { int pid; } t; int start(struct task *t) { return t->pid; }' >init/main.c
		gcc -g -c -o init/main.o init/main.c
		ar cDPrST vmlinux.a init/main.o
		gcc -g -nostdlib -Wl,-e,start -o vmlinux init/main.o`)
	return `
kbuild_tree = use_repo_rule("@rules_btf//kbuild:defs.bzl", "kbuild_tree")
kbuild_tree(name = "kernel", path = "` + dir + `")
`
}

// nothingOfGo checks that Bazel fetched neither Go nor a Go module.
func (w *workspace) nothingOfGo(t *testing.T) {
	t.Helper()
	fetched := must.Get(os.ReadDir(filepath.Join(w.base, "external")))(t)
	var names []string
	for _, dir := range fetched {
		if !strings.HasPrefix(dir.Name(), "@") { // such files are Bazel's markers
			names = append(names, dir.Name())
		}
	}
	for _, part := range []string{"rules_go", "gazelle", "com_github", "__download_"} {
		if i := slices.IndexFunc(names, func(name string) bool {
			return strings.Contains(name, part)
		}); i >= 0 {
			t.Errorf("%s was fetched", names[i])
		}
	}
	if len(names) == 0 {
		t.Error("no module was fetched")
	}
}
