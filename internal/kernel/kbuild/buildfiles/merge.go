package buildfiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// header is the first line of the files that this package creates and therefore may delete.
const header = "# Written by @rules_btf//kbuild:generate, which keeps what is marked \"# keep\"."

// kinds lists the rules that BUILD files load.
var kinds = []string{"btf_objects", "module_btf", "modules_btf", "vmlinux_btf"}

// managed lists the attributes that this package writes. All other attributes belong to the user.
var managed = []string{"srcs", "debug", "vmlinux", "module", "modules", "base",
	"btf_features", "lang_exclude", "output_group", "tags"}

// Merge updates a BUILD file whose content is old (nil for a new file): it adds or changes the
// rules of the package p, and removes other rules that an earlier run wrote. It keeps rules,
// attributes and list items that have a comment "# keep", or that no run wrote. It returns nil if
// the file becomes empty. Merging p into the result again changes nothing. p is nil if the
// directory needs no rules.
// Rule: BUILD files of a kernel tree: manual edits are kept.
func Merge(name string, old []byte, p *Package) ([]byte, error) {
	f := &build.File{Path: name, Type: build.TypeBuild}
	if old != nil {
		var err error
		if f, err = build.ParseBuild(name, old); err != nil {
			return nil, fmt.Errorf("%w: correct or delete the file", err)
		}
	} else {
		f.Stmt = []build.Expr{&build.CommentBlock{Comments: build.Comments{
			After: []build.Comment{{Token: header}}}}}
	}
	if p == nil {
		p = &Package{load: DefaultRules}
	}
	f.Stmt = slices.DeleteFunc(f.Stmt, func(e build.Expr) bool {
		call, ok := e.(*build.CallExpr)
		if !ok || kept(call) {
			return false
		}
		r := f.Rule(call)
		return slices.Contains(r.AttrStrings("tags"), tag) &&
			!slices.ContainsFunc(p.rules, func(x rule) bool { return x.name == r.Name() })
	})
	for _, r := range p.rules {
		r.putIn(f)
	}
	setExports(f, p.Exports)
	setPackage(f)
	setLoad(f, p.load)
	if abandoned(f) {
		return nil, nil
	}
	// Parse and format the file again: blank lines depend on the line numbers of the statements,
	// which are now different.
	f, err := build.ParseBuild(name, build.Format(f))
	if err != nil {
		return nil, err
	}
	return build.Format(f), nil
}

func (r *rule) putIn(f *build.File) {
	old := f.RuleNamed(r.name)
	if old == nil {
		call := &build.CallExpr{X: &build.Ident{Name: r.kind}, ForceMultiLine: true}
		f.Stmt = append(f.Stmt, call)
		old = f.Rule(call)
		old.SetAttr("name", str(r.name))
	}
	if kept(old.Call) {
		return
	}
	old.SetKind(r.kind)
	stale := slices.Clone(managed)
	for _, a := range r.attrs {
		stale = slices.DeleteFunc(stale, func(key string) bool { return key == a.key })
		value := a.value
		if defn := old.AttrDefn(a.key); defn != nil {
			if kept(defn) || kept(defn.RHS) {
				continue
			}
			value = withKept(value, defn.RHS)
		}
		old.SetAttr(a.key, value)
	}
	for _, key := range stale {
		if defn := old.AttrDefn(key); defn != nil && !kept(defn) && !kept(defn.RHS) {
			old.DelAttr(key)
		}
	}
}

// withKept returns value. If it is a list, the items of old that are marked "# keep" are added.
func withKept(value, old build.Expr) build.Expr {
	l, ok := value.(*build.ListExpr)
	was, wasList := old.(*build.ListExpr)
	if !ok || !wasList {
		return value
	}
	for _, item := range was.List {
		s, ok := item.(*build.StringExpr)
		if !ok || !kept(item) {
			continue
		}
		l.List = slices.DeleteFunc(l.List, isString(s.Value))
		l.List = append(l.List, item)
		l.ForceMultiLine = true
	}
	return l
}

func isString(value string) func(build.Expr) bool {
	return func(e build.Expr) bool {
		s, ok := e.(*build.StringExpr)
		return ok && s.Value == value
	}
}

func kept(e build.Expr) bool {
	c := e.Comment()
	for _, comment := range append(slices.Clone(c.Before), c.Suffix...) {
		text := strings.TrimSpace(strings.TrimPrefix(comment.Token, "#"))
		if text == "keep" || strings.HasPrefix(text, "keep:") {
			return true
		}
	}
	return false
}

