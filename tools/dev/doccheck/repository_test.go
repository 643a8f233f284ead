package doccheck

import (
	"github.com/rules-btf/rules_btf/internal/support/programtest"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

type set map[string]bool

// A repository is everything that its pages may name.
type repository struct {
	pages    map[string]string   // Markdown, by path
	files    set                 // paths of files and directories, and their last parts after */
	packages map[string][]string // directories with Go files, by their last part
	declared map[string]set      // names by file, and by directory
	words    set                 // words of all files except pages; flags with their dashes
	flags    map[string]set      // by program and verb
	actions  set                 // the mnemonics of the rules' actions
}

var (
	word     = regexp.MustCompile(`(--)?[A-Za-z_][\w-]*`)
	starlark = regexp.MustCompile(`(?m)^(?:def )?(\w+)(?:\(| = )`)
	verb     = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  +\S`)
	helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)
	mnemonic = regexp.MustCompile(`\bmnemonic = "(\w+)"`)
)

// add adds a file or directory, except for hidden ones and symbolic links, which git doesn't have.
func (r *repository) add(full string, d fs.DirEntry, err error) error {
	name, _ := filepath.Rel(root, full)
	if d.IsDir() && name != "." && strings.HasPrefix(path.Base(name), ".") {
		return fs.SkipDir
	}
	if d.Type()&fs.ModeSymlink == 0 { // such as bazel-bin
		r.files[name], r.files["*/"+path.Base(name)] = true, true
	}
	if err != nil || !d.Type().IsRegular() || path.Dir(name) == "tools/dev/doccheck" {
		return err
	}
	text, err := os.ReadFile(full)
	if strings.HasSuffix(name, ".md") && name != "tools/dev/rulesdoc/intro.md" {
		r.pages[name] = string(text) // the exception is a part of docs/rules.md
		return err
	}
	for _, w := range word.FindAllString(string(text), -1) {
		r.words[w] = true
	}
	if strings.HasSuffix(name, ".bzl") {
		r.declared[name] = set{}
		for _, m := range starlark.FindAllSubmatch(text, -1) {
			r.declared[name][string(m[1])] = true
		}
		for _, m := range mnemonic.FindAllSubmatch(text, -1) {
			if !strings.HasPrefix(name, "e2e/") {
				r.actions[string(m[1])] = true
			}
		}
	}
	if strings.HasSuffix(name, ".go") {
		return r.addGo(name, text)
	}
	return err
}

func (r *repository) addGo(name string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	dir := path.Dir(name)
	r.declared[name] = set{}
	if r.declared[dir] == nil {
		r.declared[dir] = set{}
		r.packages[path.Base(dir)] = append(r.packages[path.Base(dir)], dir)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var names []*ast.Ident
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = []*ast.Ident{n.Name}
		case *ast.TypeSpec:
			names = []*ast.Ident{n.Name}
		case *ast.ValueSpec:
			names = n.Names
		case *ast.Field:
			names = n.Names
		}
		for _, id := range names {
			r.declared[name][id.Name], r.declared[dir][id.Name] = true, true
		}
		return true
	})
	return err
}

// askFlags reads the flags of the programs' verbs from their help texts.
func (r *repository) askFlags(t *testing.T) {
	programs := []string{"btfgen", "btfdedup", "btfrepro", "btfcore", "pahole"}
	build := []string{"build", "-pgo=off", "-ldflags=-w", "-o", t.TempDir()}
	for _, p := range programs {
		build = append(build, "./tools/"+p)
	}
	programtest.Run(t, root, "go", build...)
	for _, p := range programs {
		program := filepath.Join(build[4], p)
		verbs, _ := exec.Command(program, "--help").Output()
		for _, v := range append(verb.FindAllStringSubmatch(string(verbs), -1), []string{"", "--help"}) {
			r.flags[p+" "+v[1]] = set{}
			help, _ := exec.Command(program, v[1], "--help").Output()
			for _, f := range helpFlag.FindAllStringSubmatch(string(help), -1) {
				r.flags[p+" "+v[1]][f[1]], r.words["--"+f[1]] = true, true
			}
		}
	}
	if len(r.flags) < 10 {
		t.Errorf("only %d verbs: --help is read wrongly", len(r.flags))
	}
}
