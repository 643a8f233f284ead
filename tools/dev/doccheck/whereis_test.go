package doccheck

import (
	"bytes"
	"cmp"
	goflag "flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

var update = goflag.Bool("update", false, "write docs/how/where-is.md")

const whereIs = "docs/how/where-is.md"

const whereIsHead = `# Where is rule X?

This table lists, for each rule, where our code implements it. The last column has the function in
the kernel, libbpf or pahole that implements the same rule, or the text that the rule comes from.
Unless another file is named, "kernel" means kernel/bpf/btf.c in Linux 7.2, "libbpf" means
tools/lib/bpf/btf.c in Linux 7.2, "pahole" means btf_encoder.c in dwarves 1.32, and "resolve_btfids"
means tools/bpf/resolve_btfids/main.c. "–" means that none of them has such a rule. Paths of Go
packages are relative to ` + "`internal`" + ` if they are in that directory.

The table is generated from comments in the code that begin with "Rule:"
([how to write one](../../CONTRIBUTING.md#documentation)). This command writes it:

    go test ./tools/dev/doccheck -run TestWhereIs -update
`

// Each of these directories has a section of the page, in this order. ARCHITECTURE.md's wings come
// first.
var sections = []string{
	"support", "format", "model", "convert", "link", "kernel", "inspect", "programs", "pipeline",
	"repro", "command", "btf", "tools", "rules", "kbuild", "e2e",
}

// TestWhereIs compares the page with the comments in the code.
func TestWhereIs(t *testing.T) {

	w := &whereIsPage{rules: map[string]*rule{}}
	must.OK(t, filepath.WalkDir(root, w.add))
	text := w.text()
	for _, p := range w.problems {
		t.Error(p)
	}
	if *update && !t.Failed() {
		must.OK(t, os.WriteFile(filepath.Join(root, whereIs), []byte(text), 0o644))
	}
	if old, _ := os.ReadFile(filepath.Join(root, whereIs)); string(old) != text {
		t.Errorf("%s differs from the comments in the code; to write it anew, run "+
			"go test ./tools/dev/doccheck -run TestWhereIs -update", whereIs)
	}
}

// A rule is what all comments with its name say.
type rule struct {
	name    string
	section int
	places  []string // Markdown, in the order of the sections and paths
	sources []string // the same
}

type whereIsPage struct {
	rules    map[string]*rule // by name in lower case
	found    []foundRule
	problems []string
}

// A foundRule is one comment.
type foundRule struct {
	section                int
	file, declared         string // declared is the name of the declaration, "" for a whole file
	name, sentence, source string
}

var ruleLine = regexp.MustCompile(`(?m)^\s*(//|#) Rule: `)

// add reads the comments of a file, except in hidden directories and test data.
func (w *whereIsPage) add(full string, d fs.DirEntry, err error) error {
	name, _ := filepath.Rel(root, full)
	if base := path.Base(name); d.IsDir() && (name != "." && base[0] == '.' || base == "testdata") {
		return fs.SkipDir
	}
	if err != nil || !d.Type().IsRegular() || path.Dir(name) == "tools/dev/doccheck" {
		return err
	}
	ext := path.Ext(name)
	if ext != ".go" && ext != ".bzl" && ext != ".sh" && ext != "" {
		return nil
	}
	info, err := d.Info()
	if err != nil || info.Size() > 1<<20 { // a program
		return err
	}
	text, err := os.ReadFile(full)
	if err != nil || ext == "" && !bytes.HasPrefix(text, []byte("#!")) || !ruleLine.Match(text) {
		return err
	}
	name = strings.TrimPrefix(name, "internal/")
	top, _, _ := strings.Cut(name, "/")
	section := slices.Index(sections, top)
	if section < 0 {
		w.wrong("%s: the page has no section for %s", name, top)
	}
	take := func(declared, comment string) {
		for _, text := range rulesIn(comment) {
			w.found = append(w.found, w.parse(foundRule{section: section, file: name,
				declared: declared}, text))
		}
	}
	if ext == ".go" {
		return goComments(name, text, take)
	}
	hashComments(string(text), take)
	return nil
}

func (w *whereIsPage) wrong(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// rulesIn returns the rules in a comment: each begins a line, and ends with its paragraph or where
// the next one begins.
func rulesIn(comment string) (found []string) {
	inside := false
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "Rule: "); ok {
			found, inside = append(found, after), true
		} else if inside = inside && line != ""; inside {
			found[len(found)-1] += " " + line
		}
	}
	return found
}

