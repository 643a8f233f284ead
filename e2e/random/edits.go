package random

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// moved is added to a source file. It changes no type, but it moves the code that follows.
const moved = `
__asm__(".pushsection .text\n.skip 1000\n.popsection");
`

// checkEdits edits a unit without changing a type, compiles it in a different directory, and checks
// that the BTF object made from the linked file has the same bytes as before.
func checkEdits(b *Build) error {
	files := b.Program.Files()
	at := b.random(11).IntN(len(files))
	u := files[at]
	if strings.HasSuffix(u.Path, ".s") {
		return nil
	}
	const dir = "edited"
	b.write(filepath.Join(dir, u.Path), []byte("\n\n"+moved+u.Text()+"\n// more\n"))
	number := slices.Index(b.Program.Units, u)
	b.compiler(b.path(dir), append(b.Options.Command(number, u), "-o", "edited.o", u.Path)...)
	objects := b.Objects()
	objects[at] = filepath.Join(dir, "edited.o")
	linked := filepath.Join(dir, "linked")
	b.link(linked, objects)
	var results []result
	for _, file := range []string{"linked", linked} {
		results = append(results, result{"btfgen object of " + file, b.read(b.BTFObject(file))})
	}
	if err := sameBytes(results...); err != nil {
		return fmt.Errorf("%s was edited: %w", u.Path, err)
	}
	return nil
}
