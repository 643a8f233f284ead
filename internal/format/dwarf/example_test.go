package dwarf

import (
	std "debug/dwarf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Two units include the same header. The struct in the header has the same fingerprint in both
// units. Another struct, which the units define differently, has two fingerprints.
func Example() {
	f, err := compileTogether(map[string]string{
		"list.h": "struct list { struct list *next; int length; };\n",
		"a.c": "#include \"list.h\"\nstruct own { int a; };\n" +
			"int first(struct list *l, struct own *o) { return l->length + o->a; }\n",
		"b.c": "typedef long total;\nstatic total sum;\n#include \"list.h\"\nstruct own { long b; };\n" +
			"void add(struct list *l, struct own *o) { sum += l->length + o->b; }\n",
	}, "a.c", "b.c")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	d, err := New(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	var r Reader
	var prints Prints
	known := map[Fingerprint]bool{}
	for i := range d.Units {
		if err := r.Load(d, &d.Units[i]); err != nil {
			fmt.Println(err)
			return
		}
		prints.Reset(&r)
		file, _ := r.String(&r.Root, Name)
		var e DIE
		for err := range r.Children(&r.Root, &e, std.TagStructType) {
			if err != nil {
				fmt.Println(err)
				return
			}
			head, _ := r.Peek(e.Off)
			fp, _, _ := prints.Entry(head)
			name, _ := r.String(&e, Name)
			fmt.Printf("%s: struct %s, %d bytes, known: %v\n", file, name, e.Val[ByteSize], known[fp])
			known[fp] = true
		}
	}
	// Output:
	// a.c: struct list, 16 bytes, known: false
	// a.c: struct own, 4 bytes, known: false
	// b.c: struct list, 16 bytes, known: true
	// b.c: struct own, 8 bytes, known: false
}

// compileTogether makes one object file from several C files.
func compileTogether(texts map[string]string, files ...string) (*elf.File, error) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("cc", append(strings.Fields("-g -O1 -nostdlib -r -o all.o"), files...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w\n%s", err, out)
	}
	return elf.Open(filepath.Join(dir, "all.o"))
}
