package report

import (
	"sync"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/link"
)

// Made counts the BTF that a batch made. Several threads may add to it.
type Made struct {
	Part
	// Extra is the BTF of variables that are not per CPU, on that of the files; nil if there is none.
	Extra *Part `json:"extra,omitempty"`

	mu sync.Mutex
}

// Part counts some of the BTF of a batch.
type Part struct {
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	Variables *Decided `json:"variables,omitempty"`
}

// Add counts the BTF of a file, which stands on base, and the extra part of it, which may be nil.
// Variables are counted if r wants them.
func (m *Made) Add(r *Run, base *btf.Blob, own, extra *link.Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	below, err := m.add(r, base, own)
	if err != nil || extra == nil {
		return err
	}
	if m.Extra == nil {
		m.Extra = &Part{}
	}
	_, err = m.Extra.add(r, below, extra)
	return err
}

// add counts BTF that stands on base, and returns it if r wants to know what is in it.
func (p *Part) add(r *Run, base *btf.Blob, result *link.Result) (*btf.Blob, error) {
	p.Files++
	p.Bytes += int64(len(result.BTF))
	if !r.wanted() {
		return nil, nil
	}
	b, err := btf.Parse(result.BTF, base)
	if err != nil {
		return nil, err
	}
	if p.Variables == nil {
		p.Variables = &Decided{0, map[string]int{}}
	}
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
	return b, nil
}

// Total is the size of all parts, in bytes.
func (m *Made) Total() int64 {
	if m.Extra == nil {
		return m.Bytes
	}
	return m.Bytes + m.Extra.Bytes
}

// text says what was made.
func (m *Made) text() string {
	text := plural(m.Files, "file") + m.Part.text()
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

// EndVmlinux ends the phase in which a batch made the BTF of its base.
func (r *Run) EndVmlinux(p *Phase, m *Made) {
	p.stop()
	r.Stats.Vmlinux = m
	p.found(m.text())
}

// EndMade ends the phase in which a batch made the BTF of modules.
func (r *Run) EndMade(p *Phase, m *Made) {
	p.stop()
	r.Stats.Modules = m
	p.found(m.text())
}
