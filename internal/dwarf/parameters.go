package dwarf

import std "debug/dwarf"

// Parameter is what the entry of a formal parameter says as far as its function goes.
type Parameter struct {
	Off        uint32
	Varying    bool // no parameter, but the end of a varying list of them (DW_TAG_unspecified_parameters)
	ConstValue bool
	Name       Attr
	Type       Attr
	Origin     Attr
	Location   Attr
}

// Function is the list of the children of a function or function type.
type Function struct {
	Parameters []Parameter
	// Rest is the first child that may declare something that is encoded, or hold it, but for parameters; 0 if there is none.
	Rest uint32
	End  uint32 // of what follows the children

	of uint32 // the function's entry; 0: none
}

// Function lists the children of the function or function type e. The last two lists are remembered, for they are asked
// for again; a list is good until two others have been asked for.
func (r *Reader) Function(e *DIE) (Function, error) {
	f := &r.functions
	if f[0].of == e.Off {
		return f[0], nil
	}
	f[0], f[1] = f[1], f[0]
	if f[0].of == e.Off {
		return f[0], nil
	}
	f[0] = Function{Parameters: f[0].Parameters[:0], End: e.Next}
	if e.Children {
		if err := r.list(&f[0], e.Next); err != nil {
			return Function{}, err
		}
	}
	f[0].of = e.Off
	return f[0], nil
}

// list takes the list of children that begins at off.
func (r *Reader) list(f *Function, off uint32) error {
	over := planNothing | planLocal
	for {
		k, err := r.Peek(r.skip(off, over, planParam))
		switch {
		case err != nil:
			return err
		case k.Abbrev == nil:
			f.End = k.Next
			return nil
		case k.Abbrev.Tag == std.TagFormalParameter || k.Abbrev.Tag == std.TagUnspecifiedParameters:
			if err := r.parameter(f, k.Off); err != nil {
				return err
			}
		case f.Rest == 0:
			f.Rest, over = k.Off, planSized
		}
		if off, err = r.Behind(k); err != nil {
			return err
		}
	}
}

// parameter adds the parameter at off.
func (r *Reader) parameter(f *Function, off uint32) error {
	e := &r.scratch
	if err := r.Read(off, e); err != nil {
		return err
	}
	f.Parameters = append(f.Parameters, Parameter{
		Off: off, Varying: e.Tag == std.TagUnspecifiedParameters, ConstValue: e.Has(ConstValue),
		Name: e.Attr(Name), Type: e.Attr(Type), Origin: e.Attr(Origin), Location: e.Attr(Location),
	})
	return nil
}
