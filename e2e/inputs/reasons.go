package inputs

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
)

// Difference is a difference that "btfdedup diff --format=json" prints.
type Difference struct {
	Class   string // "only in A", "only in B", "differs", "forward"
	Kind    string
	Type    string // "struct foo"
	Note    string
	Changes []Change
}

// Change is a change of a part of a type.
type Change struct {
	Kind          string                // "moved", "retyped" …
	Where         string                // "member bar.baz"; "" for the type itself
	Before, After struct{ Text string } // "u32", an offset in bytes
}

func (d Difference) String() string {
	text := d.Class + ": " + d.Type
	if d.Note != "" {
		text += ": " + d.Note
	}
	for _, c := range d.Changes {
		text += fmt.Sprintf("; %s %s: %s → %s", c.Kind, c.Where, c.Before.Text, c.After.Text)
	}
	return text
}

// has reports whether a difference has a change for which match returns true.
func (d Difference) has(match func(c Change) bool) bool {
	return slices.ContainsFunc(d.Changes, match)
}

// Blocks is the set of types that a file's DWARF defines inside functions' blocks. Each type is in
// the set as its kind and name: "struct foo". An anonymous enum is in it once for each enumerator:
// "enum (anon) {FOO". The set also has the functions whose DWARF an assembler wrote: "func foo".
type Blocks map[string]bool

// ReadBlocks reads the DWARF of a file.
func ReadBlocks(path string) (Blocks, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	found := Blocks{}
	r := d.Reader()
	depth, function := 0, -1 // function: the depth of the function that contains the entry, or -1
	enum := -1               // the depth of the anonymous enum that contains the entry, or -1
	assembler := false       // whether an assembler wrote the unit
	for {
		e, err := r.Next()
		switch {
		case err != nil:
			return nil, err
		case e == nil:
			return found, nil
		case e.Tag == 0:
			depth--
			if depth <= function {
				function = -1
			}
			continue
		}
		if depth <= enum {
			enum = -1
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		switch {
		case e.Tag == dwarf.TagCompileUnit:
			language, _ := e.Val(dwarf.AttrLanguage).(int64)
			assembler = language == mipsAssembler
		case e.Tag == dwarf.TagSubprogram && assembler:
			found["func "+name] = true
		}
		if function >= 0 {
			switch e.Tag {
			case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagTypedef, dwarf.TagEnumerationType:
				if name != "" {
					found[kinds[e.Tag]+" "+name] = true
				} else if e.Tag == dwarf.TagEnumerationType {
					enum = depth
				}
			case dwarf.TagEnumerator:
				if enum >= 0 {
					found["enum (anon) {"+name] = true
				}
			}
		}
		if e.Tag == dwarf.TagSubprogram && function < 0 {
			function = depth
		}
		if e.Children {
			depth++
		} else if function == depth {
			function = -1
		}
	}
}

// mipsAssembler is DW_LANG_Mips_Assembler, which gas writes for every architecture.
const mipsAssembler = 0x8001

var kinds = map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagUnionType: "union",
	dwarf.TagTypedef: "typedef", dwarf.TagEnumerationType: "enum"}

// has reports whether a type is in the set. The title is the type's kind and name, as "btfdedup
// diff" prints them.
func (b Blocks) has(title string) bool {
	if b[title] {
		return true
	}
	first, _, _ := strings.Cut(title, ",")
	return b[strings.TrimSuffix(first, "}")]
}

// The reasons for differences between the BTF from DWARF and from -gbtf; see docs/inputs.md.
const (
	reasonBlock    = "a type defined in a function's block"
	reasonClone    = "the BTF doesn't say where a clone's parameters are"
	reasonLocation = "the DWARF says where parameters are"
	reasonCodeless = "the DWARF has a function with that name but without code"
	reasonVector   = "a vector is void in the BTF"
	reasonUnnamed  = "a record begins with an unnamed bitfield; the BTF has the next member at 0"
	reasonVariable = "the variable is skipped in the BTF"
	reasonAssembly = "a function in assembly, for which gas writes DWARF but no BTF"
)

// Explain returns the reason for a difference, or "" if no reason is known. The parameters dwarf
// and btf have the functions and variables that each of the two conversions skipped.
func Explain(d Difference, blocks Blocks, dwarf, btf compare.Skips) string {
	_, name, _ := strings.Cut(d.Type, " ")
	switch {
	case d.Kind == "func" && d.Class == "only in A" && btf[name] == "unknown parameters of a clone":
		return reasonClone
	case d.Kind == "func" && d.Class == "only in A" && blocks[d.Type]:
		return reasonAssembly
	case d.Kind == "func" && d.Class == "only in B" && dwarf[name] == "inconsistent prototype":
		return reasonCodeless
	case d.Kind == "func" && d.Class == "only in B" && dwarf[name] != "":
		return reasonLocation
	case d.Kind == "var" && d.Class == "only in A" && btf[name] != "":
		return reasonVariable
	case blocks.has(d.Type):
		return reasonBlock
	case d.Kind == "typedef" && d.has(func(c Change) bool { return c.After.Text == "void" }):
		return reasonVector
	case d.Class == "differs" && d.has(func(c Change) bool {
		return c.Kind == "moved" && (c.After.Text == "0" || c.After.Text == "0:0")
	}):
		return reasonUnnamed
	}
	return ""
}
