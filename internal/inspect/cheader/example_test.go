package cheader_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
)

// ExampleWrite writes a struct whose second member is not where compilers put it by default. The
// text has the padding and the attribute that move it there.
func ExampleWrite() {
	b := btf.NewBuilder(nil, nil, nil)
	long := b.Int("long int", 8, btf.IntSigned, 0)
	char := b.Int("char", 1, btf.IntSigned, 0)
	name := b.Ref(btf.KindPtr, "", char)
	packet := b.Composite(btf.KindStruct, "packet", 24, false,
		btf.Member{NameOff: b.Name("flag"), Type: char},
		btf.Member{NameOff: b.Name("size"), Type: long, Offset: 4 * 8},
		btf.Member{NameOff: b.Name("name"), Type: name, Offset: 16 * 8})
	var header bytes.Buffer
	if err := cheader.Write(&header, b.Finish(), []uint32{packet}); err != nil {
		panic(err)
	}
	_, text, _ := strings.Cut(header.String(), "struct packet")
	text, _, _ = strings.Cut(text, "\n\n")
	fmt.Println("struct packet" + text)
	// Output:
	// struct packet {
	// 	char flag;
	// 	int: 0;
	// 	long int size;
	// 	long: 0;
	// 	char *name;
	// } __attribute__((packed));
}
