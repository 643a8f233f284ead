package archive

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// layer is a parsed file of an archive, with its base. A nil layer has no types.
type layer struct {
	File
	blob *btf.Blob
	on   *layer
	tags map[tag]bool // the tags that the blob defines; nil before findTags
}

// tag is the name of a struct, union or enum, with its namespace.
type tag struct {
	space types.Tag
	name  string
}

// newLayer parses and checks raw BTF that is based on another layer.
func newLayer(name string, raw []byte, on *layer, rules verify.Options) (*layer, error) {
	b, err := btf.Parse(raw, on.base())
	if err != nil {
		return nil, err
	}
	if SitesOf(name) != "" {
		rules = verify.OfSites(rules)
	}
	if err := verify.Rejected(b, rules); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &layer{
		File: File{
			Name: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(raw)), Bases: on.chain(),
			StartID: b.StartID, StringOffset: b.BaseStrLen, Types: len(b.Types),
		},
		blob: b, on: on,
	}, nil
}

// base returns the BTF of the layer, or nil for a nil layer.
func (l *layer) base() *btf.Blob {
	if l == nil {
		return nil
	}
	return l.blob
}

// chain lists the bases of the layer and the layer itself, the deepest base first.
func (l *layer) chain() []Base {
	if l == nil {
		return []Base{}
	}
	return append(l.on.chain(), Base{l.Name, l.SHA256})
}

// countConflicts counts the tags that the layer defines more than once, and those that a base also
// defines. findTags must have been called for the bases.
func (l *layer) countConflicts() int {
	seen, conflicts := map[tag]bool{}, map[tag]bool{}
	for x := range l.definitions {
		if seen[x] || l.on.defines(x) {
			conflicts[x] = true
		}
		seen[x] = true
	}
	return len(conflicts)
}

func (l *layer) defines(x tag) bool { return l != nil && (l.tags[x] || l.on.defines(x)) }

func (l *layer) findTags() {
	l.tags = map[tag]bool{}
	for x := range l.definitions {
		l.tags[x] = true
	}
}

// definitions calls yield for each definition of a tag. One tag may have several definitions.
func (l *layer) definitions(yield func(tag) bool) {
	for i := range l.blob.Types {
		t := &l.blob.Types[i]
		declared := t.Kind.IsEnum() && t.Vlen == 0
		if !t.Kind.IsComposite() && !t.Kind.IsEnum() || t.NameOff == 0 || declared {
			continue
		}
		if !yield(tag{types.TagOf(types.Kind(t.Kind)), l.blob.TypeName(t)}) {
			return
		}
	}
}
