package rules

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A generator writes a random workspace: packages with libraries, binaries, and targets that
// forward libraries to a link. Different packages have the same names.
type generator struct {
	*rand.Rand
	w         *harness.Workspace
	pkg       string // the package that is being written
	repo      string // the package's repository, as labels spell it
	build     strings.Builder
	libraries []string // labels of targets with CcInfo
	plain     []string // labels of cc_library targets; all of them are also in libraries
	prebuilt  []string // labels of objects and archives, which several targets may link
	binaries  []string
}

const (
	packages   = 6
	inPackage  = 8 // libraries, and targets that forward libraries, in each package
	ofBinaries = 3 // binaries in each package
)

// generate writes the workspace. It has the rules in linked.bzl, and uses a second repository.
func generate(t *testing.T, w *harness.Workspace, seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), w: w}
	for _, name := range []string{"drivers", "kernel", "lib"} {
		must.OK(t, os.RemoveAll(filepath.Join(w.Dir, name)))
	}
	w.Write("linked.bzl", string(harness.ReadFile(t, "testdata/linked.bzl")))
	w.Write(".bazelignore", "other\n")
	w.Write("BUILD.bazel", `load(":linked.bzl", "variant_flag")
variant_flag(name = "variant", build_setting_default = "", visibility = ["//visibility:public"])
`)
	w.Write("MODULE.bazel", w.Read("MODULE.bazel")+`
bazel_dep(name = "bazel_skylib", version = "1.7.1")
bazel_dep(name = "other", version = "0.0.0")
local_path_override(module_name = "other", path = "other")
`)
	w.Write("other/MODULE.bazel", `module(name = "other")
bazel_dep(name = "rules_cc", version = "0.1.5")
`)
	g.repo = "@other"
	g.writePackage("other/", "p0", func() {
		for i := range 3 {
			g.library(i)
		}
	})
	g.repo = ""
	for p := range packages {
		g.writePackage("", fmt.Sprintf("p%d", p), func() {
			for i := range inPackage {
				g.node(i)
			}
			for i := range ofBinaries {
				g.binary(i)
			}
		})
	}
	g.writePackage("", "all", func() { g.btf("all", g.pick(g.binaries, len(g.binaries))) })
	return g
}

// writePackage writes a package in the repository at dir. The function content adds the targets.
func (g *generator) writePackage(dir, pkg string, content func()) {
	g.pkg = pkg
	g.build.Reset()
	g.add(`package(default_visibility = ["//visibility:public"])
load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
`)
	if g.repo == "" {
		g.add(`load("@rules_btf//rules:defs.bzl", "cc_btf", "vmlinux_btf")
load("//:linked.bzl", "adopt", "forward", "in_variant", "tree")
`)
	}
	content()
	g.w.Write(dir+pkg+"/BUILD.bazel", g.build.String())
}

func (g *generator) add(format string, args ...any) { fmt.Fprintf(&g.build, format, args...) }

// target writes a target with the given attributes, and returns its label.
func (g *generator) target(rule, name string, attributes ...string) string {
	g.add("%s(name = %q, %s)\n", rule, name, strings.Join(attributes, ", "))
	return g.repo + "//" + g.pkg + ":" + name
}

// pick returns n random labels from a list, or all of them if the list has fewer, in random order.
func (g *generator) pick(of []string, n int) []string {
	var found []string
	for _, i := range g.Perm(len(of)) {
		if len(found) == n {
			break
		}
		found = append(found, of[i])
	}
	return found
}

func list(name string, labels []string) string {
	return fmt.Sprintf("%s = [%s]", name, quoted(labels))
}

func quoted(labels []string) string {
	var b strings.Builder
	for _, label := range labels {
		fmt.Fprintf(&b, "%q, ", label)
	}
	return b.String()
}

// source writes a target that generates a source file, and returns the file's label.
func (g *generator) source(name string) string {
	const code = "struct %s { int %s; }; int %[2]s_%[1]s(struct %[1]s *a) { return a->%[2]s; }"
	g.add(`genrule(name = "%s_c", outs = ["%[1]s.c"], cmd = "echo '%s' >$@")
`, name, fmt.Sprintf(code, name, g.pkg))
	return ":" + name + ".c"
}

