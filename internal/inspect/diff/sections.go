package diff

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// sectionsOf returns the sections of a blob by variable. Variables whose name repeats have none,
// because it isn't known which one is which.
func (c *comparison) sectionsOf(b *btf.Blob) map[string]string {
	if found, ok := c.work.sections[b]; ok {
		return found
	}
	found := map[string]string{}
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindDatasec {
			continue
		}
		for _, e := range b.SecinfosOf(t) {
			v, in := b.ByID(e.Type)
			if v == nil {
				continue
			}
			name := in.TypeName(v)
			if _, repeats := found[name]; repeats || name == "" {
				found[name] = ""
				continue
			}
			found[name] = b.TypeName(t)
		}
	}
	c.work.sections[b] = found
	return found
}

// hasSection reports whether a blob has a section of this name that isn't empty.
func (c *comparison) hasSection(b *btf.Blob, name string) bool {
	for _, section := range c.sectionsOf(b) {
		if section == name {
			return true
		}
	}
	return false
}

// changedSection lists that a variable that is only in one of the sections a and b is in another
// section on the other side. It returns false if the other side doesn't have the variable. If both
// sides have both sections, the change is listed only for the section that has lost the variable.
// Rule: diff: a variable in a different section.
func (w *walker) changedSection(a, b uint32, s spot, name string) bool {
	x, y := w.nodes[a].blob, w.nodes[b].blob
	from, to := w.sectionsOf(x)[name], w.sectionsOf(y)[name]
	if from == "" || to == "" {
		return false
	}
	resized := w.nodes[a].typ.SizeOrType != w.nodes[b].typ.SizeOrType
	if to == w.name(b) && resized && w.hasSection(y, from) {
		return true // the size of the section says that it has changed
	}
	w.put(Change{Kind: Section, Where: joinPath(s.where, "entry "+orAnon(name)),
		Before: &State{Text: message.Printable(from)}, After: &State{Text: message.Printable(to)}}, true)
	return true
}
