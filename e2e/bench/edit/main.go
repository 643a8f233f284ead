// Command edit makes N edited copies of the BTF in the file IN, for e2e/bench/run:
//
//	edit N IN OUT
//
// It writes OUT/1.btf to OUT/N.btf. In each copy, about one struct in fifty has two of its members
// swapped, and about one named type in a hundred is renamed. Each run makes the same files.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("edit: ")
	if len(os.Args) != 4 {
		log.Fatal("usage: edit N IN OUT")
	}
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		edited, err := edit(data, uint64(i))
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[3], fmt.Sprintf("%d.btf", i)), edited, 0o666)
		}
		if err != nil {
			log.Fatalf("%s: %v", os.Args[2], err)
		}
	}
}

func edit(data []byte, seed uint64) ([]byte, error) {
	b, err := btf.Parse(data, nil)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	strings := []byte(b.Strings)
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind == btf.KindStruct && t.Vlen > 1 && r.IntN(50) == 0 {
			list := b.MembersOf(t)
			at := r.IntN(len(list) - 1)
			list[at], list[at+1] = list[at+1], list[at]
		}
		if t.NameOff != 0 && r.IntN(100) == 0 {
			t.NameOff = uint32(len(strings))
			strings = fmt.Appendf(strings, "edited_%d_%d\x00", seed, i)
		}
	}
	b.Strings = string(strings)
	return btf.Encode(b, btf.EncodeOptions{})
}
