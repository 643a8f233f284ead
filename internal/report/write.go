package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/distill"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/object"
)

// WriteObject is the last phase of a verb whose output is the BTF object o.
func (r *Run) WriteObject(o *object.Object) error {
	p := r.Phase("write", "")
	data, err := object.Write(o)
	if err != nil {
		return err
	}
	p.stop()
	text, err := r.countTypes(data, nil)
	if err != nil {
		return err
	}
	p.found(text)
	return r.Write(data)
}

// WriteLinked ends a verb whose output is the result of a link on base, which may be nil: it writes
// the list of --skipped, the distilled base, and the BTF.
func (r *Run) WriteLinked(result *link.Result, base *btf.Blob) error {
	out, distilled := result.BTF, []byte(nil)
	if r.env.DistilledBase != "" {
		var err error
		if distilled, out, err = distill.Encode(result.BTF, base); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(r.env.Bases, ", "), err)
		}
	}
	if r.env.Skipped != "" {
		if err := r.env.WriteOutput(r.env.Skipped, func(w io.Writer) error {
			return link.WriteSkipped(w, result.Skipped)
		}); err != nil {
			return err
		}
	}
	if err := r.Finish(len(out) + len(distilled)); err != nil {
		return err
	}
	if distilled != nil {
		if err := r.put(r.env.DistilledBase, distilled); err != nil {
			return err
		}
	}
	return r.put(r.env.Output, out)
}

// Write ends a verb whose output is data.
func (r *Run) Write(data []byte) error {
	if err := r.Finish(len(data)); err != nil {
		return err
	}
	return r.put(r.env.Output, data)
}

func (r *Run) put(path string, data []byte) error {
	return r.env.WriteOutput(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