func calls(f *build.File, name string) (list []*build.CallExpr) {
	for _, e := range f.Stmt {
		if call, ok := e.(*build.CallExpr); ok {
			if id, ok := call.X.(*build.Ident); ok && id.Name == name {
				list = append(list, call)
			}
		}
	}
	return list
}

// setExports puts names into exports_files, and removes from it all other files that Kbuild builds.
func setExports(f *build.File, names []string) {
	var own *build.CallExpr
	for _, call := range calls(f, "exports_files") {
		if len(call.List) == 1 && !kept(call) {
			if _, ok := call.List[0].(*build.ListExpr); ok {
				own = call
				break
			}
		}
	}
	if own == nil {
		if len(names) == 0 {
			return
		}
		own = &build.CallExpr{X: &build.Ident{Name: "exports_files"}, List: []build.Expr{list()}}
		// Insert the call before the rules.
		at := slices.IndexFunc(f.Stmt, func(e build.Expr) bool {
			call, ok := e.(*build.CallExpr)
			return ok && f.Rule(call).Name() != ""
		})
		if at < 0 {
			at = len(f.Stmt)
		}
		f.Stmt = slices.Insert(f.Stmt, at, build.Expr(own))
	}
	l := own.List[0].(*build.ListExpr)
	l.List = slices.DeleteFunc(l.List, func(e build.Expr) bool {
		s, ok := e.(*build.StringExpr)
		ours := ok && (strings.HasSuffix(s.Value, ".ko") || s.Value == "vmlinux" || s.Value == Skipped)
		return ours && !kept(e)
	})
	for _, name := range names {
		if !slices.ContainsFunc(l.List, isString(name)) {
			l.List = append(l.List, str(name))
		}
	}
	l.ForceMultiLine = len(l.List) > 1
	if len(l.List) == 0 {
		f.Stmt = slices.DeleteFunc(f.Stmt, func(e build.Expr) bool { return e == build.Expr(own) })
	}
}

// setPackage adds package() if it is missing, because rules in other packages use the object files.
func setPackage(f *build.File) {
	if len(calls(f, "package")) > 0 {
		return
	}
	call := &build.CallExpr{X: &build.Ident{Name: "package"}, List: []build.Expr{&build.AssignExpr{
		LHS: &build.Ident{Name: "default_visibility"}, Op: "=", RHS: list("//visibility:public")}}}
	f.Stmt = slices.Insert(f.Stmt, afterComments(f), build.Expr(call))
}

// afterComments returns the index of the first statement that is neither a comment nor a load.
func afterComments(f *build.File) int {
	at := slices.IndexFunc(f.Stmt, func(e build.Expr) bool {
		switch e.(type) {
		case *build.CommentBlock, *build.LoadStmt:
			return false
		}
		return true
	})
	if at < 0 {
		return len(f.Stmt)
	}
	return at
}

// setLoad makes the load statements load exactly those rules in kinds that the file uses.
func setLoad(f *build.File, module string) {
	var used []string
	for _, kind := range kinds {
		if len(calls(f, kind)) > 0 {
			used = append(used, kind)
		}
	}
	var own *build.LoadStmt
	for _, e := range f.Stmt {
		if load, ok := e.(*build.LoadStmt); ok && load.Module.Value == module {
			own = load
		}
	}
	if own == nil {
		if len(used) == 0 {
			return
		}
		own = &build.LoadStmt{Module: &build.StringExpr{Value: module}}
		at := slices.IndexFunc(f.Stmt, func(e build.Expr) bool {
			_, comment := e.(*build.CommentBlock)
			return !comment
		})
		f.Stmt = slices.Insert(f.Stmt, max(at, 0), build.Expr(own))
	}
	var from, to []*build.Ident
	for i, id := range own.From {
		if !slices.Contains(kinds, id.Name) || own.To[i].Name != id.Name {
			from, to = append(from, id), append(to, own.To[i])
		}
	}
	for _, kind := range used {
		from = append(from, &build.Ident{Name: kind})
		to = append(to, &build.Ident{Name: kind})
	}
	own.From, own.To = from, to
	if len(from) == 0 {
		f.Stmt = slices.DeleteFunc(f.Stmt, func(e build.Expr) bool { return e == build.Expr(own) })
	}
}

// abandoned reports whether a file that this package created has become empty.
func abandoned(f *build.File) bool {
	ours := false
	for _, e := range f.Stmt {
		switch e := e.(type) {
		case *build.CommentBlock:
			for _, c := range e.After {
				ours = ours || c.Token == header
			}
		case *build.CallExpr:
			if id, ok := e.X.(*build.Ident); !ok || id.Name != "package" {
				return false
			}
		default:
			return false
		}
	}
	return ours
}
