package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// helpText is what --help prints. Makefiles look for "BTF" in it.
func helpText() string {
	var b strings.Builder
	b.WriteString(`pahole encodes BTF from the DWARF of ELF files, in place of the pahole of dwarves.

Usage:
  pahole -J [options] FILE...
  pahole -J --btf_encode_detached=OUT [options] FILE

It has the options of pahole 1.32 for encoding, and makes the same BTF as btfgen elf. Without a list
of features, var, decl_tag, type_tag and enum64 are on.

Options:
`)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, o := range encoding() {
		fmt.Fprintf(table, "  %s\t%s\n", o.usage(), o.help)
	}
	table.Flush()
	fmt.Fprintf(&b, `
Environment:
  %s  the version of pahole to report, such as 1.25
  %s       the default of --lang_exclude

Options that print types are errors: %s.
Exit codes: 0 success, 1 bad input, 2 wrong usage.
`, versionVariable, excludeVariable, elsewhere)
	return b.String()
}

// usage is how the option is given.
func (o *option) usage() string {
	text := "    --" + o.name
	if o.short != 0 {
		text = fmt.Sprintf("-%c, --%s", o.short, o.name)
	}
	switch o.takes {
	case needsValue:
		text += "=" + o.value
	case mayHaveValue:
		text += "[=" + o.value + "]"
	}
	return text
}
