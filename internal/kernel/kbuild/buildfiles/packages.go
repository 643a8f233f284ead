// Package buildfiles writes BUILD files, with rules that make BTF, for a tree that Kbuild built. It
// updates existing files, and keeps everything in them that is marked "# keep". For example, for
// the module fat, fs/fat/BUILD.bazel gets
//
//	btf_objects(
//	    name = "fat_objects",
//	    srcs = ["cache.o", "dir.o"],
//	    tags = ["kbuild"],
//	)
//
// and BUILD.bazel at the top gets a module_btf for the objects in this directory and others.
package buildfiles

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
)

// Options contains the settings for BUILD files that can't be read from the tree.
type Options struct {
	Rules       string   // label of the file from which rules are loaded
	Package     string   // package of the top of the tree; "" for the root of its repository
	Base        string   // label of the base of modules, if the tree has no vmlinux
	Features    []string // btf_features
	LangExclude []string // lang_exclude
	Inline      bool     // also make the BTF of the sites of inlined functions
	Vmlinux     bool     // convert vmlinux itself, not its objects
	Whole       bool     // convert modules themselves, not their objects
}

// DefaultRules is the label of the file with the rules in workspaces that don't rename rules_btf.
const DefaultRules = "@rules_btf//rules:defs.bzl"

// Skipped is the name of the file at the top of the tree that lists objects without DWARF.
const Skipped = "kbuild.skipped"

// tag marks the rules that this package writes, so that later runs can delete them.
const tag = "kbuild"

// Package is the content of one BUILD file.
type Package struct {
	Exports []string // files that other packages use
	Files   []string // all files of the package that rules use
	rules   []rule
	load    string
}

type rule struct {
	kind, name string
	attrs      []attr
}

type attr struct {
	key   string
	value build.Expr
}

// Packages returns the packages of a tree, by directory relative to the tree ("." for the top).
//
// Each directory has a btf_objects for its object files in vmlinux (vmlinux_objects), and one for
// its object files in each module (NAME_objects). The top has the rules that link: vmlinux_btf,
// NAME_btf for each module or one modules_btf for all modules, and groups of these.
// Rule: BUILD files of a kernel tree: their targets.
func Packages(t *kbuild.Tree, o Options) (map[string]*Package, error) {
	w := &writer{o: o, dwos: t.DWOs, packages: map[string]*Package{}}
	base := o.Base
	if t.Vmlinux != nil && base == "" {
		base = ":vmlinux_btf"
	}
	if len(t.Modules) > 0 && base == "" {
		return nil, errors.New("the modules need a base, but there is no vmlinux: specify a target " +
			"as base, such as a btf_import of the kernel that you ship")
	}
	objects := w.objects(t)
	if t.Vmlinux != nil {
		w.vmlinux(t.Vmlinux, objects["vmlinux"])
	}
	if o.Whole && len(t.Modules) > 0 {
		w.wholeModules(t.Modules, base)
	} else if err := w.modules(t.Modules, objects, base); err != nil {
		return nil, err
	}
	var all []string
	if t.Vmlinux != nil {
		all = append(all, ":vmlinux_btf")
		w.outputs("vmlinux_btf", ":vmlinux_btf")
	}
	if len(t.Modules) > 0 {
		all = append(all, ":modules_btf")
	}
	w.group("all_btf", all, "")
	w.root().Exports = append(w.root().Exports, Skipped)
	for _, p := range w.packages {
		p.load = o.Rules
		slices.Sort(p.Exports)
		p.Exports = slices.Compact(p.Exports)
		slices.Sort(p.Files)
		p.Files = slices.Compact(p.Files)
	}
	return w.packages, nil
}

type writer struct {
	o        Options
	dwos     map[string][]string // kbuild.Tree.DWOs
	packages map[string]*Package
}

func (w *writer) in(dir string) *Package {
	p := w.packages[dir]
	if p == nil {
		p = &Package{}
		w.packages[dir] = p
	}
	return p
}

func (w *writer) root() *Package { return w.in(".") }