// sources returns the files for a target to compile, or to link unchanged. Some of the files are
// headers that an action generates from libraries. Such an action must not add the libraries to the
// link.
func (g *generator) sources(name string) []string {
	found := []string{g.source(name)}
	if g.IntN(4) == 0 {
		found = append(found, g.source(name+"_more"))
	}
	if g.repo == "" && g.IntN(4) == 0 {
		g.target("tree", name+"_tree")
		found = append(found, ":"+name+"_tree")
	}
	for _, extension := range []string{"o", "lo", "a"} {
		if g.IntN(6) == 0 {
			g.target("genrule", name+"_"+extension, fmt.Sprintf("outs = [\"%s_pre.%s\"]", name, extension),
				fmt.Sprintf("cmd = \"echo 'int %s_%s_%s(void) { return 0; }' | gcc -xc -g -c -o $@ -\"",
					g.pkg, name, extension))
			label := fmt.Sprintf("%s//%s:%s_pre.%s", g.repo, g.pkg, name, extension)
			found, g.prebuilt = append(found, label), append(g.prebuilt, label)
		} else if of := g.pick(g.prebuilt, 1); g.IntN(20) == 0 && len(of) > 0 &&
			!slices.Contains(found, of[0]) {
			found = append(found, of[0])
		}
	}
	if len(g.libraries) > 0 && g.IntN(3) == 0 {
		g.add(`genrule(name = "%s_h", srcs = [%s], outs = ["%[1]s.h"], cmd = "touch $@")
`, name, quoted(g.pick(g.plain, 2)))
		found = append(found, ":"+name+".h")
	}
	return found
}

func (g *generator) library(i int) {
	name := fmt.Sprintf("n%d", i)
	attributes := []string{
		list("srcs", g.sources(name)),
		list("deps", g.pick(g.libraries, g.IntN(3))),
		`copts = ["-g"]`,
	}
	if g.IntN(4) == 0 {
		attributes = append(attributes, "alwayslink = True")
	}
	label := g.target("cc_library", name, attributes...)
	g.libraries = append(g.libraries, label)
	g.plain = append(g.plain, label)
}

// node adds a library, or a target that forwards libraries.
func (g *generator) node(i int) {
	name := fmt.Sprintf("n%d", i)
	one := g.pick(g.libraries, 1)[0]
	switch g.IntN(9) {
	case 0:
		g.libraries = append(g.libraries, g.target("alias", name, fmt.Sprintf("actual = %q", one)))
	case 1, 2:
		variant := fmt.Sprintf("variant = \"%d\"", g.IntN(3))
		g.libraries = append(g.libraries,
			g.target("in_variant", name, fmt.Sprintf("dep = %q", one), variant))
	case 3:
		g.libraries = append(g.libraries,
			g.target("forward", name, fmt.Sprintf("library = %q", one)))
	case 4:
		g.libraries = append(g.libraries,
			g.target("adopt", name, list("deps", g.pick(g.libraries, 2))))
	default:
		g.library(i)
	}
}

// binary adds a binary, and targets that make the binary's BTF twice; see btf.
func (g *generator) binary(i int) {
	name := fmt.Sprintf("b%d", i)
	sources := g.sources(name)
	switch g.IntN(4) {
	case 0:
		sources = append(sources, g.pick(g.plain, 1)...)
	case 1:
		g.target("filegroup", name+"_files", list("srcs", g.pick(g.plain, 2)))
		sources = append(sources, ":"+name+"_files")
	}
	attributes := []string{
		list("srcs", sources),
		list("deps", g.pick(g.libraries, g.IntN(4))),
		`copts = ["-g"]`,
	}
	if g.IntN(4) == 0 {
		attributes = append(attributes, fmt.Sprintf("malloc = %q", g.pick(g.plain, 1)[0]))
	}
	if g.IntN(4) == 0 {
		attributes = append(attributes, fmt.Sprintf("link_extra_lib = %q", g.pick(g.libraries, 1)[0]))
	}
	label := g.target("cc_binary", name, attributes...)
	g.binaries = append(g.binaries, label)
	g.btf(name, []string{label})
}

// btf adds targets that make the BTF of deps twice: with actions that they share with other
// targets, and with separate actions.
func (g *generator) btf(name string, deps []string) {
	for _, suffix := range []string{"", "_own"} {
		attribute := ""
		if suffix != "" {
			attribute = `lang_exclude = ["rust"]` // excludes nothing, but makes the actions differ
		}
		g.target("cc_btf", name+"_objects"+suffix, list("deps", deps), attribute)
		objects := []string{":" + name + "_objects" + suffix}
		g.target("vmlinux_btf", name+"_btf"+suffix, list("srcs", objects))
	}
}
