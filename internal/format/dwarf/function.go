package dwarf

import std "debug/dwarf"

// Parameter has those attributes of a formal parameter that are needed to convert the function.
type Parameter struct {
	Off uint32
	// this is not a parameter but "..." (DW_TAG_unspecified_parameters)
	Varying    bool
	ConstValue bool
	Name       Value
	Type       Value
	Origin     Value
	Location   Value
}

// Function has the children of a function or function type, read in one pass.
type Function struct {
	Parameters []Parameter
	Declares   bool   // it contains definitions of types or functions, or imports
	Annotated  bool   // the function or a parameter may have annotations
	End        uint32 // the offset after the children

	of uint32 // offset of the function's entry; 0: none
}

// recentFunctions are the latest results of Function.
type recentFunctions struct {
	functions [2]Function // the last two results
	latest    uint8       // the index of the last result
	scratch   DIE         // for a parameter
}

// Function reads the children of the function or function type e. The last two results are cached,
// because they are often needed again. A result is valid until two other functions have been read.
//
// Function is for the loops of the conversion. It is faster than Children.
func (r *Reader) Function(e *DIE) (*Function, error) {
	for range r.functions {
		if f := &r.functions[r.latest]; f.of == e.Off {
			return f, nil
		}
		r.latest ^= 1
	}
	r.latest ^= 1
	f := &r.functions[r.latest]
	*f = Function{Parameters: f.Parameters[:0], Annotated: e.Has(Annotation), End: e.Next}
	if e.Children {
		if err := r.readChildren(f); err != nil {
			return nil, err
		}
	}
	f.of = e.Off
	return f, nil
}

// readChildren reads f's children from f.End on, also in blocks.
func (r *Reader) readChildren(f *Function) (err error) {
	off, depth := f.End, 1
	for depth > 0 {
		how := SkipLocal
		if depth == 1 {
			how = skipToParameter
		}
		next, deeper := r.Skip(off, how)
		off, depth = next, depth+deeper
		parameters := depth == 1 // deeper entries are not parameters of the function
		b, p, at := r.planned(off)
		switch {
		case b != nil && b[0] == 0:
			r.work--
			off++
			depth--
		case parameters && p.walk&planStop != 0 && std.Tag(p.tag) != std.TagInlinedSubroutine:
			off, err = r.readParameter(f, off)
		// an entry whose children are skipped one by one: it has no DW_AT_sibling
		case p.walk&(planIdle|planChildren|planEnter|planLead) == planIdle|planChildren &&
			p.varying == 0 && p.sibling == 0:
			off, err = r.afterList(at + uint32(p.size))
		default:
			off, deeper, err = r.readChild(f, off, parameters)
			depth += deeper
		}
		if err != nil {
			return err
		}
	}
	f.End = off
	return nil
}

// readChild reads a child of a function or of one of its blocks. next is the offset of the entry to
// read next; deeper is the level of that entry relative to the child's.
func (r *Reader) readChild(f *Function, off uint32, parameters bool) (next uint32, deeper int,
	err error) {
	e, err := r.Peek(off)
	if err != nil {
		return 0, 0, err
	}
	if e.Abbrev == nil {
		return e.Next, -1, nil
	}
	switch e.Abbrev.Tag {
	case std.TagFormalParameter, std.TagUnspecifiedParameters, TagLLVMAnnotation:
		if parameters {
			next, err = r.readParameter(f, off)
			return next, 0, err
		}
	}
	f.Declares = f.Declares || e.Abbrev.Declares()
	if e.Abbrev.Encloses {
		return e.Next, 1, nil
	}
	next, err = r.After(e)
	return next, 0, err
}

// Declares reports whether the entries are definitions of types or functions, or imports.
func (a *Abbrev) Declares() bool {
	switch a.Tag {
	case std.TagSubprogram, std.TagNamespace, std.TagModule, std.TagImportedUnit:
		return !a.has(Declaration)
	}
	return a.definition
}

// readParameter reads the entry at offset off: a parameter, which it adds to f, or an annotation of
// the function. It returns the offset after that entry.
func (r *Reader) readParameter(f *Function, off uint32) (uint32, error) {
	e := &r.scratch
	if err := r.Read(off, e); err != nil {
		return 0, err
	}
	if e.Tag == TagLLVMAnnotation {
		f.Annotated = true
		return r.afterDIE(e)
	}
	if e.Children || e.Has(Annotation) {
		f.Annotated = true
	}
	f.Parameters = append(f.Parameters, Parameter{
		Off: off, Varying: e.Tag == std.TagUnspecifiedParameters, ConstValue: e.Has(ConstValue),
		Name: e.Value(Name), Type: e.Value(Type), Origin: e.Value(Origin), Location: e.Value(Location),
	})
	return r.afterDIE(e)
}
