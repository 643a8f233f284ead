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
	seen := map[types.ID]bool{}
	for _, u := range o.Units {
		fmt.Printf("%s:\n", o.Graph.Strs.String(u.File))
		for _, id := range u.Items {
			n := o.Graph.Node(id)
			fmt.Printf("  %v %s", btf.Kind(n.Kind), o.Graph.Name(n))
			if seen[id] {
				fmt.Print(", the same node")
			}
			fmt.Println()
			seen[id] = true
		}
	}
	// Output:
	// a.c:
	//   STRUCT list
	//   FUNC first
	// b.c:
	//   TYPEDEF total
	//   STRUCT list, the same node
	//   FUNC add
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
