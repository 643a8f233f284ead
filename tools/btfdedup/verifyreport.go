package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

type verifyReport struct {
	Schema     int         `json:"schema"`
	Files      int         `json:"files"` // how many were checked
	Valid      bool        `json:"valid"` // nothing was found
	Violations []violation `json:"violations"`
	Problems   []problem   `json:"problems"` // of archives, and of sections .BTF.inline
}

// violation is a rule that a type, or the blob as a whole, violates.
type violation struct {
	File   string `json:"file"`
	Blob   int    `json:"blob"`    // which blob of the file, starting at 1
	TypeID uint32 `json:"type_id"` // 0 for the blob as a whole; then Kind and Name are ""
	Kind   string `json:"kind"`    // "struct", …
	Name   string `json:"name"`    // "" for an anonymous type
	Rule   string `json:"rule"`    // a short fixed name, such as "member-bounds"
	Detail string `json:"detail"`

	line string // as text
}

type problem struct {
	File string `json:"file"` // the manifest, the tar archive, or the ELF file
	What string `json:"what"`
}

func newVerifyReport(files []string) *verifyReport {
	return &verifyReport{Schema: reportSchema, Files: len(files), Violations: []violation{},
		Problems: []problem{}}
}

// add adds the violations that were found in one of a file's blobs, the one with the number blob.
func (r *verifyReport) add(file string, blob, blobs int, found []verify.Violation) {
	for _, v := range found {
		x := violation{File: file, Blob: blob, TypeID: v.TypeID, Name: v.Name, Rule: v.Rule,
			Detail: v.Detail}
		if v.TypeID != 0 {
			x.Kind = strings.ToLower(v.Kind.String())
		}
		if r.Files > 1 {
			x.line = file + ": "
		}
		if blobs > 1 {
			x.line += fmt.Sprintf("blob %d: ", blob)
		}
		x.line += v.String()
		r.Violations = append(r.Violations, x)
	}
}

func (r *verifyReport) found() int { return len(r.Violations) + len(r.Problems) }

func (r *verifyReport) write(to io.Writer, format string, limit int) error {
	if format == "json" {
		r.Valid = r.found() == 0
		return writeJSON(to, r)
	}
	return r.writeText(to, limit)
}

// writeText prints a line for each problem and each violation. The parameter limit is the maximum
// number of violations. If it is 0, all violations are printed.
func (r *verifyReport) writeText(to io.Writer, limit int) error {
	w := bufio.NewWriter(to)
	shown := len(r.Violations)
	if limit > 0 {
		shown = min(shown, limit)
	}
	for _, v := range r.Violations[:shown] {
		fmt.Fprintln(w, v.line)
	}
	if more := len(r.Violations) - shown; more > 0 {
		fmt.Fprintf(w, "and %s more (--limit=0 prints all)\n", message.Count(more, "violation"))
	}
	for _, p := range r.Problems {
		if r.Files > 1 {
			fmt.Fprintf(w, "%s: ", p.File)
		}
		fmt.Fprintln(w, p.What)
	}
	return w.Flush()
}
