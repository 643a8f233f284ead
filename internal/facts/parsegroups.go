package facts

import (
	"cmp"
	"fmt"
	"slices"
)

// groups reads what follows the line "global".
func (p *parser) groups() error {
	for {
		if err := p.next(); err != nil {
			return err
		}
		var err error
		switch p.keyword() {
		case lineFunc:
			err = p.function()
		case lineVar:
			err = p.variable()
		case lineFile:
			if err = p.closeGroup(); err == nil {
				err = p.openFile()
			}
		case lineEnd:
			if err = p.closeGroup(); err != nil {
				return err
			}
			if err = p.arity(0); err != nil {
				return err
			}
			return p.finish()
		default:
			err = fmt.Errorf("%q where %q, %q, %q or %q is due", clip(p.keyword()), lineFunc, lineVar,
				lineFile, lineEnd)
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) openFile() error {
	if err := p.arity(1); err != nil {
		return err
	}
	name, err := p.name(1)
	if err != nil {
		return err
	}
	p.facts.Files = append(p.facts.Files, File{Name: name})
	p.last++
	return nil
}

// closeGroup checks the group that ends against the one before it.
func (p *parser) closeGroup() error {
	if p.last >= 0 {
		f := &p.facts.Files[p.last]
		if len(f.Funcs) == 0 && len(p.objects) == 0 {
			return fmt.Errorf("the %q before this line has neither functions nor variables", lineFile)
		}
		if p.last > 0 && cmp.Or(compareFiles(&p.facts.Files[p.last-1], f),
			slices.CompareFunc(p.before, p.objects, compareObjects)) > 0 {
			return fmt.Errorf("the %q before this line should stand before the one that precedes it",
				lineFile)
		}
	}
	p.before, p.objects = p.objects, p.before[:0]
	return nil
}

func (p *parser) function() error {
	if err := p.arity(1); err != nil {
		return err
	}
	name, err := p.name(1)
	if err != nil {
		return err
	}
	list := &p.facts.Globals
	if p.last >= 0 {
		list = &p.facts.Files[p.last].Funcs
	}
	if n := len(*list); len(p.objects) > 0 || n > 0 && (*list)[n-1] > name {
		return p.outOfOrder()
	}
	*list = append(*list, name)
	return nil
}

func (p *parser) variable() (err error) {
	o := Object{Local: p.last >= 0}
	if o.Local && len(p.words) == 6 {
		if o.Definition, err = p.hash(5); err != nil {
			return err
		}
	} else if err := p.arity(4); err != nil {
		return err
	}
	if o.Name, err = p.name(1); err != nil {
		return err
	}
	if o.Section, err = p.name(2); err != nil {
		return err
	}
	if o.Offset, err = p.uint(3, 64); err != nil {
		return err
	}
	if o.Size, err = p.uint(4, 64); err != nil {
		return err
	}
	if p.facts.Variables == VariablesNone {
		return fmt.Errorf("a variable although variables are %q", VariablesNone)
	}
	if n := len(p.objects); n > 0 && compareObjects(p.objects[n-1], o) > 0 {
		return p.outOfOrder()
	}
	p.objects = append(p.objects, o)
	o.File = p.last
	p.facts.Objects = append(p.facts.Objects, o)
	return nil
}
