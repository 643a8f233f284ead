package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/link"
)

// paholesReasons maps our text for a reason to pahole's, where they differ. "inconsistet" is
// pahole's spelling, which scripts look for.
var paholesReasons = map[string]string{
	params.ReasonInconsistentPrototype: "inconsistet prototype",
	params.ReasonUnexpectedRegister:    "unexpected register usage for parameter",
	params.ReasonUnknown:               params.ReasonOptimized,
}

// writeSkipped writes a line for each function that is not encoded, as pahole -V does
// (btf_encoder__log_func_skip in pahole's btf_encoder.c).
// Rule: pahole: what -V prints. Source: pahole btf_encoder__log_func_skip.
func writeSkipped(w io.Writer, list []link.Skipped) error {
	out := bufio.NewWriter(w)
	for _, s := range list {
		if !s.Variable() {
			fmt.Fprintf(out, "%s : skipping BTF encoding of function due to %s\n", s.Name,
				cmp.Or(paholesReasons[s.Reason], s.Reason))
		}
	}
	return out.Flush()
}
