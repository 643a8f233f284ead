package compare

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Skips maps the name of each function or variable that our BTF lacks to the reason.
type Skips map[string]string

// LoadSkips reads the file that `btfgen elf --skipped` writes. Each line has a name, a tab and the
// reason; lines that begin with # are comments.
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
			return nil, fmt.Errorf("%s:%d: expected a name, a tab and a reason, found "+
				"%q", path, n, line)
		}
		s[name] = strings.ReplaceAll(reason, "\t", " ")
	}
	return s, sc.Err()
}

var funcTags = regexp.MustCompile(`^(func \S+ \S+)( \{[^}]*\})`)

// Against returns a function for Result.Explain. With our BTF and the list of skips, the function
// explains these differences from pahole 1.32: functions that we skip, types to which only such
// functions refer, and some defects of pahole.
func Against(ours *content.Contents, skips Skips) func(*Difference) string {
	return func(d *Difference) string {
		switch d.Class {
		case content.Int, content.Float, content.Forward:
			if d.Kind == OnlyOracle && !ours.References[d.Name] {
				return "nothing that we encode refers to this type"
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
				return "pahole truncates names of more than 127 bytes"
			}
		case Differs:
			if sameWithoutTags(d.Ours, d.Oracle) {
				return "resolve_btfids has sorted the kfunc sets, so pahole gives kfuncs wrong flags"
			}
		}
		return ""
	}
}

func sameWithoutTags(a, b []string) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	return funcTags.ReplaceAllString(a[0], "$1") == funcTags.ReplaceAllString(b[0], "$1")
}
