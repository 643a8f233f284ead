package report

import (
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// watched holds the phases that a Run begins when a pipeline calls it as a pipeline.Watcher.
type watched struct {
	convert, facts, link *Phase
}

// Converting begins the phase in which debugging information is converted. The parameter unit names
// what is counted, in the plural.
func (r *Run) Converting(unit string) (progress func(done, all int)) {
	r.watched.convert = r.Phase("convert", unit)
	return r.watched.convert.Progress
}

// Converted ends the phase that Converting began.
func (r *Run) Converted(c *convert.Counts, o *object.Object) {
	p := r.watched.convert
	p.stop()
	p.record(countUnits(c) + r.countShapes(o))
}

// FindingFacts begins the phase in which the facts of a linked file are found or read.
func (r *Run) FindingFacts() { r.watched.facts = r.Phase("facts", "") }

// FoundFacts ends the phase that FindingFacts began.
func (r *Run) FoundFacts(f *facts.Facts) {
	p := r.watched.facts
	p.stop()
	p.record(countFacts(f))
}

// Linking begins the link. The caller calls step with the name of each step, when that step begins.
func (r *Run) Linking() (step func(name string)) {
	r.watched.link = r.Phase("link", "")
	return r.watched.link.Step
}

// EndLink ends the phase that Linking began, for results that are not those of Linked.
func (r *Run) EndLink(text string) {
	r.watched.link.stop()
	r.watched.link.record(text)
}

// Linked ends the phase that linked against base, which may be nil.
func (r *Run) Linked(result *link.Result, base *btf.Blob) error {
	p := r.watched.link
	p.stop()
	text, err := r.countLinked(result, base)
	if err == nil {
		p.record(text)
	}
	return err
}
