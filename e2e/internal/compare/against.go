package compare

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Skips says why a function that the ELF file has is not in our BTF.
type Skips map[string]string

// LoadSkips reads the file that `btfgen elf --skipped` writes: a line for each function, with its
// name, a tab and the reason. Lines that begin with # are comments.
func LoadSkips(path string) (Skips, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := Skips{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("%s:%d: want a name, a tab and a reason, have %q", path, n, line)
		}
		s[name] = strings.ReplaceAll(reason, "\t", " ")
	}
	return s, sc.Err()
}

var funcTags = regexp.MustCompile(`^(func \S+ \S+)( \{[^}]*\})`)

// Against returns a function for Result.Explain, with the reasons for which our BTF may differ from
// that of pahole 1.32: functions that we list as skipped, types that only skipped functions refer
// to, and defects of pahole.
func Against(ours *content.Contents, skips Skips) func(*Difference) string {
	return func(d *Difference) string {
		switch d.Class {
		case content.Int, content.Float, content.Forward:
			if d.Kind == OnlyOracle && !ours.References[d.Name] {
				return "nothing that we encode refers to it"
			}
		}
		if d.Class != content.Func {
			return ""
		}
		switch d.Kind {
		case OnlyOracle:
			if reason := skips[d.Name]; reason != "" {
				return "skipped by us, " + reason
			}
		case OnlyOurs:
			if len(d.Name) >= 127 {
				return "pahole cuts names of more than 127 bytes"
			}
		case Differs:
			if sameWithoutTags(d.Ours, d.Oracle) {
				return "pahole pairs kfunc sets that resolve_btfids has sorted with the wrong names"
			}
		}
		return ""
	}
}

// sameWithoutTags reports whether two functions are equal except for their declaration tags.
func sameWithoutTags(a, b []string) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	return funcTags.ReplaceAllString(a[0], "$1") == funcTags.ReplaceAllString(b[0], "$1")
}
