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
	source := "\n\n" + moved + u.Text() + "\n// more\n"
	linked, _ := b.variant("edited", at, source)
	var results []result
	for _, file := range []string{"linked", linked} {
		results = append(results, result{"btfgen object of " + file, b.read(b.BTFObject(file))})
	}
	if err := sameBytes(results...); err != nil {
		return fmt.Errorf("%s was edited: %w", u.Path, err)
	}
	return nil
}

// variant compiles a different source for unit at, in a different directory and with additional
// flags. It links the program with the result. It returns the names of the linked file and of its
// object files.
func (b *Build) variant(dir string, at int, source string, flags ...string) (
	linked string, objects []string,
) {
	u := b.Program.Files()[at]
	b.write(filepath.Join(dir, u.Path), []byte(source))
	argv := append(b.Options.Command(slices.Index(b.Program.Units, u), u), flags...)
	b.compiler(b.path(dir), append(argv, "-o", "variant.o", u.Path)...)
	objects = b.Objects()
	objects[at] = filepath.Join(dir, "variant.o")
	linked = filepath.Join(dir, "linked")
	b.link(linked, objects)
	return linked, objects
}
