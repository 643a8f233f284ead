package link_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestBaseOfOtherMachine: a base with a different byte order or machine is refused.
func TestBaseOfOtherMachine(t *testing.T) {
	b := btf.NewBuilder(binary.BigEndian, nil, nil)
	b.Int("int", 4, btf.IntSigned, 32)
	data, err := b.Encode(btf.EncodeOptions{})
	must.OK(t, err)
	blob, err := btf.Parse(data, nil)
	must.OK(t, err)
	blob.Origin = btf.Origin{Machine: 62, AddrSize: 8}                              // EM_X86_64
	other := &object.Object{Graph: types.New(), Target: object.Target{Machine: 183, // EM_AARCH64
		AddrSize: 8, Order: binary.BigEndian}}
	on, err := base.Parse(blob)
	must.OK(t, err)
	_, err = link.WithUnits(other, link.Options{Base: on})
	const machines = "the base is for EM_X86_64, but the split BTF is for EM_AARCH64; use the BTF"
	if err == nil || !strings.Contains(err.Error(), machines) {
		t.Error(err)
	}
	raw := &object.Object{Graph: types.New(), Target: object.Target{Order: binary.BigEndian}}
	_, err = link.WithUnits(raw, link.Options{Base: on,
		Facts: &facts.Facts{Machine: 183, AddrSize: 8, BigEndian: true}})
	if err == nil || !strings.Contains(err.Error(), machines) {
		t.Error(err)
	}
	_, err = link.WithUnits(&object.Object{Graph: types.New()}, link.Options{Base: on})
	const want = "the base is BigEndian, but the split BTF is Little"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
