package repro

import (
	"slices"
	"strings"
)

func (k *keyDiff) arguments() {
	rename := k.c.sides[0].rename
	a, b := k.a.Args, k.b.Args
	if len(rename) > 0 {
		a = slices.Clone(a)
		for i := range a {
			a[i] = rename.apply(a[i])
		}
	}
	if slices.Equal(a, b) {
		return
	}
	for _, e := range diffArgs(a, b) {
		ch := Change{Kind: Argument, A: e.a, B: e.b, InA: e.inA, InB: e.inB}
		if e.inA && e.inB {
			if x, y, ok := leak(e.a, e.b); ok {
				ch.Note = leakNote(x)
				k.add(ch, "absolute path "+x+" vs "+y)
				continue
			}
		}
		k.add(ch)
	}
}

type edit struct {
	a, b     string
	inA, inB bool
}

// maxTable limits the table of diffArgs. Longer lists are compared position by position.
const maxTable = 1 << 20

// diffArgs returns the edits that turn a into b.
func diffArgs(a, b []string) []edit {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var edits []edit
	if len(a) == len(b) || (len(a)+1)*(len(b)+1) > maxTable {
		for i := range max(len(a), len(b)) {
			switch {
			case i >= len(a):
				edits = append(edits, edit{b: b[i], inB: true})
			case i >= len(b):
				edits = append(edits, edit{a: a[i], inA: true})
			case a[i] != b[i]:
				edits = append(edits, edit{a[i], b[i], true, true})
			}
		}
		return edits
	}
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			edits = append(edits, edit{a: a[i], inA: true})
			i++
		default:
			edits = append(edits, edit{b: b[j], inB: true})
			j++
		}
	}
	return edits
}

// pathFlags are the compiler flags that a path can follow directly, without a space.
var pathFlags = []string{"", "-I", "-L", "-B", "-F", "-isystem", "-iquote", "-idirafter", "@"}

const pathEnds = " \t\n\"'=:,;()<>"

// leak finds the absolute paths at the first difference between two texts, and returns them without
// their common end: for /home/a/x/y and /srv/x/y it returns /home/a and /srv. ok is false if the
// first difference is not in an absolute path.
func leak(a, b string) (x, y string, ok bool) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return "", "", false
	}
	start := strings.LastIndexAny(a[:at], pathEnds) + 1
	slash := strings.IndexByte(a[start:at], '/')
	if slash < 0 || !slices.Contains(pathFlags, a[start:start+slash]) {
		return "", "", false
	}
	word := func(s string) []string {
		s = s[start+slash+1:]
		if end := strings.IndexAny(s, pathEnds); end >= 0 {
			s = s[:end]
		}
		return strings.Split(s, "/")
	}
	p, q := word(a), word(b)
	for len(p) > 1 && len(q) > 1 && p[len(p)-1] == q[len(q)-1] {
		p, q = p[:len(p)-1], q[:len(q)-1]
	}
	return "/" + strings.Join(p, "/"), "/" + strings.Join(q, "/"), true
}

// leakNote guesses what sort of directory an absolute path leads to.
func leakNote(path string) string {
	for _, part := range []string{"/execroot", "/sandbox/", "/external", "/_bazel_"} {
		if strings.Contains(path+"/", part+"/") || strings.Contains(path, part) {
			return "an absolute path in the output base"
		}
	}
	return "an absolute path in the workspace, in the output base or elsewhere on the machine"
}
