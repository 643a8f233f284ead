package random

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// result is what one way to the BTF gave.
type result struct {
	way   string
	bytes []byte
}

// sameBytes is an error that tells how the types differ unless all results are the same bytes.
func sameBytes(all ...result) error {
	for _, r := range all[1:] {
		if !bytes.Equal(r.bytes, all[0].bytes) {
			return fmt.Errorf("%s and %s give other bytes (%d and %d)\n%s", all[0].way, r.way,
				len(all[0].bytes),
				len(r.bytes), difference(all[0], r))
		}
	}
	return nil
}

// expectOneShot wants bytes to be those of btfgen elf.
func (b *Build) expectOneShot(way string, do func() ([]byte, error)) error {
	name, err := b.OneShot()
	if err != nil {
		return err
	}
	want, err := b.read(name)
	if err != nil {
		return err
	}
	return b.expect(result{"btfgen elf", want}, way, do)
}

// expectGraph checks that bytes are those of the link of the objects.
func (b *Build) expectGraph(way string, do func() ([]byte, error)) error {
	objects, err := b.BTFObjects()
	if err != nil {
		return err
	}
	want, err := b.LinkBTF(1, objects)
	if err != nil {
		return err
	}
	return b.expect(result{"btfdedup link of the objects", want}, way, do)
}

func (b *Build) expect(want result, way string, do func() ([]byte, error)) error {
	have, err := do()
	if err != nil {
		return err
	}
	same := sameBytes
	if loses, err := b.losesScopes(); err != nil {
		return err
	} else if loses {
		same = sameNames
	}
	return same(want, result{way, have})
}

// checkJobs: -j and the schedule of the threads don't show, neither in BTF nor in the lists of the
// functions that are left out.
func checkJobs(b *Build) error {
	objects, err := b.BTFObjects()
	if err != nil {
		return err
	}
	facts, err := b.Facts()
	if err != nil {
		return err
	}
	const skipped = "jobs.skipped"
	verbs := map[string][]string{
		"elf":    {b.Tools.Btfgen, "elf", "linked", "--skipped", skipped},
		"object": {b.Tools.Btfgen, "object", "linked"},
		"merge":  append([]string{b.Tools.Btfdedup, "merge"}, objects...),
		"link": append([]string{b.Tools.Btfdedup, "link", "--facts", facts, "--skipped", skipped},
			objects...),
	}
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		var all, lists []result
		for i := range b.Runs {
			j := "-j" + strconv.Itoa([]int{1, 8, 2}[i%3])
			if err := b.write(skipped, nil); err != nil {
				return err
			}
			out := b.temporary("")
			if _, err := run(b.Dir, append(slices.Clone(verbs[verb]), j, "-o", out)...); err != nil {
				return err
			}
			have, err := b.results(fmt.Sprintf("%s, run %d with %s", verb, i, j), out, skipped)
			if err != nil {
				return err
			}
			all, lists = append(all, have[0]), append(lists, have[1])
			if err := sameLines(lists[0], have[1]); err != nil {
				return err
			}
		}
		if err := sameBytes(all...); err != nil {
			return err
		}
	}
	return nil
}

func shuffled(r *rand.Rand, in []string) []string {
	out := append([]string{}, in...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// merged is the BTF object of others.
func (b *Build) merged(in ...string) (string, error) {
	out := b.temporary(".btfo")
	return out, b.btfdedup(append([]string{"merge", "-o", out}, in...)...)
}

// checkMerge: any order and tree of merges gives the same object and the same BTF.
func checkMerge(b *Build) error {
	objects, err := b.BTFObjects()
	if err != nil {
		return err
	}
	r := b.random(1)
	var merges, links []result
	for i := range max(4, b.Runs/4) {
		tree, how, err := b.mergeTree(r, objects)
		if err != nil {
			return err
		}
		data, err := b.LinkBTF(2, tree)
		if err != nil {
			return err
		}
		links = append(links, result{fmt.Sprintf("link of %s", how), data})
		all, err := b.merged(shuffled(r, tree)...)
		if err != nil {
			return err
		}
		if data, err = b.read(all); err != nil {
			return err
		}
		merges = append(merges, result{fmt.Sprintf("merge %d of %s", i, how), data})
	}
	if err := sameBytes(merges...); err != nil {
		return err
	}
	return b.expectGraph(links[0].way, func() ([]byte, error) {
		return links[0].bytes, sameBytes(links...)
	})
}

// mergeTree merges objects in random groups, which may be of one, once or twice. It tells how.
func (b *Build) mergeTree(r *rand.Rand, objects []string) (level []string, how string, err error) {
	level = shuffled(r, objects)
	names := append([]string{}, level...)
	for range 1 + r.IntN(2) {
		var above, aboveNames []string
		for len(level) > 0 {
			size := 1 + r.IntN(len(level))
			if size == 1 && r.IntN(2) == 0 {
				above, aboveNames = append(above, level[0]), append(aboveNames, names[0])
			} else {
				one, err := b.merged(level[:size]...)
				if err != nil {
					return nil, "", err
				}
				above = append(above, one)
				aboveNames = append(aboveNames, "merge("+strings.Join(names[:size], " ")+")")
			}
			level, names = level[size:], names[size:]
		}
		level, names = above, aboveNames
	}
	return level, strings.Join(names, " "), nil
}

// checkRelink: linking a result gives it back, from raw BTF and by way of an object.
func checkRelink(b *Build) error {
	name, err := b.OneShot()
	if err != nil {
		return err
	}
	if err := b.expectOneShot("btfdedup link of its result", func() ([]byte, error) {
		return b.make(func(out string) error { return b.btfdedup("link", "-o", out, name) })
	}); err != nil {
		return err
	}
	return b.expectOneShot("btfdedup link of the merged result", func() ([]byte, error) {
		object, err := b.merged(name)
		if err != nil {
			return nil, err
		}
		return b.make(func(out string) error { return b.btfdedup("link", "-o", out, object) })
	})
}

// checkLinked: the object of the linked file is what those of its objects are.
func checkLinked(b *Build) error {
	return b.expectOneShot("btfdedup link of the linked file's object", func() ([]byte, error) {
		whole, err := b.BTFObject("linked")
		if err != nil {
			return nil, err
		}
		return b.LinkBTF(1, []string{whole})
	})
}

// checkRelocatable: ld -r of all objects is what the objects are.
func checkRelocatable(b *Build) error {
	return b.expectRelocatable("relocatable.o")
}

// checkStrings: so is a file in which each object still has its own .debug_str. The tool may say
// that it doesn't take several.
func checkStrings(b *Build) error {
	err := b.expectRelocatable("strings.o", "--unique=.debug_str")
	var failed *commandError
	if errors.As(err, &failed) && strings.Contains(failed.result.Stderr, " several .debug_str") {
		return nil
	}
	return err
}

func (b *Build) expectRelocatable(name string, flags ...string) error {
	if err := b.relocatable(name, b.Objects(), flags...); err != nil {
		return err
	}
	way := "the object of " + strings.Join(append([]string{"ld -r"}, flags...), " ")
	return b.expectGraph(way, func() ([]byte, error) {
		object, err := b.BTFObject(name)
		if err != nil {
			return nil, err
		}
		return b.LinkBTF(1, []string{object})
	})
}
