package bpftest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// RandomKernel returns the C sources of a kernel in which several types have the same names: each
// source defines most of the same tags and typedefs, but with other members. Often the members of
// one name have the same offset and different sizes. The result depends only on the seed. See
// Kernel, which makes BTF from the sources.
func RandomKernel(seed uint64) []string {
	r := &kernelWriter{Rand: rand.New(rand.NewPCG(seed, 3))}
	sources := make([]string, 2+r.IntN(3))
	for i := range sources {
		sources[i] = r.file()
	}
	return sources
}

// kernelWriter writes one source of a kernel after the other.
type kernelWriter struct {
	*rand.Rand
	source  strings.Builder
	defined []string // types that are complete in this source
}

// The kinds of the types with names, such as "struct s0".
var kernelKinds = []string{"struct s", "union u", "typedef t", "enum e"}

// file returns the next source.
func (r *kernelWriter) file() string {
	r.source.Reset()
	r.defined = slices.Clone(integers)
	for i := range 5 {
		for _, kind := range kernelKinds {
			if r.IntN(100) < 70 {
				r.define(fmt.Sprintf("%s%d", kind, i))
			}
		}
	}
	return r.source.String()
}

// define writes the definition of a type such as "struct s0".
func (r *kernelWriter) define(name string) {
	kind, short, _ := strings.Cut(name, " ")
	if r.IntN(100) < 5 && kind != "typedef" { // a flavor in the kernel is a candidate, too
		name += "___old"
	}
	switch kind {
	case "enum":
		var values []string
		for i := range 4 {
			if r.IntN(100) < 70 {
				values = append(values, fmt.Sprintf("%s_%d = %d", strings.ToUpper(short), i, r.IntN(3)))
			}
		}
		if values == nil {
			return
		}
		fmt.Fprintf(&r.source, "%s { %s };\n", name, strings.Join(values, ", "))
	case "typedef":
		if r.IntN(2) == 0 {
			fmt.Fprintf(&r.source, "typedef struct {%s } %s;\n", r.members(false), short)
		} else {
			fmt.Fprintf(&r.source, "typedef %s;\n", r.declaration(short))
		}
		name = short
	default:
		fmt.Fprintf(&r.source, "%s {%s };\n", name, r.members(kind == "union"))
	}
	r.defined = append(r.defined, name)
}

// members returns the members of a struct or union.
func (r *kernelWriter) members(union bool) string {
	places := r.IntN(2) == 0 // each member has a place that other definitions also use
	text := ""
	for i := range 5 {
		name := fmt.Sprintf("m%d", i)
		switch {
		case places && !union:
			text += fmt.Sprintf(" %s m%d __attribute__((aligned(8)));",
				integers[r.IntN(len(integers))], i)
		case r.IntN(100) < 30:
		case r.IntN(100) < 10:
			text += fmt.Sprintf(" unsigned %s:%d;", name, 1+r.IntN(9))
		case r.IntN(100) < 10:
			text += fmt.Sprintf(" struct { %s; };", r.declaration(name))
		default:
			text += fmt.Sprintf(" %s;", r.declaration(name))
		}
	}
	if text == "" {
		return " int only;"
	}
	return text
}

// declaration returns the declaration of a name with a random type.
func (r *kernelWriter) declaration(name string) string {
	base := r.defined[r.IntN(len(r.defined))]
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("%s *%s", base, name)
	case 1:
		return fmt.Sprintf("%s %s[%d]", base, name, r.IntN(4))
	}
	return base + " " + name
}
