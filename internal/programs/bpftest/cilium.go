package bpftest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Cilium returns the answers of cilium/ebpf, which resolves each relocation separately.
func Cilium(t testing.TB, object, vmlinux []byte, modules ...[]byte) Answers {
	t.Helper()
	spec := must.Get(ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object)))(t)
	base := must.Get(btf.LoadSpecFromReader(bytes.NewReader(vmlinux)))(t)
	targets := []*btf.Spec{base}
	for _, m := range modules {
		s := must.Get(btf.LoadSplitSpecFromReader(bytes.NewReader(m), base))(t)
		targets = append(targets, s)
	}
	answers := Answers{}
	for name, p := range spec.Programs {
		for iter := p.Instructions.Iterate(); iter.Next(); {
			r := btf.CORERelocationMetadata(iter.Ins)
			if r == nil {
				continue
			}
			fixups, err := btf.CORERelocate([]*btf.CORERelocation{r}, targets, spec.ByteOrder,
				spec.Types.TypeID)
			text := Refused
			if err == nil {
				_, text, _ = strings.Cut(fixups[0].String(), "=")
				if _, target, ok := strings.Cut(text, "->"); ok {
					text = target
				}
			}
			answers[Site{name, int(iter.Offset)}] = text
		}
	}
	return answers
}
