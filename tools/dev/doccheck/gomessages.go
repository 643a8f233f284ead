package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// goRoots are the directories with the programs that users run, and the packages that they are made
// of.
var goRoots = []string{"internal", "kbuild", "tools"}

// notUsers are packages that no user's program has, or that only tests have.
var notUsers = []string{
	"internal/kernel/btfload", "internal/command/cli/clitest", "internal/repro/execlog/execlogtest",
	"internal/link/linktest", "internal/command/screen", "internal/command/worker/workertest", "tools/dev",
}

// notErrors are functions with a format that say how far something is, or what was found.
var notErrors = []string{"tell"}

// A constructor makes errors or warnings of a format, which is one of its arguments: which one it
// is, for all functions of a name.
type constructors map[string][]int

// everywhere are those of other packages. A method or function of ours is known by its parameter
// "format", before "args ...any".
var everywhere = constructors{"fmt.Errorf": {0}, "errors.New": {0}}

// goMessages lists the formats of all messages in the Go files below goRoots.
func goMessages(repo fs.FS) ([]message, error) {
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	for _, root := range goRoots {
		err := fs.WalkDir(repo, root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains(notUsers, path) || d.Name() == "testdata"):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := fs.ReadFile(repo, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	exported := constructors{}
	of := map[string]constructors{}
	for dir, sources := range packages {
		of[dir] = constructors{}
		for _, source := range sources {
			of[dir].declare(source, exported)
		}
	}
	var found []message
	for dir, sources := range packages {
		for _, source := range sources {
			ast.Inspect(source, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if format, ok := of[dir].format(call, exported); ok {
						position := files.Position(call.Pos())
						found = append(found, message{where: position.String(), text: fromGo(format)})
					}
				}
				return true
			})
		}
	}
	return found, nil
}

// declare adds the constructors that a file declares; those that other packages see to exported
// too.
func (c constructors) declare(file *ast.File, exported constructors) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if i := formatIndex(n.Type); i >= 0 && !slices.Contains(notErrors, n.Name.Name) {
				c[n.Name.Name] = append(c[n.Name.Name], i)
				if n.Name.IsExported() {
					exported[n.Name.Name] = append(exported[n.Name.Name], i)
				}
			}
		case *ast.AssignStmt:
			for k, value := range n.Rhs {
				literal, ok := value.(*ast.FuncLit)
				if !ok || k >= len(n.Lhs) {
					continue
				}
				if name, ok := n.Lhs[k].(*ast.Ident); ok && formatIndex(literal.Type) >= 0 {
					c[name.Name] = append(c[name.Name], formatIndex(literal.Type))
				}
			}
		}
		return true
	})
}

// formatIndex is the index of the parameter "format" of a function that ends in "args ...any"; -1
// if there is none.
func formatIndex(f *ast.FuncType) int {
	i, found := 0, -1
	variadic := false
	for _, field := range f.Params.List {
		for _, name := range field.Names {
			if name.Name == "format" {
				found = i
			}
			i++
		}
		_, variadic = field.Type.(*ast.Ellipsis)
	}
	if !variadic {
		return -1
	}
	return found
}

// format is the format that a call passes to a constructor, if it is one and the format a constant.
func (c constructors) format(call *ast.CallExpr, exported constructors) (string, bool) {
	var indices []int
	switch f := call.Fun.(type) {
	case *ast.Ident:
		indices = c[f.Name]
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			indices = everywhere[x.Name+"."+f.Sel.Name]
		}
		if indices == nil {
			indices = append(slices.Clone(c[f.Sel.Name]), exported[f.Sel.Name]...)
		}
	}
	slices.Sort(indices)
	for _, i := range slices.Compact(indices) {
		if i < len(call.Args) {
			// A rule's name, which stands before the format of verify's reports, has no space.
			if s, ok := constant(call.Args[i]); ok && (strings.Contains(s, " ") || len(indices) == 1) {
				return s, true
			}
		}
	}
	return "", false
}

// constant is the value of a string literal, or of several that are joined.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, also := constant(e.Y)
		return a + b, ok && also
	}
	return "", false
}
