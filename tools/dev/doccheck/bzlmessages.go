package main

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// bzlRoots are the directories with rules.
var bzlRoots = []string{"kbuild", "rules"}

// bzlMessages lists what the rules' calls of fail say.
func bzlMessages(repo fs.FS) (found []message, err error) {
	for _, root := range bzlRoots {
		err := fs.WalkDir(repo, root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "tests" {
				return firstOf(err, fs.SkipDir)
			}
			if !strings.HasSuffix(path, ".bzl") {
				return nil
			}
			text, err := fs.ReadFile(repo, path)
			if err != nil {
				return err
			}
			file, err := build.ParseBzl(path, text)
			if err != nil {
				return err
			}
			build.Walk(file, func(e build.Expr, _ []build.Expr) {
				call, ok := e.(*build.CallExpr)
				if !ok {
					return
				}
				if f, ok := call.X.(*build.Ident); ok && f.Name == "fail" && len(call.List) > 0 {
					start, _ := call.Span()
					found = append(found, message{
						where: path + ":" + strconv.Itoa(start.Line),
						text:  clean(starlarkText(call.List[0])),
					})
				}
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// starlarkText is the text of an expression: strings as they are, with … for all else.
func starlarkText(e build.Expr) string {
	switch e := e.(type) {
	case *build.StringExpr:
		return e.Value
	case *build.ParenExpr:
		return starlarkText(e.X)
	case *build.BinaryExpr:
		return starlarkText(e.X) + starlarkText(e.Y)
	case *build.CallExpr:
		if f, ok := e.X.(*build.DotExpr); ok && f.Name == "format" {
			return strings.NewReplacer("{{", "{", "}}", "}", "{}", "…").Replace(starlarkText(f.X))
		}
	}
	return "…"
}
