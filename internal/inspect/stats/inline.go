package stats

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Inline counts the sites where functions were inlined.
type Inline struct {
	Sites      uint64 `json:"sites"`
	Functions  int    `json:"functions"`
	Parameters uint64 `json:"parameters"` // at all sites
	Known      uint64 `json:"known"`      // parameters whose location is known
}

// countSites counts the sites in b's own LOCSECs. It returns nil if there are no LOCSECs.
func countSites(b *btf.Blob) *Inline {
	var n *Inline
	functions := map[uint32]bool{}
	protos := map[uint32][2]uint64{} // by LOC_PROTO: the numbers of parameters and of known ones
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindLocsec {
			continue
		}
		if n == nil {
			n = &Inline{}
		}
		n.Sites += uint64(t.Vlen)
		for _, s := range b.SitesOf(t) {
			functions[s.Func] = true
			params, ok := protos[s.LocProto]
			if !ok {
				params = countParams(b, s.LocProto)
				protos[s.LocProto] = params
			}
			n.Parameters += params[0]
			n.Known += params[1]
		}
		n.Functions = len(functions)
	}
	return n
}

func countParams(b *btf.Blob, proto uint32) (n [2]uint64) {
	t, in := b.ByID(proto)
	if t == nil || t.Kind != btf.KindLocProto {
		return n
	}
	for _, id := range in.WordsOf(t) {
		n[0]++
		if id != 0 {
			n[1]++
		}
	}
	return n
}

func (n *Inline) text() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s; the locations of %d of %s are known\n",
		message.Count(n.Sites, "site"), message.Count(n.Functions, "inlined function"), n.Known,
		message.Count(n.Parameters, "parameter"))
}
