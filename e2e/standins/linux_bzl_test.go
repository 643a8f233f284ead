package standins

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
)

// TestLinuxBzl makes BTF in both ways that docs/kernel.md shows for linux.bzl: with our pahole in
// linux.bzl's own actions, and with our rules. Both make the same bytes.
func TestLinuxBzl(t *testing.T) {
	w := newWorkspace(t, "linux_bzl", "bash", "llvm-objcopy", "pahole")
	w.copyFile(filepath.Join(w.kernel, "fs/configfs/configfs.ko"), "outside.ko")
	w.refuses(map[string]string{
		`{}`: "set version and sha256 (see the release's SHA256SUMS), archives, or go, because",
		`{"//:tools.tar.gz": "linux-arm"}`: "//:tools.tar.gz is for unknown platform linux-arm; " +
			"the platforms are linux-amd64, linux-arm64",
		`{"//:tools.tar.gz": "linux-amd64", "//:tools.tar": "linux-amd64"}`: "several archives for " +
			"linux-amd64",
		`{"//:tools.tar.gz": "linux-amd64"}, sha256 = {"linux-amd64": ""}`: "archives are files, so " +
			"version and sha256 must not be set",
	})
	// The actions of linux.bzl support path mapping.
	spawns := w.build("--experimental_output_paths=strip //:pahole //:vmlinux_btf //:modules_btf")

	module := w.Read("linux.bzl/MODULE.bazel")
	dep := regexp.MustCompile(`bazel_dep\(name = "(.*)", version = "(.*)"\)`)
	standin := []string{"depends on " + strings.Join(dep.FindStringSubmatch(module)[1:], " ")}
	public := `attr(visibility, "//visibility:public", @example_kernel//:all)`
	for label := range strings.FieldsSeq(w.bazel("query '" + public + "'")) {
		_, name, _ := strings.Cut(label, "//:")
		standin = append(standin, "label "+name)
	}
	standin = append(standin, w.provider("@example_kernel//:kernel", "LinuxKernelInfo"))
	for _, s := range spawns {
		switch s.Mnemonic {
		case "LinuxBTFEncode", "LinuxBTFExtract":
			standin = append(standin, command(s))
			if !strings.Contains(s.Args[2], "bazel-out/cfg/") {
				t.Errorf("%s: paths aren't mapped: %q", s.Mnemonic, s.Args)
			}
		case "LinuxModuleBTF":
			// The command lines of the kernel's modules differ only in the modules' names.
			if line := command(s); strings.Contains(line, "configfs") || strings.Contains(line, "outside") {
				standin = append(standin, line)
			}
		}
	}
	w.recorded(standin)

	vmlinux := w.output("@example_kernel//:vmlinux")
	base := w.output("//:vmlinux_btf")
	w.same("vmlinux", w.section(vmlinux), harness.ReadFile(t, base))
	skipped := filepath.Join(t.TempDir(), "skipped")
	w.same("btfgen elf", w.elf(vmlinux, "--lang-exclude=rust", "--features=+attributes",
		"--skipped", skipped), harness.ReadFile(t, base))
	kos, btfs := w.outputs("@example_kernel//:modules"), w.outputs("//:modules_btf")
	for _, path := range w.kernelModules() {
		ko := filepath.Base(path)
		btf := btfs[strings.TrimSuffix(ko, ".ko")+".btf"]
		if kos[ko] == "" || btf == "" {
			t.Errorf("%s is not among %v, or has no BTF in %v", ko, kos, btfs)
			continue
		}
		w.same(ko, w.section(kos[ko]), harness.ReadFile(t, btf))
	}

	outside := w.output("//:outside")
	distilled := filepath.Join(t.TempDir(), "distilled.btf")
	w.same("outside.ko", w.section(outside), w.elf(filepath.Join(w.Dir, "outside.ko"),
		"--features=+attributes,+distilled_base", "--base", base, "--distilled-base", distilled))
	w.same("base of outside.ko", harness.Section(t, outside, ".BTF.base"),
		harness.ReadFile(t, distilled))

	// The types are those that pahole makes with linux.bzl's flags.
	reference := filepath.Join(t.TempDir(), "pahole.btf")
	argv := append([]string{"pahole", "-J", "-j2"}, flags(t, standin)...)
	harness.MustRun(t, "", append(argv, "--btf_encode_detached="+reference, vmlinux)...)
	oracle.SameTypes(t, vmlinux, oracle.Blob{Path: base}, skipped, oracle.Blob{Path: reference})

	// The module pahole may also come from an archive of the sources of rules_btf.
	harness.MustRun(t, "", "tar", "-C", harness.Repo(), "--transform=s,^,rules_btf-1.2.3/,", "-cf",
		filepath.Join(w.Dir, "sources.tar"), "pahole")
	w.Edit("MODULE.bazel", "local_path_override(\n    module_name = \"pahole\",\n    path = \""+
		harness.Repo()+"/pahole\",\n", "archive_override(\n    module_name = \"pahole\",\n"+
		"    strip_prefix = \"rules_btf-1.2.3/pahole\",\n"+
		"    urls = [\"file://"+w.Dir+"/sources.tar\"],\n")
	if again := w.build("--experimental_output_paths=strip //:pahole"); len(again) != 0 {
		t.Errorf("%d actions ran, want none, because the program is the same", len(again))
	}
}

// refuses checks that values of the attribute archives are errors with these texts.
func (w *workspace) refuses(errors map[string]string) {
	w.Helper()
	const good = `{"//:tools.tar.gz": "linux-amd64"}`
	for archives, want := range errors {
		w.Edit("MODULE.bazel", "archives = "+good+")", "archives = "+archives+")")
		printed, exit := w.Try("bazel build --nobuild //:vmlinux_btf")
		if exit == 0 || !strings.Contains(printed, "btf.toolchain: ") ||
			!strings.Contains(printed, want) {
			w.Errorf("archives = %s: exit %d, want %q\n%s", archives, exit, want, printed)
		}
		w.Edit("MODULE.bazel", "archives = "+archives+")", "archives = "+good+")")
	}
}

// provider returns a line with the name of a provider and its fields.
func (w *workspace) provider(target, name string) string {
	w.Helper()
	expr := `" ".join([f for k, v in providers(target).items() if k.endswith("%` + name +
		`") for f in dir(v) if f not in ["to_json", "to_proto"]])`
	fields := w.bazel("cquery --output=starlark --starlark:expr='" + expr + "' " + target)
	return name + " " + strings.TrimSpace(fields)
}

// flags returns the flags of pahole in the command line for vmlinux.
func flags(t *testing.T, lines []string) []string {
	t.Helper()
	for _, line := range lines {
		if strings.HasPrefix(line, "LinuxBTFEncode ") {
			_, flags, _ := strings.Cut(line, " pahole -J ")
			return strings.Fields(strings.TrimSuffix(flags, "{output}"))
		}
	}
	t.Fatal("no action LinuxBTFEncode ran")
	return nil
}
