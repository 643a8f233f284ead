package report

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// WriteObject ends a verb whose output is the BTF object o: it writes o.
func (r *Run) WriteObject(o *object.Object) error {
	p := r.Phase("write", "")
	data, err := object.Write(o, r.env.Jobs)
	if err != nil {
		return err
	}
	p.stop()
	if r.env.Verbose {
		_, n, err := kindsOf(data, nil)
		if err != nil {
			return err
		}
		p.record(message.Count(n, "type"))
	}
	return r.Write(data)
}

// WriteLinked ends a verb whose output is the result of a link against base, which may be nil: it
// writes the list for --skipped, the distilled base, and the BTF.
func (r *Run) WriteLinked(result *link.Result, base *btf.Blob) error {
	out, distilled := result.BTF, []byte(nil)
	if r.env.DistilledBase != "" {
		var err error
		if distilled, out, err = distill.Encode(result.BTF, base); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(r.env.Bases, ", "), err)
		}
	}
	outputs := []cli.Artifact{{Path: r.env.Output, File: cli.Bytes(out)}}
	if distilled != nil {
		outputs = append(outputs,
			cli.Artifact{Path: r.env.DistilledBase, File: cli.Bytes(distilled)})
	}
	if r.env.Skipped != "" {
		outputs = append(outputs, cli.Artifact{Path: r.env.Skipped,
			File: result.WriteSkipped})
	}
	return r.Finish(outputs...)
}

// Write ends a verb whose output is data.
func (r *Run) Write(data []byte) error {
	return r.Finish(cli.Artifact{Path: r.env.Output, File: cli.Bytes(data)})
}
