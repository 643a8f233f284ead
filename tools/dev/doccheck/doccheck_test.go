// Package doccheck tests the documentation: everything that it names must exist, and its links must
// lead somewhere.
package doccheck

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestNamesAndLinks(t *testing.T) {
	r := &repository{map[string]string{}, set{}, map[string][]string{}, map[string]set{}, set{},
		map[string]set{}, set{}}
	must.OK(t, filepath.WalkDir(root, r.add))
	r.askFlags(t)
	problems := slices.Concat(r.brokenLinks(), r.wrongNames(), r.wrongPublic())
	slices.Sort(problems)
	for _, p := range slices.Compact(problems) {
		t.Error(p)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	dropped = regexp.MustCompile(`[^\pL\pN_ -]`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
)

// brokenLinks lists the relative links that lead to no file, or to no heading in the file. Code has
// no links.
func (r *repository) brokenLinks() (found []string) {
	for name, text := range r.pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(text), "code"), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path.Join(path.Dir(name), cmp.Or(file, path.Base(name)))
			if !r.files[target] {
				found = append(found, fmt.Sprintf("%s: the link %s leads to no file", name, m[1]))
			} else if anchor != "" && !slices.Contains(headings(r.pages[target]), anchor) {
				found = append(found, fmt.Sprintf("%s: the link %s leads to no heading", name, m[1]))
			}
		}
	}
	return found
}

// prose returns a page in which empty lines replace the blocks of code.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inside || strings.HasPrefix(line, "    ") {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return strings.Join(lines, "\n")
}

// headings lists the anchors that GitHub makes from the headings of a page. It assumes that no two
// headings are the same.
func headings(text string) (found []string) {
	for _, m := range heading.FindAllStringSubmatch(prose(text), -1) {
		anchor := dropped.ReplaceAllString(link.ReplaceAllString(m[1], "]"), "")
		found = append(found, strings.ToLower(strings.ReplaceAll(anchor, " ", "-")))
	}
	return found
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
	qualified  = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*(?:\.[A-Za-z]\w*)?)$`)
	filePath   = regexp.MustCompile(`^[a-zA-Z][\w.-]+(/[\w@.-]+)*/?$`)
	source     = regexp.MustCompile(`\.(go|bzl|sh|md|proto)$`)
	foreign    = regexp.MustCompile(`\.(c|o|ko|dwo)$`)
	testName   = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Z]\w*`)
	compound   = regexp.MustCompile(`^[a-zA-Z]\w*(_[a-z]|[a-z][A-Z])\w*$`)
	flag       = regexp.MustCompile(`(?:^|[\s\[(|])--([a-zA-Z][\w-]*)`)
	command    = regexp.MustCompile(`\b(btf(?:gen|dedup|core|repro) [a-z][a-z-]*)((?:\\\n|[^\n|;&#])*)`)
	// developers matches the pages that name declarations of the code; other pages name Bazel's
	// rules, …
	developers = regexp.MustCompile(`^(ARCHITECTURE|CONTRIBUTING|docs/glossary|docs/how/.*)\.md$`)
	// Tables in these pages have names from the kernel, libbpf and pahole in their third column.
	compared = regexp.MustCompile(`^docs/(glossary|how/where-is)\.md$`)
	kernels  = regexp.MustCompile(`^(btf_|hypot_|DW_)`)
)

// wrongNames lists names in the pages that the repository doesn't have: flags of our commands, and
// names in back quotes.
func (r *repository) wrongNames() (found []string) {
	for page, text := range r.pages {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			args, _, _ := strings.Cut(m[2], " -- ")
			for _, f := range flag.FindAllStringSubmatch(args, -1) {
				if flags := r.flags[m[1]]; flags != nil && !flags[f[1]] {
					found = append(found, fmt.Sprintf("%s: %s has no flag --%s", page, m[1], f[1]))
				}
			}
		}
		for _, line := range strings.Split(prose(text), "\n") {
			cells := strings.Split(line, "|")
			if len(cells) > 3 && compared.MatchString(page) {
				cells = cells[:3]
			}
			for _, cell := range cells {
				found = append(found, r.wrongSpans(page, cell)...)
			}
		}
	}
	return found
}

// wrongSpans checks the names in back quotes in a line, or in a cell of a table. After the path of
// a source file, names must be declared in this file, and paths may start in its directory.
func (r *repository) wrongSpans(page, text string) (found []string) {
	wrong := func(format string, args ...any) {
		found = append(found, page+": "+fmt.Sprintf(format, args...))
	}
	dir, file := "", ""
	for _, span := range code.FindAllString(text, -1) {
		span = strings.Trim(span, "`")
		test := testName.FindString(span)
		m := qualified.FindStringSubmatch(span)
		f := flag.FindStringSubmatch(span)
		switch {
		case kernels.MatchString(span):
		case test != "":
			if !r.words[test] {
				wrong("there is no %s", test)
			}
		case m != nil && r.packages[m[1]] != nil:
			if !slices.ContainsFunc(r.packages[m[1]], func(d string) bool { return r.declares(d, m[2]) }) {
				wrong("package %s has no %s", m[1], m[2])
			}
		case filePath.MatchString(span) && (strings.Contains(span, "/") || source.MatchString(span)):
			bases := []string{dir, ".", "internal", path.Dir(page)}
			i := slices.IndexFunc(bases, func(b string) bool { return r.files[path.Join(b, span)] })
			if i >= 0 {
				dir, file = path.Join(bases[i], span), ""
				if source.MatchString(dir) {
					dir, file = path.Dir(dir), dir
				}
			} else if first, _, deep := strings.Cut(span, "/"); !deep && !r.files["*/"+span] ||
				(r.files[first] || r.files["internal/"+first]) && !foreign.MatchString(span) {
				wrong("there is no %s", span)
			}
		case identifier.MatchString(span) && r.declared[file] != nil:
			if !r.declares(file, span) {
				wrong("%s declares no %s", file, span)
			}
		case developers.MatchString(page) && compound.MatchString(span):
			if !r.words[span] {
				wrong("nothing is named %s", span)
			}
		case f != nil && span[0] == '-' && !strings.Contains(f[1], "_"): // those are Bazel's, pahole's
			if !r.words["--"+f[1]] {
				wrong("there is no flag --%s", f[1])
			}
		}
	}
	return found
}

// declares reports whether a file or directory declares a name. Only the last part of the name must
// be in the file itself; the rest may be in its directory.
func (r *repository) declares(where, name string) bool {
	t, member, ok := strings.Cut(name, ".")
	if !ok {
		return r.declared[where][name]
	}
	return (r.declared[where][t] || r.declared[path.Dir(where)][t]) && r.declared[where][member]
}
