package pipeline

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// CheckTypes returns an error for BTF without types if the parameter alone is set, which means that
// the BTF has no base. The kernel rejects such BTF too (btf_parse_type_sec). Split BTF may have no
// types; CheckTypes then calls warn if --lang-exclude left out units. The parameter what names the
// input in messages; counts is nil if the input was converted before.
func CheckTypes(what string, data []byte, alone bool, counts *convert.Counts,
	warn func(line string)) error {
	h, _, err := btf.ReadHeader(data)
	if err != nil || h.TypeLen > 0 {
		return err
	}
	excluded := 0
	if counts != nil {
		excluded = counts.Excluded
	}
	switch {
	case alone && excluded > 0:
		return fmt.Errorf("%s: no type is left to encode: --lang-exclude leaves out %s", what,
			message.Count(excluded, "compilation unit"))
	case alone && counts != nil:
		return fmt.Errorf("%s: there is no type to encode: its DWARF describes none", what)
	case alone:
		return fmt.Errorf("%s: there is no type to encode; did --lang-exclude leave out all compilation "+
			"units, or are the linked file and the objects from different builds?", what)
	case excluded > 0:
		warn(fmt.Sprintf("%s: no type is left to encode: --lang-exclude leaves out %s; the BTF has only "+
			"the types of its base", what, message.Count(excluded, "compilation unit")))
	}
	return nil
}

// minFunctions is the minimum number of functions that show that two modules are the same.
// Different modules may have a few functions with the same names, such as init_module.
const minFunctions = 5

// OwnBase returns a warning if base, which is split BTF, may have been made from the same file as
// the split BTF data, because it has nearly all functions of data. Otherwise OwnBase returns "".
// Rule: wrong base: when it is only a warning. The base is the module's own BTF.
func OwnBase(data []byte, base *btf.Blob) string {
	if base == nil || base.Base == nil || base.EndsOnly() {
		return ""
	}
	b, err := btf.Parse(data, base)
	if err != nil {
		return ""
	}
	own, below := functions(b), functions(base)
	same := 0
	for name := range own {
		if below[name] {
			same++
		}
	}
	if same < minFunctions || same < len(own)*9/10 {
		return "" // encoders differ in a few of the functions that they leave out
	}
	return fmt.Sprintf("the last base has %d of its %d functions; was it made from the same file?",
		same, len(own))
}

// functions returns the names of a blob's functions.
func functions(b *btf.Blob) map[string]bool {
	names := map[string]bool{}
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == btf.KindFunc {
			names[b.TypeName(t)] = true
		}
	}
	return names
}
