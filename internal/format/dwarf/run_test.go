package dwarf

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestShortRuns compares the two ways to read a run, on random declarations and bytes.
func TestShortRuns(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	attrs := []uint64{0x02, 0x03, 0x0b, 0x0d, 0x11, 0x1c, 0x2f, 0x38, 0x3a, 0x3c, 0x49, 0x6b}
	forms := []uint64{formAddr, formData1, formData2, formData4, formData8, formData16,
		formFlagPresent, formImplicit, formRef4, formRefSup8, formSecOffset, formStrp, formStrx3}
	read, longest := 0, int32(0)
	for range 10_000 {
		var specs []attrSpec
		for range 1 + r.IntN(16) {
			specs = append(specs, attrSpec{attr: attrs[r.IntN(len(attrs))],
				form: forms[r.IntN(len(forms))]})
			if last := &specs[len(specs)-1]; last.form == formImplicit {
				last.imm = r.Int64() - r.Int64()
			}
		}
		var b window
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f := format{version: 5, offSize: 4 << r.IntN(2), addrSize: 1 << r.IntN(4)}
		reader := Reader{D: &Data{Order: binary.LittleEndian}, little: true, f: f}
		run := &splitRuns(specs, f)[0]
		if run.size > shortRun {
			continue
		}
		var short, plain DIE
		run.readShort(&short, &b)
		reader.readRun(&plain, run, b[:run.size])
		if short != plain {
			t.Fatalf("%+v, bytes % x: got %+v, want %+v", run, b, short, plain)
		}
		read += len(run.wanted)
		longest = max(longest, run.size)
	}
	if read < 10_000 || longest < shortRun {
		t.Errorf("only %d attributes, and at most %d bytes, were read", read, longest)
	}
}
