package inlines

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNumbers compares the numbers of locations and protos with those from maps, which number new
// things in the order in which they are added.
func TestNumbers(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	var s Sites
	locations, protos := map[Location]uint32{}, map[string]uint32{}
	for range 20000 {
		l := Location{Size: 1 << g.IntN(4), Flags: g.Uint32N(4)}
		l.set(g.Uint32N(20), g.Uint32N(20))
		if locations[l] == 0 {
			locations[l] = uint32(len(locations)) + 1
		}
		if n := s.AddLocation(l); n != locations[l] || s.Locations[n-1] != l {
			t.Fatalf("location %s has the number %d, want %d", l.text(), n, locations[l])
		}
		var p []uint32
		for range g.IntN(4) {
			p = append(p, g.Uint32N(30))
		}
		key := fmt.Sprint(p)
		if _, ok := protos[key]; !ok {
			protos[key] = uint32(len(protos))
		}
		if n := s.AddProto(p); n != protos[key] || !slices.Equal(s.Proto(n), p) {
			t.Fatalf("proto %v has the number %d, want %d", p, n, protos[key])
		}
	}
	if len(s.Locations) != len(locations) || s.Protos() != len(protos) || len(protos) < 1000 {
		t.Errorf("%d locations, %d protos; want %d and %d", len(s.Locations), s.Protos(),
			len(locations), len(protos))
	}
}

// TestSameHash: things with the same hash are distinguished by their content, even after the table
// has grown.
func TestSameHash(t *testing.T) {
	var numbers table
	for range 2 {
		for want := range uint32(300) {
			if n, _ := numbers.find(7<<60, func(n uint32) bool { return n == want }); n != want {
				t.Fatalf("thing %d has the number %d", want, n)
			}
		}
	}
}

// TestRemembered: locations that are remembered are those that would be found again.
func TestRemembered(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	var exprs [][]byte
	for _, e := range [][]byte{{opReg0}, {opRegx}, {opReg0, opPiece}, {opBreg0, 0}, {opFbreg},
		{opBreg0, 2, opStackValue}, {opLit0 + 31, opStackValue}, {opConst1s, 0x80, opStackValue},
		{opAddrx, 0, opStackValue}, {opReg0, opPiece, 8, opReg0, opPiece, 8}, {opEntryValue, 1}} {
		exprs = append(exprs, e)
		for n := range byte(4) {
			exprs = append(exprs, append(slices.Clone(e), n))
			other := slices.Clone(e)
			other[0] += n
			other[len(other)/2] += n << 6
			exprs = append(exprs, other)
		}
	}
	var s Sites
	known := 0
	for range 20000 {
		m := machine(binary.LittleEndian, 4<<g.IntN(2))
		first := g.Uint64N(1 << 20)
		m.Addrx = func(n uint64) (uint64, bool) { return first + n, true }
		isSigned := g.IntN(2) == 0
		p := Parameter{1 << g.IntN(5), func() bool { return isSigned }}
		if g.IntN(50) == 0 {
			p.Size |= 1 << (8 * (1 + g.IntN(3)))
		}
		frame := Frame{g.IntN(2) == 0, g.Uint32N(8), g.Int64N(8)}
		expr := exprs[g.IntN(len(exprs))]
		want, reason := m.Locate(expr, p, frame)
		n, why := s.Locate(m, expr, p, frame)
		if why != reason || (n != 0) != (why == Known) || n != 0 && s.Locations[n-1] != want {
			t.Fatalf("%x, %d bytes: location %d, %v; want %s, %v", expr, p.Size, n, why, want.text(), reason)
		}
		if why == Known {
			known++
		}
	}
	if known < 2000 {
		t.Errorf("only %d locations are known", known)
	}
}
