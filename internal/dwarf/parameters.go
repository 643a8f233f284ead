package dwarf

import std "debug/dwarf"

// parameterList remembers the parameters of a function.
type parameterList struct {
	of   uint32 // the function's entry; 0: none
	list []Peeked
}

// Parameters lists the entries of the parameters of the function or function type e, and of the end of a varying list
// of them. Those of the last functions are remembered, for they are asked for again. The list is good until those of
// two others have been asked for.
func (r *Reader) Parameters(e *DIE) ([]Peeked, error) {
	if !e.Children {
		return nil, nil
	}
	for i := range r.parameters {
		if p := &r.parameters[i]; p.of == e.Off {
			return p.list, nil
		}
	}
	r.parameters[0], r.parameters[1] = r.parameters[1], r.parameters[0]
	p := &r.parameters[0]
	p.of, p.list = 0, p.list[:0]
	for off := e.Next; ; {
		k, err := r.Peek(r.skip(off, planSized, planParam))
		if err != nil {
			return nil, err
		}
		if k.Abbrev == nil {
			break
		}
		if k.Abbrev.Tag == std.TagFormalParameter || k.Abbrev.Tag == std.TagUnspecifiedParameters {
			p.list = append(p.list, k)
		}
		if off, err = r.Behind(k); err != nil {
			return nil, err
		}
	}
	p.of = e.Off
	return p.list, nil
}