// label returns the label by which the top package refers to a target or file in a directory.
func (w *writer) label(dir, name string) string {
	if dir == "." {
		return ":" + name
	}
	return "//" + path.Join(w.o.Package, dir) + ":" + name
}

// file exports a file of the tree, and returns its label.
func (w *writer) file(name string) string {
	dir, base := path.Split(name)
	p := w.in(path.Clean(dir))
	p.Exports, p.Files = append(p.Exports, base), append(p.Files, base)
	if dir == "" {
		return base
	}
	return w.label(path.Clean(dir), base)
}

// objects writes the btf_objects, and returns their labels by the path of the linked file. Objects
// of one directory that are linked into the same files share one target.
func (w *writer) objects(t *kbuild.Tree) map[string][]string {
	type file struct{ path, target string }
	var owners []file
	lists := map[string][]string{}
	if t.Vmlinux != nil {
		owners = append(owners, file{t.Vmlinux.Path, "vmlinux_objects"})
		lists[t.Vmlinux.Path] = t.Vmlinux.Objects
	}
	for _, m := range t.Modules {
		owners = append(owners, file{m.Path, m.Name + "_objects"})
		lists[m.Path] = m.Objects
	}
	users := map[string][]int{} // indexes in owners, by object
	for i, f := range owners {
		for _, o := range lists[f.path] {
			users[o] = append(users[o], i)
		}
	}
	// Group the object files by directory, then by the files into which they are linked.
	targets := map[string]map[string][]string{}
	for _, o := range slices.Sorted(maps.Keys(users)) {
		dir, key := path.Dir(o), fmt.Sprint(users[o])
		if targets[dir] == nil {
			targets[dir] = map[string][]string{}
		}
		targets[dir][key] = append(targets[dir][key], o)
	}
	labels := map[string][]string{}
	for _, dir := range slices.Sorted(maps.Keys(targets)) {
		several := 0
		for _, key := range slices.Sorted(maps.Keys(targets[dir])) {
			objects := targets[dir][key]
			of := users[objects[0]]
			name := owners[of[0]].target
			if len(of) > 1 {
				several++
				if name = "objects_of_several"; several > 1 {
					name += "_" + strconv.Itoa(several)
				}
			}
			w.btfObjects(dir, name, objects)
			for _, i := range of {
				labels[owners[i].path] = append(labels[owners[i].path], w.label(dir, name))
			}
		}
	}
	return labels
}

func (w *writer) btfObjects(dir, name string, objects []string) {
	p := w.in(dir)
	var srcs, debug []string
	for _, o := range objects {
		srcs = append(srcs, path.Base(o))
		for _, dwo := range w.dwos[o] {
			if path.Dir(dwo) == dir {
				p.Files = append(p.Files, path.Base(dwo))
				debug = append(debug, path.Base(dwo))
			} else {
				debug = append(debug, w.file(dwo))
			}
		}
	}
	slices.Sort(debug)
	debug = slices.Compact(debug)
	p.Files = append(p.Files, srcs...)
	attrs := []attr{{"srcs", list(srcs...)}}
	if len(debug) > 0 {
		attrs = append(attrs, attr{"debug", list(debug...)})
	}
	p.add("btf_objects", name, append(attrs, w.conversion()...)...)
}

// conversion returns the attributes that all rules that read DWARF have.
func (w *writer) conversion() (attrs []attr) {
	if len(w.o.Features) > 0 {
		attrs = append(attrs, attr{"btf_features", list(w.o.Features...)})
	}
	if len(w.o.LangExclude) > 0 {
		attrs = append(attrs, attr{"lang_exclude", list(w.o.LangExclude...)})
	}
	return attrs
}

// inline returns the attribute with which a rule also makes the BTF of the sites.
func (w *writer) inline() []attr {
	if !w.o.Inline {
		return nil
	}
	return []attr{{"inline", &build.Ident{Name: "True"}}}
}

