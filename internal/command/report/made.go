package report

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Made counts the BTF that a batch of conversions made.
type Made struct {
	BTF Part
	// Extra counts the split BTF with the variables that are not per CPU. The base of that split BTF
	// is the BTF that is counted in the field BTF. Extra is nil if no split BTF was made.
	Extra *Part
}

// Part counts some of the BTF of a batch.
type Part struct {
	Files     int
	Bytes     int64
	Variables *Decided
}

// Decided counts functions or variables.
type Decided struct {
	Encoded int
	Skipped map[string]int // by reason
}

// AddMade adds the results for a file to the counts in m: own, based on base, and extra, which may
// be nil. Without --verbose, no variables are counted. AddMade is thread-safe.
func (r *Run) AddMade(m *Made, base *btf.Blob, own, extra *link.Result) error {
	part, below, err := r.count(base, own)
	if err != nil {
		return err
	}
	var more *Part
	if extra != nil {
		if more, _, err = r.count(below, extra); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.BTF.add(part)
	if more != nil {
		if m.Extra == nil {
			m.Extra = &Part{}
		}
		m.Extra.add(more)
	}
	return nil
}

// count counts a result, based on base. If counts are wanted, it also returns the parsed BTF.
func (r *Run) count(base *btf.Blob, result *link.Result) (*Part, *btf.Blob, error) {
	p := &Part{Files: 1, Bytes: int64(len(result.BTF))}
	if !r.env.Verbose {
		return p, nil, nil
	}
	b, err := btf.Parse(result.BTF, base)
	if err != nil {
		return nil, nil, err
	}
	p.Variables = &Decided{Skipped: map[string]int{}}
	for i := range b.Types {
		if b.Types[i].Kind == btf.KindVar {
			p.Variables.Encoded++
		}
	}
	for _, s := range result.Skipped {
		if s.Variable() {
			p.Variables.Skipped[s.Reason]++
		}
	}
	return p, b, nil
}

func (p *Part) add(q *Part) {
	p.Files += q.Files
	p.Bytes += q.Bytes
	switch {
	case q.Variables == nil:
		return
	case p.Variables == nil:
		p.Variables = &Decided{Skipped: map[string]int{}}
	}
	p.Variables.Encoded += q.Variables.Encoded
	for reason, n := range q.Variables.Skipped {
		p.Variables.Skipped[reason] += n
	}
}

// Total is the size of all parts, in bytes.
func (m *Made) Total() int64 {
	if m.Extra == nil {
		return m.BTF.Bytes
	}
	return m.BTF.Bytes + m.Extra.Bytes
}

// text returns a description of m, for the line about a phase.
func (m *Made) text() string {
	text := message.Count(m.BTF.Files, "file") + m.BTF.text()
	if m.Extra != nil {
		text += "; extra" + m.Extra.text()
	}
	return text
}

func (p *Part) text() string {
	text := ", " + bytesText(p.Bytes)
	if p.Variables != nil {
		text += ", " + p.Variables.text("variable")
	}
	return text
}

// EndMade ends a phase in which a batch made BTF.
func (p *Phase) EndMade(m *Made) {
	p.stop()
	p.record(m.text())
}
