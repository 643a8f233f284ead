package inlines

import (
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