// inlineConversion returns the attributes that a rule needs for reading the sites in a linked file
// if the objects of the rule are already converted: the features of the objects, and their .dwo
// files.
func (w *writer) inlineConversion(f *kbuild.Linked) (attrs []attr) {
	if !w.o.Inline {
		return nil
	}
	if len(w.o.LangExclude) > 0 {
		attrs = append(attrs, attr{"lang_exclude", list(w.o.LangExclude...)})
	}
	var debug []string
	for _, o := range f.Objects {
		for _, dwo := range w.dwos[o] {
			debug = append(debug, w.file(dwo))
		}
	}
	if slices.Sort(debug); len(debug) > 0 {
		attrs = append(attrs, attr{"debug", list(slices.Compact(debug)...)})
	}
	return attrs
}

func (w *writer) vmlinux(f *kbuild.Linked, objects []string) {
	attrs := []attr{{"vmlinux", str(w.file("vmlinux"))}}
	if w.o.Vmlinux {
		attrs = append(attrs, w.conversion()...)
	} else {
		attrs = append(attrs, attr{"srcs", list(objects...)})
		attrs = append(attrs, w.inlineConversion(f)...)
	}
	attrs = append(attrs, w.inline()...)
	w.root().add("vmlinux_btf", "vmlinux_btf", attrs...)
}

func (w *writer) modules(modules []kbuild.Linked, objects map[string][]string, base string) error {
	var btfs, files []string
	for _, m := range modules {
		if len(objects[m.Path]) == 0 {
			return fmt.Errorf("%s: none of its objects has DWARF: build with CONFIG_DEBUG_INFO, or "+
				"leave modules out (modules = \"none\")", m.Path)
		}
		name := m.Name + "_btf"
		if name == "modules_btf" || name == "vmlinux_btf" || name == "all_btf" {
			name = m.Name + "_module_btf"
		}
		file := w.file(m.Path)
		btfs, files = append(btfs, ":"+name), append(files, file)
		attrs := []attr{{"srcs", list(objects[m.Path]...)}, {"module", str(file)}, {"base", str(base)}}
		attrs = append(attrs, w.inlineConversion(&m)...)
		w.root().add("module_btf", name, append(attrs, w.inline()...)...)
	}
	if len(modules) > 0 {
		w.group("modules", files, "")
		w.group("modules_btf", btfs, "")
		w.outputs("modules_btf", btfs...)
	}
	return nil
}

func (w *writer) wholeModules(modules []kbuild.Linked, base string) {
	var files []string
	for _, m := range modules {
		files = append(files, w.file(m.Path))
	}
	w.group("modules", files, "")
	attrs := append([]attr{{"modules", list(files...)}, {"base", str(base)}}, w.conversion()...)
	w.root().add("modules_btf", "modules_btf", append(attrs, w.inline()...)...)
	w.outputs("modules_btf", ":modules_btf")
}

// outputs writes groups with further outputs of rules that make BTF.
func (w *writer) outputs(name string, rules ...string) {
	w.group(name+"_skipped", rules, "btf_skipped")
	if w.o.Inline {
		w.group(name+"_inline", rules, "btf_inline")
	}
}

func (w *writer) group(name string, srcs []string, outputGroup string) {
	attrs := []attr{{"srcs", list(srcs...)}}
	if outputGroup != "" {
		attrs = append(attrs, attr{"output_group", str(outputGroup)})
	}
	w.root().add("filegroup", name, attrs...)
}

func (p *Package) add(kind, name string, attrs ...attr) {
	attrs = append(attrs, attr{"tags", list(tag)})
	p.rules = append(p.rules, rule{kind, name, attrs})
}

func str(s string) build.Expr { return &build.StringExpr{Value: s} }

func list(items ...string) *build.ListExpr {
	l := &build.ListExpr{ForceMultiLine: len(items) > 1}
	for _, s := range items {
		l.List = append(l.List, str(s))
	}
	return l
}

// SkippedText returns the content of the file Skipped: one line "PATH: REASON" per object.
func SkippedText(t *kbuild.Tree) []byte {
	var b strings.Builder
	for _, s := range t.Skipped {
		fmt.Fprintf(&b, "%s: %s\n", s.Path, s.Reason)
	}
	return []byte(b.String())
}