// goComments passes each comment of a Go file to the function take, with the name of the function,
// type, variable or constant that it belongs to.
func goComments(name string, text []byte, take func(declared, comment string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, c := range file.Comments {
		declared := ""
		in := func(n ast.Node, doc *ast.CommentGroup, name string) {
			if doc == c || n.Pos() <= c.Pos() && c.Pos() <= n.End() {
				declared = name
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				in(d, d.Doc, d.Name.Name)
			case *ast.GenDecl:
				in(d, d.Doc, specName(d.Specs))
				for i, s := range d.Specs {
					switch spec := s.(type) {
					case *ast.TypeSpec:
						in(s, spec.Doc, specName(d.Specs[i:]))
					case *ast.ValueSpec:
						in(s, spec.Doc, specName(d.Specs[i:]))
					}
				}
			}
		}
		take(declared, c.Text())
	}
	return nil
}

// specName returns the first name in a declaration, or "" for imports.
func specName(specs []ast.Spec) string {
	if len(specs) == 0 {
		return ""
	}
	switch s := specs[0].(type) {
	case *ast.TypeSpec:
		return s.Name.Name
	case *ast.ValueSpec:
		return s.Names[0].Name
	}
	return ""
}

var declaration = regexp.MustCompile(`^(?:def )?(\w+)(?:\(| = )`)

// hashComments does the same for Starlark and shell scripts: a comment belongs to the definition
// below it.
func hashComments(text string, take func(declared, comment string)) {
	comment := ""
	for line := range strings.Lines(text + "\n") {
		if rest, ok := strings.CutPrefix(line, "#"); ok {
			comment += strings.TrimPrefix(rest, " ")
			continue
		}
		declared := ""
		if m := declaration.FindStringSubmatch(line); m != nil && m[1] != "load" {
			declared = m[1]
		}
		take(declared, comment)
		comment = ""
	}
}

// parse divides a rule's text into its name, a sentence and the source.
func (w *whereIsPage) parse(f foundRule, text string) foundRule {
	rest, source, _ := strings.Cut(text, "Source: ")
	name, sentence, _ := strings.Cut(strings.TrimSpace(rest), ". ")
	f.name = strings.TrimSuffix(name, ".")
	f.sentence = strings.TrimSuffix(sentence, ".")
	f.source = sourceName.ReplaceAllString(strings.TrimSuffix(source, "."), "`$0`")
	if f.name == "" || strings.Contains(text, "|") {
		w.wrong("%s: a rule needs a name, and can't contain |: %s", f.file, text)
	}
	return f
}

// text writes the page. In each row, places whose comments need no sentence come first.
func (w *whereIsPage) text() string {
	slices.SortStableFunc(w.found, func(a, b foundRule) int {
		return cmp.Or(cmp.Compare(a.section, b.section),
			cmp.Compare(min(len(a.sentence), 1), min(len(b.sentence), 1)), strings.Compare(a.file, b.file))
	})
	for _, f := range w.found {
		w.collect(f)
	}
	var b strings.Builder
	b.WriteString(whereIsHead)
	for i, section := range sections {
		rows := ""
		for _, key := range slices.Sorted(maps.Keys(w.rules)) {
			if r := w.rules[key]; r.section == i {
				rows += fmt.Sprintf("| %s | %s | %s |\n", plainText(r.name),
					strings.Join(r.places, "; "), cmp.Or(strings.Join(r.sources, "; "), "–"))
			}
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| rule | where | theirs |\n|---|---|---|\n%s", section, rows)
		}
	}
	return b.String()
}

// collect adds a comment to the rule with its name.
func (w *whereIsPage) collect(f foundRule) {
	where := "`" + f.file + "`"
	if f.declared != "" {
		where += " `" + f.declared + "`"
	}
	if f.sentence != "" {
		where += ": " + plainText(f.sentence)
	}
	r := w.rules[strings.ToLower(f.name)]
	if r == nil {
		r = &rule{name: f.name, section: f.section}
		w.rules[strings.ToLower(f.name)] = r
	} else if r.name != f.name {
		w.wrong("%s: the rule %q has the name %q elsewhere", f.file, f.name, r.name)
	}
	r.places = append(r.places, where)
	if f.source != "" && !slices.Contains(r.sources, f.source) {
		r.sources = append(r.sources, f.source)
	}
}

// sourceName matches the names of functions and files in a source.
var sourceName = regexp.MustCompile(`(--|\b[A-Za-z_])[\w./-]*[_/.][\w./-]*\w`)

var (
	span    = regexp.MustCompile("`[^`]*`|[^`]+")
	special = regexp.MustCompile(`\b_+|_+\b|[*<\[\]]`) // _ within a word is harmless
)

// plainText escapes what Markdown would change, except in back quotes.
func plainText(text string) string {
	return span.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '`' {
			return s
		}
		return special.ReplaceAllStringFunc(s, func(m string) string {
			return `\` + strings.Join(strings.Split(m, ""), `\`)
		})
	})
}
