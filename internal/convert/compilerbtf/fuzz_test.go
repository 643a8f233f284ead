package compilerbtf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// FuzzFile converts whole ELF files, with limits on time and memory. If the result can be written,
// it must be readable. The seeds are object files that gcc 16 and clang 21 made from the sources
// beside them.
func FuzzFile(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/*.o") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := elf.Parse("input", data)
		if err != nil || len(data) > 1<<16 {
			return
		}
		check(t, file, len(data))
	})
}

// FuzzSection is FuzzFile for the section .BTF alone, in a file without symbols.
func FuzzSection(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/*.o") {
		file := must.Get(elf.Parse("seed", data))(f)
		f.Add(append([]byte(nil), file.Section(".BTF").Raw()...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 {
			check(t, elfOf(data), len(data))
		}
	})
}

func check(t *testing.T, f *elf.File, size int) {
	sets := [2]features.Set{features.Default().With(features.GlobalVar), features.Of(features.Var)}
	options := convert.Options{Features: sets[size%2].With(features.SkipUnencodable), Jobs: 1 + size/2%2}
	if size/4%2 == 0 {
		options.KABIPrefix = "s"
	}
	var o *convert.Result
	var err error
	programtest.Bounded(t, size, 20*time.Second, 512<<20, func() { o, err = File(f, options) })
	plain, plainErr := file(f, &work{opt: &options, plainly: true})
	if (err == nil) != (plainErr == nil) {
		t.Fatalf("error %v; with the plain implementation, %v", err, plainErr)
	}
	if err != nil {
		return
	}
	data, err := object.Write(o.Object, 1)
	if err != nil {
		return // a limit of the format
	}
	if want, err := object.Write(plain.Object, 1); err != nil || !bytes.Equal(data, want) {
		t.Fatalf("the object differs from that of the plain implementation, %v", err)
	}
	path := filepath.Join(t.TempDir(), "o.btfo")
	must.OK(t, os.WriteFile(path, data, 0o666))
	if _, err := object.ReadFile(path, nil); err != nil {
		t.Errorf("what was written can't be read: %v", err)
	}
}
