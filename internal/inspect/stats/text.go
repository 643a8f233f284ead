package stats

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// WriteText writes the report as tables.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d bytes: header %d, types %d (%s)", r.Bytes, r.Header, r.Types.Bytes,
		r.share(r.Types.Bytes))
	if r.Layout > 0 {
		fmt.Fprintf(&b, ", layout %d", r.Layout)
	}
	fmt.Fprintf(&b, ", strings %d (%s)\n", r.Strings.Bytes, r.share(r.Strings.Bytes))
	b.WriteString(message.Count(r.Types.Total, "type"))
	if r.Types.Total > 0 {
		fmt.Fprintf(&b, ", ids %d to %d", r.Types.FirstID, int(r.Types.FirstID)+r.Types.Total-1)
	}
	fmt.Fprintf(&b, "; %s\n", message.Count(r.Strings.Total, "string"))
	if x := r.Base; x != nil {
		fmt.Fprintf(&b, "The base has %s and %d bytes of strings. %d of %d references\n"+
			"lead to types of the base, and %d of %d names are strings of the base.\n",
			message.Count(x.Types, "type"), x.Strings, x.Refs, x.Refs+x.OwnRefs, x.NamesOfBase,
			x.NamesOfBase+x.OwnNames)
	}

	b.WriteString(r.Variables.text())
	b.WriteString(r.Inline.text())

	rows := [][]any{{"KIND", "TYPES", "ANONYMOUS", "ELEMENTS", "BYTES", "SHARE"}}
	for _, k := range r.Types.Kinds {
		rows = append(rows, []any{k.Kind, k.Types, k.Anonymous, k.Elements, k.Bytes, r.share(k.Bytes)})
	}
	table(&b, "Types by kind", rows)

	rows = [][]any{{"NAMES OF", "STRINGS", "BYTES", "SHARE"}}
	for _, u := range r.Strings.Users {
		rows = append(rows, []any{u.Of, u.Strings, u.Bytes, r.share(u.Bytes)})
	}
	table(&b, "Strings by what they name", rows)

	rows = [][]any{{"TYPE", "ID", "ELEMENTS", "BYTES", "SHARE"}}
	for _, t := range r.Largest {
		name := message.Printable(cmp.Or(t.Name, "(anon)"))
		rows = append(rows, []any{t.Kind + " " + name, t.ID, t.Elements, t.Bytes, r.share(t.Bytes)})
	}
	table(&b, "Largest types", rows)

	rows = [][]any{{"SECTION", "VARIABLES", "SIZE", "BYTES", "SHARE"}}
	for _, s := range r.Sections {
		rows = append(rows, []any{message.Printable(s.Name), s.Variables, s.Size, s.Bytes,
			r.share(s.Bytes)})
	}
	table(&b, "Sections", rows)
	_, err := b.WriteTo(w)
	return err
}

// text says which variables the BTF has.
func (v Variables) text() string {
	if others := v.Total - v.PerCPU; others > 0 {
		return fmt.Sprintf("%s: %d per CPU, %d others\n", message.Count(v.Total, "variable"), v.PerCPU,
			others)
	}
	if v.Total > 0 {
		return message.Count(v.Total, "variable") + ", all of them per CPU\n"
	}
	return "no variables\n"
}

func (r *Report) share(bytes uint64) string {
	if r.Bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(bytes)/float64(r.Bytes))
}

// table writes a table, unless it has only headings. All columns but the first are right-aligned.
func table(b *bytes.Buffer, title string, rows [][]any) {
	if len(rows) == 1 {
		return
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0].(string)))
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		first := row[0].(string)
		fmt.Fprintf(t, "%s%s", first, strings.Repeat(" ", width-len(first)))
		for _, cell := range row[1:] {
			fmt.Fprintf(t, "\t%v", cell)
		}
		fmt.Fprint(t, "\t\n")
	}
	t.Flush()
}
