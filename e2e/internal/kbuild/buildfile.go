package kbuild

import (
	"path"
	"sort"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// BuildFile returns the BUILD file of a Bazel repository whose only package is the tree. It has a
// btf_objects for each directory with objects of vmlinux, a vmlinux_btf, and a module_btf for each
// module. Filegroups collect the files that tests read.
func (t *Tree) BuildFile() []byte {
	f := &build.File{Path: "BUILD.bazel", Type: build.TypeBuild}
	load := call("load", str("@rules_btf//rules:defs.bzl"), str("btf_objects"), str("module_btf"),
		str("vmlinux_btf"))
	load.Comment().Before = []build.Comment{
		{Token: "# Written by e2e/cmd/kernelbuild from what Kbuild linked."},
	}
	f.Stmt = append(f.Stmt, load,
		call("package", arg("default_visibility", list("//visibility:public"))),
		call("exports_files", list("vmlinux")),
	)

	byDir := map[string][]string{}
	for _, o := range t.Objects {
		byDir[path.Dir(o)] = append(byDir[path.Dir(o)], o)
	}
	dirs := make([]string, 0, len(byDir))
	for d := range byDir {
		dirs = append(dirs, d)
	}
	sort.Strings(dirs)
	var targets []string
	for _, d := range dirs {
		name := strings.TrimPrefix(d+"/objects", "./")
		targets = append(targets, ":"+name)
		f.Stmt = append(f.Stmt, call("btf_objects", arg("name", str(name)),
			arg("srcs", list(byDir[d]...))))
	}
	f.Stmt = append(f.Stmt, call("vmlinux_btf",
		arg("name", str("vmlinux_btf")), arg("srcs", list(targets...)), arg("vmlinux", str("vmlinux"))))

	var modules, files []string
	for _, m := range t.Modules {
		name := m.Name + "_btf"
		modules, files = append(modules, ":"+name), append(files, m.Path)
		f.Stmt = append(f.Stmt, call("module_btf",
			arg("name", str(name)), arg("srcs", list(":"+m.Name+"_objects")),
			arg("module", str(m.Path)), arg("base", str(":vmlinux_btf"))))
		f.Stmt = append(f.Stmt, call("btf_objects", arg("name", str(m.Name+"_objects")),
			arg("srcs", list(m.Objects...))))
	}
	group := func(name string, srcs []string, extra ...build.Expr) {
		args := append([]build.Expr{arg("name", str(name)), arg("srcs", list(srcs...))}, extra...)
		f.Stmt = append(f.Stmt, call("filegroup", args...))
	}
	skipped := arg("output_group", str("btf_skipped"))
	group("vmlinux_btf_skipped", []string{":vmlinux_btf"}, skipped)
	group("modules", files)
	group("modules_btf", modules)
	group("modules_btf_skipped", modules, skipped)
	return build.Format(f)
}

func call(rule string, args ...build.Expr) build.Expr {
	return &build.CallExpr{X: &build.Ident{Name: rule}, List: args,
		ForceMultiLine: len(args) > 1 && rule != "load"}
}

func arg(name string, value build.Expr) build.Expr {
	return &build.AssignExpr{LHS: &build.Ident{Name: name}, Op: "=", RHS: value}
}

func str(s string) build.Expr { return &build.StringExpr{Value: s} }

func list(items ...string) build.Expr {
	l := &build.ListExpr{ForceMultiLine: len(items) > 1}
	for _, s := range items {
		l.List = append(l.List, str(s))
	}
	return l
}
