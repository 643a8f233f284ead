package cli

import (
	"slices"
	"strings"
)

// DidYouMean is a hint, for the end of a message, at the names that may have been meant: those that
// begin with what was typed, else the nearest one, else those of which a part begins so. It is ""
// if there are none, or too many.
func DidYouMean(typed string, names []string) string {
	const many = 4
	typed = strings.ToLower(typed)
	found := starting(typed, names)
	if len(found) == 0 {
		found = nearest(typed, names)
	}
	if len(found) == 0 {
		found = withPart(typed, names)
	}
	n := len(found) - 1
	switch {
	case n < 0 || n >= many:
		return ""
	case n == 0:
		return "; did you mean " + found[0] + "?"
	}
	return "; did you mean " + strings.Join(found[:n], ", ") + " or " + found[n] + "?"
}

// starting returns the names that begin with what was typed, unless that is only dashes; the
// one that is just that, if there is one.
func starting(typed string, names []string) (found []string) {
	if slices.Contains(names, typed) {
		return []string{typed}
	}
	for _, n := range names {
		if strings.Trim(typed, "-") != "" && strings.HasPrefix(n, typed) {
			found = append(found, n)
		}
	}
	return found
}

// nearest returns the name that is nearest to what was typed, nothing if none is near.
func nearest(typed string, names []string) (found []string) {
	least := 1 + len(strings.TrimLeft(typed, "-"))/3
	for _, n := range names {
		if d := distance(typed, n); d < least || d == least && found == nil {
			found, least = []string{n}, d
		}
	}
	return found
}

// withPart returns the names of which a part, after a dash, begins with what was typed, such as
// --lang-exclude for --exclude.
func withPart(typed string, names []string) (found []string) {
	const short = 3
	typed = strings.TrimLeft(typed, "-")
	for _, n := range names {
		if len(typed) >= short && strings.Contains(n, "-"+typed) {
			found = append(found, n)
		}
	}
	return found
}

// distance is the number of bytes to insert, remove or replace to make b of a. Long words count as
// far.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 20
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
