package shared

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	if len(r.Types) > 0 {
		fmt.Fprintf(out, "%7s %7s %10s  type\n", "modules", "bytes", "repeats")
		for _, t := range r.Types {
			fmt.Fprintf(out, "%7d %7d %10d  %s %s\n", t.Modules, t.Bytes, t.Cost, t.Kind,
				message.Printable(t.Name))
		}
		if more := r.Repeats - len(r.Types); more > 0 {
			fmt.Fprintf(out, "and %s that several modules hold\n", message.Count(more, "more named type"))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%-10s %9s %11s %9s %11s\n", "", "count", "bytes", "repeats", "bytes")
	all := Part{Name: "all"}
	for _, p := range r.Parts {
		all.Count += p.Count
		all.Bytes += p.Bytes
		all.Repeats.Count += p.Repeats.Count
		all.Repeats.Bytes += p.Repeats.Bytes
	}
	for _, p := range append(r.Parts, all) {
		fmt.Fprintf(out, "%-10s %9d %11d %9d %11d\n", p.Name, p.Count, p.Bytes, p.Repeats.Count,
			p.Repeats.Bytes)
	}
	b := &r.Shared
	fmt.Fprintf(out, "\n%s: %d bytes\n", message.Count(r.Modules, "module"), r.Bytes)
	fmt.Fprintf(out, "types that the base defines differently: %d, %d bytes\n", r.Redefined.Count,
		r.Redefined.Bytes)
	fmt.Fprintf(out, "types that the base only declares: %d, %d bytes\n", r.Declared.Count,
		r.Declared.Bytes)
	fmt.Fprintf(out, "a shared base would have %s (%d bytes) and %s (%d bytes)\n",
		message.Count(b.Types.Count, "type"), b.Types.Bytes, message.Count(b.Strings.Count, "string"),
		b.Strings.Bytes)
	fmt.Fprintf(out, "in place of %s (%d bytes) and %s (%d bytes) in modules\n",
		message.Count(b.WithoutTypes.Count, "type"), b.WithoutTypes.Bytes,
		message.Count(b.WithoutStrings.Count, "string"), b.WithoutStrings.Bytes)
	fmt.Fprintf(out, "it would save %d bytes (%.1f%%)\n", b.Saved(),
		100*float64(b.Saved())/float64(max(1, r.Bytes)))
	return out.Flush()
}
