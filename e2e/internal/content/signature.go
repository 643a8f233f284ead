package content

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Tag returns the kind and name of a struct, union or enum, whether it is defined or only declared,
// and "" for other types.
func Tag(t btf.Type) string {
	if t.TypeName() == "" {
		return ""
	}
	switch t := t.(type) {
	case *btf.Struct, *btf.Union, *btf.Enum:
		return reference(t)
	case *btf.Fwd:
		return forward(t)
	}
	return ""
}

// Signature tells definitions of one tag apart: the size and the names of the members, or the names
// and values of the constants. It is "" for what has neither.
func Signature(t btf.Type) string {
	var names []string
	var size uint32
	switch t := t.(type) {
	case *btf.Struct:
		size = t.Size
		for _, m := range t.Members {
			names = append(names, m.Name)
		}
	case *btf.Union:
		size = t.Size
		for _, m := range t.Members {
			names = append(names, m.Name)
		}
	case *btf.Enum:
		size = t.Size
		for _, v := range t.Values {
			names = append(names, Constant(v.Name, int64(v.Value)))
		}
	}
	return JoinSignature(int64(size), names)
}

// Constant is a constant of an enum in a signature.
func Constant(name string, value int64) string { return fmt.Sprintf("%s=%d", name, value) }

// JoinSignature makes a signature of a size and names.
func JoinSignature(size int64, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %s", size, strings.Join(names, " "))
}
