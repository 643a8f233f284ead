// Package allowance reads allowances, with which users allow certain differences in a report: an
// allowance has patterns that the differences match, and the reason why they are allowed.
package allowance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Parse reads an allowance such as "type=struct foo change=added # reason". The parameter names
// lists what may be before "="; a value may have spaces. The results are the values in the order of
// names ("" for those that are missing), and the reason.
func Parse(text string, names ...string) (values []string, reason string, err error) {
	patterns, reason, ok := strings.Cut(text, "#")
	reason = strings.TrimSpace(reason)
	if !ok || reason == "" {
		return nil, "", errors.New("a reason is missing; write it after #")
	}
	values = make([]string, len(names))
	last := -1
	for _, word := range strings.Fields(patterns) {
		name, value, found := strings.Cut(word, "=")
		i := slices.Index(names, name)
		switch {
		case found && i >= 0 && values[i] != "":
			return nil, "", fmt.Errorf("it has %s= twice; write two allowances", name)
		case found && i >= 0 && value != "":
			last, values[i] = i, value
		case found || last < 0:
			return nil, "", fmt.Errorf("%q must be %s= followed by a pattern", word,
				strings.Join(names[:len(names)-1], "=, ")+"= or "+names[len(names)-1])
		default: // the value has spaces
			values[last] += " " + word
		}
	}
	if last < 0 {
		return nil, "", fmt.Errorf("it has no pattern; write %s= followed by a pattern", names[0])
	}
	return values, reason, nil
}

// String is an allowance as Parse reads it.
func String(names, values []string, reason string) string {
	var b strings.Builder
	for i, v := range values {
		if v != "" {
			fmt.Fprintf(&b, "%s=%s ", names[i], v)
		}
	}
	return b.String() + "# " + reason
}

// Expression returns the regular expression for a pattern, without anchors: * matches any
// characters.
func Expression(pattern string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
}
