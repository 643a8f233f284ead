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
// input in messages; counts may be nil.
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
	case alone:
		return fmt.Errorf("%s: there is no type to encode; did --lang-exclude leave out all compilation "+
			"units?", what)
	case excluded > 0:
		warn(fmt.Sprintf("%s: no type is left to encode: --lang-exclude leaves out %s; the BTF has only "+
			"the types of its base", what, message.Count(excluded, "compilation unit")))
	}
	return nil
}
