package random

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxShards is how many files btfgen split makes, at most.
const maxShards = 8

// checkShardFiles: what btfgen split makes of the program, and of an archive of its objects, are
// together what these are.
func checkShardFiles(b *Build) error {
	r := b.random(10)
	counts := []int{1, 2 + r.IntN(maxShards-1)}
	const archive = "objects.a"
	os.Remove(b.path(archive))
	flags := []string{"crD", "crDT"}[r.IntN(2)]
	if _, err := run(b.Dir, append([]string{"ar", flags, archive}, b.Objects()...)...); err != nil {
		return err
	}
	for _, input := range []string{"linked", archive} {
		whole, err := b.BTFObject(input)
		if err != nil {
			return err
		}
		want, err := b.read(whole)
		if err != nil {
			return err
		}
		results := []result{{"btfgen object of " + input, want}}
		for _, n := range counts {
			objects, err := b.shardObjects(input, n)
			if err != nil {
				return err
			}
			all, err := b.merged(shuffled(r, objects)...)
			if err != nil {
				return err
			}
			data, err := b.read(all)
			if err != nil {
				return err
			}
			results = append(results,
				result{fmt.Sprintf("what btfgen split makes %d files of", n), data})
			if input != "linked" {
				continue
			}
			if err := b.expectOneShot(fmt.Sprintf("btfdedup link of %d shards' objects", n),
				func() ([]byte, error) { return b.LinkBTF(2, objects) }); err != nil {
				return err
			}
		}
		if err := sameBytes(results...); err != nil {
			return err
		}
	}
	return nil
}

// shards are the files that btfgen split makes of a file.
func (b *Build) shards(input string, n int) ([]string, error) {
	var files []string
	args := []string{"split", input}
	for range n {
		files = append(files, b.temporary(".shard"))
		args = append(args, "-o", files[len(files)-1])
	}
	return files, b.btfgen(args...)
}

// shardObjects are their BTF objects.
func (b *Build) shardObjects(input string, n int) ([]string, error) {
	files, err := b.shards(input, n)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, file := range files {
		o, err := b.BTFObject(file)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// edit is one of a source file, and how many shards it changes.
type edit struct {
	what          string
	before, after string // are added to the text
	changes       int
}

var edits = []edit{
	{"new lines", "\n\n", "\n// more\n", 0},
	{"a new function", "", `
struct edited_struct { char text[40]; };
int edited_function(struct edited_struct *p)
{ int sum = 0; for (unsigned i = 0; i < sizeof p->text; i++) sum += p->text[i]; return sum; }
`, 1},
}

// checkEdits: after an edit of a unit, in another directory, no shard has changed but the unit's.
// The result is again that of the linked file.
func checkEdits(b *Build) error {
	r := b.random(11)
	n := 2 + r.IntN(maxShards-1)
	before, err := b.shards("linked", n)
	if err != nil {
		return err
	}
	files := b.Program.Files()
	at := r.IntN(len(files))
	u := files[at]
	if strings.HasSuffix(u.Path, ".s") {
		return nil
	}
	for i, e := range edits {
		dir := fmt.Sprintf("edited%d", i)
		if err := b.write(filepath.Join(dir, u.Path), []byte(e.before+u.Text()+e.after)); err != nil {
			return err
		}
		argv := append(b.Options.Command(b.indexOf(u), u), "-o", "edited.o", u.Path)
		if _, err := run(b.path(dir), argv...); err != nil {
			return notBuilt{err}
		}
		objects := append([]string{}, b.Objects()...)
		objects[at] = filepath.Join(dir, "edited.o")
		linked := filepath.Join(dir, "linked")
		if err := b.link(linked, objects); err != nil {
			return err
		}
		after, err := b.shards(linked, n)
		if err != nil {
			return err
		}
		var changed []string
		for i := range before {
			x, err := b.read(before[i])
			if err != nil {
				return err
			}
			y, err := b.read(after[i])
			if err != nil {
				return err
			}
			if !bytes.Equal(x, y) {
				changed = append(changed, before[i]+" and "+after[i])
			}
		}
		if len(changed) != e.changes {
			return fmt.Errorf("%s in %s: %d of %d shards differ, not %d: %s", e.what, u.Path, len(changed),
				n, e.changes, strings.Join(changed, ", "))
		}
		if err := b.sameLinked(linked, after); err != nil {
			return fmt.Errorf("%s in %s: %w", e.what, u.Path, err)
		}
	}
	return nil
}

// indexOf is the number of a unit among all.
func (b *Build) indexOf(u *Unit) int {
	for i, other := range b.Program.Units {
		if other == u {
			return i
		}
	}
	return -1
}

// sameLinked: btfgen elf of a linked file is what its shards are.
func (b *Build) sameLinked(linked string, shards []string) error {
	facts, elf, link := b.temporary(".facts"), b.temporary(".btf"), b.temporary(".btf")
	if err := b.btfgen("facts", "-o", facts, linked); err != nil {
		return err
	}
	if err := b.btfgen("elf", "-o", elf, linked); err != nil {
		return err
	}
	args := []string{"link", "--facts", facts, "-o", link}
	for _, s := range shards {
		o, err := b.BTFObject(s)
		if err != nil {
			return err
		}
		args = append(args, o)
	}
	if err := b.btfdedup(args...); err != nil {
		return err
	}
	want, err := b.read(elf)
	if err != nil {
		return err
	}
	got, err := b.read(link)
	if err != nil {
		return err
	}
	return sameBytes(result{"btfgen elf", want}, result{"btfdedup link of the shards", got})
}
