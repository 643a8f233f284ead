package convert

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// The two units from the package documentation share one shape for each type that both contain.
func Example() {
	f, err := compileTogether(map[string]string{
		"list.h": "struct list { struct list *next; int length; };\n",
		"a.c":    "#include \"list.h\"\nint first(struct list *l) { return l->length; }\n",
		"b.c": "typedef long total;\nstatic total sum;\n#include \"list.h\"\n" +
			"void add(struct list *l) { sum += l->length; }\n",
	}, "a.c", "b.c")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	o, err := File(f, Options{Jobs: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := o.Graph
	for id, n := range g.Nodes {
		fmt.Printf("%d %s", id, kind(n.Kind))
		if name := g.Name(&n); name != "" {
			fmt.Printf(" %s", name)
		}
		for _, e := range g.ElemsOf(&n) {
			fmt.Printf(", %s: %d", g.Strs.String(e.Name), e.Ref)
		}
		if n.Ref != 0 {
			fmt.Printf(" → %d", n.Ref)
		}
		fmt.Println()
	}
	for _, u := range o.Units {
		fmt.Printf("%s: %v\n", g.Strs.String(u.File), u.Items)
	}
	// Output:
	// 0 VOID
	// 1 stub of struct list
	// 2 PTR → 1
	// 3 INT int
	// 4 STRUCT list, next: 2, length: 3
	// 5 FUNC_PROTO, l: 2 → 3
	// 6 FUNC first → 5
	// 7 INT long int
	// 8 TYPEDEF total → 7
	// 9 FUNC_PROTO, l: 2
	// 10 FUNC add → 9
	// a.c: [4 6]
	// b.c: [8 4 10]
}

func kind(k types.Kind) string {
	if k == types.KindStub {
		return "stub of struct"
	}
	return btf.Kind(k).String()
}

// compileTogether makes one object file from C files.
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
