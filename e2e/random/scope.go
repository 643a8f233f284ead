package random

// tag is a struct, union or enum tag that a scope declares.
type tag struct {
	keyword, name string
	complete      bool
	flexible      bool // whether the type ends with a flexible array
	bits          int  // of an enum: the width of the widest bit-field
	open          bool // whether the definition is being written
	varying       bool // whether the type is of variable length
}

// alias is a typedef name that a scope declares.
type alias struct {
	name string
	to   *ctype
}

// scope has the declarations of a file, block or prototype.
type scope struct {
	outer   *scope
	tags    map[string]*tag
	aliases map[string]*alias
	names   map[string]bool // of variables, functions, enumerators and typedefs
}

func (g *generator) enter() {
	g.scope = &scope{outer: g.scope, tags: map[string]*tag{}, aliases: map[string]*alias{},
		names: map[string]bool{}}
}

func (g *generator) leave() { g.scope = g.scope.outer }

// visible returns the tag that a name means in the current scope, or nil if there is no such tag.
func (g *generator) visible(name string) *tag {
	for s := g.scope; s != nil; s = s.outer {
		if t := s.tags[name]; t != nil {
			return t
		}
	}
	return nil
}

func (g *generator) visibleAlias(name string) *alias {
	for s := g.scope; s != nil; s = s.outer {
		if a := s.aliases[name]; a != nil {
			return a
		}
	}
	return nil
}

// declareTag declares a tag in the innermost scope, unless this scope already has the tag.
func (g *generator) declareTag(keyword, name string) *tag {
	if t := g.scope.tags[name]; t != nil {
		return t
	}
	t := &tag{keyword: keyword, name: name}
	g.scope.tags[name] = t
	return t
}

// take reserves an ordinary identifier in the innermost scope, unless the scope already has it.
func (g *generator) take(name string) bool {
	if g.scope.names[name] {
		return false
	}
	g.scope.names[name] = true
	return true
}
