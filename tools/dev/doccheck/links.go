package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
)

// brokenLinks lists the relative links in *.md that lead to no file, or to no heading of it.
func brokenLinks(repo fs.FS) ([]string, error) {
	var pages []string
	err := fs.WalkDir(repo, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(base, "bazel-") || len(base) > 1 && base[0] == '.'):
			return fs.SkipDir
		case name == "tools/dev/rulesdoc/intro.md": // a part of docs/rules.md
		case strings.HasSuffix(name, ".md") && d.Type().IsRegular():
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var broken []string
	anchors := map[string][]string{}
	for _, name := range pages {
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return nil, err
		}
		anchors[name] = headings(string(text))
	}
	for _, name := range pages {
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return nil, err
		}
		for _, l := range linksOf(string(text)) {
			if strings.Contains(l, "://") || strings.HasPrefix(l, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(l, "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(repo, target); err != nil {
				broken = append(broken, fmt.Sprintf("%s: the link %s leads to no file", name, l))
			} else if anchor != "" && !slices.Contains(anchors[target], anchor) {
				broken = append(broken, fmt.Sprintf("%s: the link %s leads to no heading", name, l))
			}
		}
	}
	return broken, nil
}

// linksOf lists where the links of a page lead; none are in code.
func linksOf(text string) (found []string) {
	for _, paragraph := range strings.Split(prose(text), "\n\n") {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(paragraph, "code"), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// prose is a page without its blocks of code.
func prose(text string) string {
	var kept []string
	inside := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
			line = ""
		}
		if inside || strings.HasPrefix(line, "    ") {
			line = ""
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// headings lists the anchors of a page, as GitHub makes them: lower case, hyphens for spaces, a
// number for a heading that repeats.
func headings(text string) []string {
	var found []string
	times := map[string]int{}
	for _, line := range strings.Split(prose(text), "\n") {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, link.ReplaceAllString(m[1], "]"))
		if n := times[anchor]; n > 0 {
			found = append(found, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			found = append(found, anchor)
		}
		times[anchor]++
	}
	return found
}
