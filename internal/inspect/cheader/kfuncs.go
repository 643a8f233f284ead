package cheader

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Declaration tags with which pahole marks kfuncs.
const (
	tagKfunc    = "bpf_kfunc"
	tagFastcall = "bpf_fastcall"
)

// kfuncs writes prototypes of the kfuncs, sorted by name.
func (g *generator) kfuncs() {
	if g.err != nil {
		return
	}
	g.str("\n/* BPF kfuncs */\n#ifndef BPF_NO_KFUNC_PROTOTYPES\n")
	tagged := g.taggedFunctions()
	var ids []uint32
	for id, tags := range tagged {
		if tags.kfunc {
			ids = append(ids, id)
		}
	}
	name := func(id uint32) string {
		t, _ := g.blob.ByID(id)
		return g.blob.TypeName(t)
	}
	slices.SortFunc(ids, func(x, y uint32) int {
		return cmp.Or(strings.Compare(name(x), name(y)), cmp.Compare(x, y))
	})
	known := map[string]string{}
	for _, id := range ids {
		g.oneFunction(id, tagged[id], known)
	}
	g.str("#endif\n\n")
}

// functionTags says which of the declaration tags for kfuncs a function has.
type functionTags struct{ kfunc, fastcall bool }

func (g *generator) taggedFunctions() map[uint32]functionTags {
	tagged := map[uint32]functionTags{}
	for _, t := range g.blob.All() {
		if t.Kind != btf.KindDeclTag || t.Extra != btf.DeclTagWhole {
			continue
		}
		if f, _ := g.blob.ByID(t.SizeOrType); f == nil || f.Kind != btf.KindFunc {
			continue
		}
		tags := tagged[t.SizeOrType]
		switch g.blob.TypeName(t) {
		case tagKfunc:
			tags.kfunc = true
		case tagFastcall:
			tags.fastcall = true
		}
		tagged[t.SizeOrType] = tags
	}
	return tagged
}

func (g *generator) externs(roots []uint32) {
	var tagged map[uint32]functionTags
	known := map[string]string{}
	for _, id := range roots {
		t, _ := g.blob.ByID(id)
		switch t.Kind {
		case btf.KindFunc:
			if tagged == nil {
				tagged = g.taggedFunctions()
			}
			g.oneFunction(id, tagged[id], known)
		case btf.KindVar:
			g.dump(t.SizeOrType)
			g.emitFor(t.SizeOrType)
			g.extern("extern ", t.SizeOrType, g.blob.TypeName(t), ";\n", known)
		}
	}
	if len(known) > 0 {
		g.str("\n")
	}
}

// oneFunction declares one function, after the types that it needs.
func (g *generator) oneFunction(id uint32, tags functionTags, known map[string]string) {
	t, _ := g.blob.ByID(id)
	g.dump(t.SizeOrType)
	g.emitFor(t.SizeOrType)
	before, after := "extern ", ";\n"
	if tags.fastcall {
		before += "__bpf_fastcall "
	}
	if tags.kfunc {
		after = " __weak __ksym;\n"
	}
	g.extern(before, t.SizeOrType, g.blob.TypeName(t), after, known)
}

// emitFor writes the forward declarations that a type needs outside of definitions.
func (g *generator) emitFor(id uint32) {
	if g.err == nil {
		g.emit(id, ^uint32(0))
	}
}

// extern writes a declaration or, if C doesn't allow the name or the name is taken, a comment.
func (g *generator) extern(before string, id uint32, name, after string, known map[string]string) {
	if g.err != nil || name == "" {
		return
	}
	from := len(g.out)
	g.str(before)
	g.sized = false
	g.declare(id, g.names.identifier(name), 0)
	g.str(after)
	text := string(g.out[from:])
	other, again := known[name]
	switch {
	case identifier(name) != name || keywordsC23[name] || g.names.words.count[name] > 0:
		g.out = append(g.out[:from], "/* "+identifier(name)+": C can't declare this name here */\n"...)
	case again && other != text:
		g.out = append(g.out[:from], "/* "+name+": another function has this name */\n"...)
	default:
		known[name] = text
	}
}
