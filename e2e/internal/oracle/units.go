package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Reasons for differences in what definitions lead to.
const (
	reasonAnyDefinition = "a unit only declares a tag of which others have several definitions; " +
		"pahole takes another one than we"
	reasonLostDefinition = "pahole does not tell the definitions of a tag apart that the units have"
)

// explainLeads sets the reasons of definitions that lead to other definitions of a tag than the
// oracle's. What a unit defines is what its other definitions must lead to; where a unit only
// declares a tag, any definition of it will do.
func explainLeads(tb testing.TB, r *compare.Result, elfPath string) {
	tb.Helper()
	wanted := map[string]bool{}
	for _, d := range r.Unexplained() {
		if d.Kind == compare.Leads {
			wanted[string(d.Class)+" "+d.Name] = true
			for _, lead := range d.Leads {
				wanted[lead.Tag] = true
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	units, err := readUnits(elfPath, wanted)
	if err != nil {
		tb.Fatal(err)
	}
	r.Explain(func(d *compare.Difference) string {
		if d.Kind != compare.Leads || len(d.Leads) == 0 {
			return ""
		}
		return byUnits(units, d)
	})
}

// unit has the signatures of the definitions that a unit has of some names: "struct foo", "function
// f". Functions and typedefs have "".
type unit map[string][]string

// byUnits returns why a definition may lead elsewhere. It is wrong if ours leads to what no unit
// says, or lacks what a unit says.
func byUnits(units []unit, d *compare.Difference) string {
	reason := ""
	for _, lead := range d.Leads {
		declared, ours, oracle := false, false, false // a unit with d has of the tag …
		for _, u := range units {
			if _, ok := u[string(d.Class)+" "+d.Name]; ok {
				declared = declared || len(u[lead.Tag]) == 0
				ours = ours || slices.Contains(u[lead.Tag], lead.Ours)
				oracle = oracle || slices.Contains(u[lead.Tag], lead.Oracle)
			}
		}
		switch {
		case d.Extra && ours:
			reason = reasonLostDefinition
		case d.Extra && declared, !d.Extra && !oracle:
			reason = reasonAnyDefinition
		default:
			return ""
		}
	}
	return reason
}

// readUnits reads which of the wanted names each unit of a file defines.
func readUnits(path string, wanted map[string]bool) ([]unit, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	classes := map[dwarf.Tag]content.Class{dwarf.TagStructType: content.Struct,
		dwarf.TagUnionType: content.Union, dwarf.TagEnumerationType: content.Enum,
		dwarf.TagTypedef: content.Typedef, dwarf.TagSubprogram: content.Func}
	var units []unit
	for r := data.Reader(); ; {
		die, err := r.Next()
		if err != nil || die == nil {
			return units, err
		}
		if die.Tag == dwarf.TagCompileUnit {
			units = append(units, unit{})
			continue
		}
		if class, ok := classes[die.Tag]; ok && len(units) > 0 {
			name, err := nameOf(data, die)
			if err != nil {
				return nil, err
			}
			id := string(class) + " " + name
			if declaration, _ := die.Val(dwarf.AttrDeclaration).(bool); wanted[id] && !declaration {
				s, err := signature(r, die)
				if err != nil {
					return nil, err
				}
				u := units[len(units)-1]
				u[id] = append(u[id], s)
				continue
			}
		}
		if die.Children {
			r.SkipChildren()
		}
	}
}

// signature reads the children of a DIE, and returns what content.Signature does of the type.
func signature(r *dwarf.Reader, die *dwarf.Entry) (string, error) {
	size, _ := die.Val(dwarf.AttrByteSize).(int64)
	var names []string
	for die.Children {
		child, err := r.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return content.JoinSignature(size, names), err
		}
		name, _ := child.Val(dwarf.AttrName).(string)
		switch child.Tag {
		case dwarf.TagMember:
			names = append(names, name)
		case dwarf.TagEnumerator:
			value, _ := child.Val(dwarf.AttrConstValue).(int64)
			names = append(names, content.Constant(name, value))
		}
		if child.Children {
			r.SkipChildren()
		}
	}
	return content.JoinSignature(size, names), nil
}
