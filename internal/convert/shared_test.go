package convert

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// sharedHeader is the beginning of every source of TestShared. FIELD is the type of one member.
const sharedHeader = `
#ifndef FIELD
#define FIELD int
#endif
typedef unsigned long word;
enum color { RED, GREEN = 5 };
struct late;
struct list { struct list *next, *prev; };
struct changed { FIELD x; char tail[]; };
struct user { struct changed *c; struct late *l; struct list links; enum color color; word w[4];
	union { void *p; struct { short lo, hi; }; }; int bits : 3; };
typedef int callback(struct user *, const struct changed *, ...);
struct computed { char before[sizeof(struct changed)]; callback *call; };
`

// sharedSources are the units of several files. Units with the same file name are joined by ld -r.
var sharedSources = []struct {
	file, text string
	flags      []string
}{
	{"plain", "int a(struct user *u) { return u->bits; }", nil},
	{"long", "int a(struct user *u, struct computed *c) { return u->bits; }",
		[]string{"-DFIELD=long"}},
	{"pair", "int b(struct user *u) { return u->bits; }", nil},
	{"pair", "struct late { int own; }; int c(struct computed *c, struct late *l) { return l->own; }",
		nil},
	{"differ", "int d(struct user *u) { return u->bits; }", nil},
	{"differ", "int e(struct user *u) { return u->bits; }", []string{"-DFIELD=short"}},
	{"twice", "struct user u; int f(struct user *p) { struct list { int inner; } l = { 1 };" +
		" struct late { struct list *l; } t = { &l }; return t.l->inner; }", nil},
	{"old", "struct user u; int g(struct user *u) { return u->bits; }", []string{"-gdwarf-3"}},
	{"four", "struct user u; int g(struct user *u) { return u->bits; }", []string{"-gdwarf-4"}},
	{"units", "struct user u; struct computed v;", []string{"-fdebug-types-section"}},
	{"units", "struct user w; struct late { word x; } y;", []string{"-fdebug-types-section"}},
	{"units2", "struct user u; struct computed v;", []string{"-fdebug-types-section", "-DFIELD=char"}},
	{"units2", "struct user w; enum color c;", []string{"-fdebug-types-section", "-DFIELD=char"}},
	{"wide", "struct user u; struct computed v;", []string{"-gdwarf64"}},
	{"narrow", "struct user u; struct computed v;", []string{"-m32"}},
}

// sharedFiles compiles sharedSources, and adds the relocatable files in testdata, which are from
// other compilers or for other machines.
func sharedFiles(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	objects := map[string][]string{}
	for i, s := range sharedSources {
		c, o := filepath.Join(dir, fmt.Sprintf("%d.c", i)), filepath.Join(dir, fmt.Sprintf("%d.o", i))
		must.OK(t, os.WriteFile(c, []byte(sharedHeader+s.text+"\n"), 0o600))
		programtest.Run(t, dir, "gcc", append([]string{"-std=gnu17", "-w", "-g", "-O1", "-fno-pic",
			"-c", "-o", o,
			"-fno-eliminate-unused-debug-types", c}, s.flags...)...)
		objects[s.file] = append(objects[s.file], o)
	}
	for file, list := range objects {
		if len(list) == 1 {
			paths = append(paths, list[0])
			continue
		}
		joined := filepath.Join(dir, file+".ko")
		programtest.Run(t, dir, "ld", append([]string{"-r", "-o", joined}, list...)...)
		paths = append(paths, joined)
	}
	stored, err := filepath.Glob("testdata/objects/*.o")
	if err != nil || len(stored) == 0 {
		t.Fatal("no stored objects", err)
	}
	return append(paths, stored...)
}

// convertAndWrite converts a file, and returns the bytes of its object. If the conversion fails, it
// returns the text of the error instead.
func convertAndWrite(path string, shared *Shared, set features.Set) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return []byte(err.Error()), nil
	}
	defer f.Close()
	o, err := File(f, Options{Features: set, Jobs: 1, Shared: shared})
	if err != nil {
		return []byte(err.Error()), nil
	}
	return object.Write(o.Object, 1)
}

// TestShared: a file's object is the same whether the file is converted alone or after others. The
// object doesn't depend on the other files' order or features, on the number of threads, or on
// whether the shared store is replaced between files.
func TestShared(t *testing.T) {
	paths := sharedFiles(t)
	sets := []features.Set{features.Default(), features.Default() &^ features.Set(features.Enum64)}
	want := map[string][]byte{}
	key := func(path string, set features.Set) string { return fmt.Sprint(path, set) }
	for _, path := range paths {
		for _, set := range sets {
			data := must.Get(convertAndWrite(path, nil, set))(t)
			want[key(path, set)] = data
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		shared := &Shared{}
		threads := 1 + round%3
		order := append(r.Perm(len(paths)), r.Perm(len(paths))...)
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := thread; i < len(order); i += threads {
					path, set := paths[order[i]], sets[0]
					if round%5 == 0 {
						set = sets[i%2]
					}
					if round%4 != 0 && i%4 < round%4 {
						shared.mu.Lock()
						shared.key = sharedKey{} // as if the store was full
						shared.mu.Unlock()
					}
					got, err := convertAndWrite(path, shared, set)
					if err != nil || !bytes.Equal(got, want[key(path, set)]) {
						t.Errorf("round %d, %d threads: %s gives a different object than alone (%v)", round,
							threads, path, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
