package repro

import (
	"slices"
	"strings"
)

// arguments compares the command lines.
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

// edit is an argument that was replaced, removed or added.
type edit struct {
	a, b     string
	inA, inB bool
}

// maxTable bounds the table of diffArgs. Longer lists are compared place by place.
const maxTable = 1 << 20

// diffArgs returns the edits that make b of a.
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
	// common[i][j] is how many arguments a[i:] and b[j:] have in common, in order.
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

// pathFlags are flags of compilers that a path follows at once.
var pathFlags = []string{"", "-I", "-L", "-B", "-F", "-isystem", "-iquote", "-idirafter", "@"}

const pathEnds = " \t\n\"'=:,;()<>"

// leak finds an absolute path in which two texts differ first, and returns what is left of it in
// each without the directories at the end that are the same: /home/a and /srv for /home/a/x/y and
// /srv/x/y.
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

// leakNote says what an absolute path probably is.
func leakNote(path string) string {
	for _, part := range []string{"/execroot", "/sandbox/", "/external", "/_bazel_"} {
		if strings.Contains(path+"/", part+"/") || strings.Contains(path, part) {
			return "an absolute path: of the output base"
		}
	}
	return "an absolute path: of the workspace, the output base or the machine"
}
