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

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// result is the output of one way of making BTF.
type result struct {
	way   string // a description of the way, for messages
	bytes []byte
}

// sameBytes returns an error unless all results have the same bytes. The error shows the types that
// differ.
func sameBytes(all ...result) error {
	for _, r := range all[1:] {
		if !bytes.Equal(r.bytes, all[0].bytes) {
			return fmt.Errorf("%s and %s give different bytes (%d and %d)\n%s", all[0].way, r.way,
				len(all[0].bytes), len(r.bytes), difference(all[0], r))
		}
	}
	return nil
}

func (b *Build) oneShot() result { return result{"btfgen elf", b.read(b.OneShot())} }

// expectOneShot compares BTF with the output of "btfgen elf".
func (b *Build) expectOneShot(way string, have []byte) error {
	return b.expect(b.oneShot(), result{way, have})
}

// expectGraph compares BTF with the result of linking the BTF objects.
func (b *Build) expectGraph(way string, have []byte) error {
	want := result{"btfdedup link of the BTF objects", b.LinkBTF(1, b.BTFObjects()...)}
	return b.expect(want, result{way, have})
}

func (b *Build) expect(want, have result) error {
	if b.losesScopes() {
		return sameNames(want, have)
	}
	return sameBytes(want, have)
}

// checkJobs checks that neither the BTF nor the list of skipped functions depends on -j or on the
// scheduling of the threads.
func checkJobs(b *Build) error {
	const skipped = "jobs.skipped"
	verbs := map[string][]string{
		"elf":    {b.Tools.Btfgen, "elf", "linked", "--skipped", skipped},
		"object": {b.Tools.Btfgen, "object", "linked"},
		"merge":  append([]string{b.Tools.Btfdedup, "merge"}, b.BTFObjects()...),
		"link": append([]string{b.Tools.Btfdedup, "link", "--facts", b.Facts(), "--skipped", skipped},
			b.BTFObjects()...),
	}
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		var all, lists []result
		for i := range b.Runs {
			j := "-j" + strconv.Itoa([]int{1, 8, 2}[i%3])
			b.write(skipped, nil)
			out := b.temporary("")
			harness.Check(run(b.Dir, append(slices.Clone(verbs[verb]), j, "-o", out)...))
			way := fmt.Sprintf("%s, run %d with %s", verb, i, j)
			all = append(all, result{way, b.read(out)})
			lists = append(lists, result{way, b.read(skipped)})
			harness.Check(sameLines(lists[0], lists[i]))
		}
		harness.Check(sameBytes(all...))
	}
	return nil
}

func shuffled(r *rand.Rand, in []string) []string {
	out := slices.Clone(in)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (b *Build) merged(in ...string) string {
	out := b.temporary(".btfo")
	b.btfdedup(append([]string{"merge", "-o", out}, in...)...)
	return out
}

// checkMerge checks that the order and grouping of merges affect neither the object nor the BTF.
func checkMerge(b *Build) error {
	r := b.random(1)
	var merges, links []result
	for i := range max(4, b.Runs/4) {
		tree, how := b.mergeTree(r, b.BTFObjects())
		links = append(links, result{"link of " + how, b.LinkBTF(2, tree...)})
		merges = append(merges, result{fmt.Sprintf("merge %d of %s", i, how),
			b.read(b.merged(shuffled(r, tree)...))})
	}
	harness.Check(sameBytes(merges...))
	harness.Check(sameBytes(links...))
	return b.expectGraph(links[0].way, links[0].bytes)
}

// mergeTree merges BTF objects in random groups, and may merge the results again. The result how
// describes the merges.
func (b *Build) mergeTree(r *rand.Rand, objects []string) (level []string, how string) {
	level = shuffled(r, objects)
	names := slices.Clone(level)
	for range 1 + r.IntN(2) {
		var above, aboveNames []string
		for len(level) > 0 {
			size := 1 + r.IntN(len(level))
			if size == 1 && r.IntN(2) == 0 {
				above, aboveNames = append(above, level[0]), append(aboveNames, names[0])
			} else {
				above = append(above, b.merged(level[:size]...))
				aboveNames = append(aboveNames, "merge("+strings.Join(names[:size], " ")+")")
			}
			level, names = level[size:], names[size:]
		}
		level, names = above, aboveNames
	}
	return level, strings.Join(names, " ")
}

// checkRelink checks that linking BTF again, as raw BTF or as a BTF object, doesn't change it.
func checkRelink(b *Build) error {
	name := b.OneShot()
	link := func(in string) []byte {
		return b.make(func(out string) { b.btfdedup("link", "-o", out, in) })
	}
	harness.Check(b.expectOneShot("btfdedup link of its result", link(name)))
	return b.expectOneShot("btfdedup link of the merged result", link(b.merged(name)))
}

// checkLinked checks that the linked file's BTF object gives the same BTF as "btfgen elf".
func checkLinked(b *Build) error {
	return b.expectOneShot("btfdedup link of the linked file's BTF object",
		b.LinkBTF(1, b.BTFObject("linked")))
}

// checkRelocatable checks that the output of ld -r gives the same BTF as separate object files.
func checkRelocatable(b *Build) error { return b.expectRelocatable("relocatable.o") }

// checkStrings is like checkRelocatable, but for a file in which ld -r has left one .debug_str
// section for each object file. btfgen may refuse such a file.
func checkStrings(b *Build) error {
	err := harness.Caught(func() error {
		return b.expectRelocatable("strings.o", "--unique=.debug_str")
	})
	var failed *commandError
	if errors.As(err, &failed) && strings.Contains(failed.result.Stderr, " are both .debug_str") {
		return nil
	}
	return err
}

func (b *Build) expectRelocatable(name string, flags ...string) error {
	b.relocatable(name, b.Objects(), flags...)
	way := "the BTF object of " + strings.Join(append([]string{"ld -r"}, flags...), " ")
	return b.expectGraph(way, b.LinkBTF(1, b.BTFObject(name)))
}
