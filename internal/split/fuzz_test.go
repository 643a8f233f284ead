package split

import (
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
)

// FuzzSplit splits any bytes. That must end with an error, or with shards that the conversion
// takes as it takes the file; within bounds of time and memory that follow from the size of the
// input.
func FuzzSplit(f *testing.F) {
	for _, path := range seeds(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 1<<16 {
			trySplit(t, data)
		}
	})
}

// FuzzSplitSections is FuzzSplit for the debug sections alone: what it changes is DWARF.
func FuzzSplitSections(f *testing.F) {
	names := []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_loclists"}
	for _, path := range seeds(f) {
		file, err := elf.Open(path)
		if err != nil {
			continue // bitcode
		}
		parts := make([][]byte, len(names))
		for i, name := range names {
			if s := file.Section(name); s != nil {
				data, err := s.Data()
				if err != nil {
					f.Fatal(err)
				}
				parts[i] = append([]byte(nil), data...)
			}
		}
		f.Add(parts[0], parts[1], parts[2], parts[3])
		file.Close()
	}
	f.Fuzz(func(t *testing.T, info, abbrev, str, lists []byte) {
		if len(info)+len(abbrev)+len(str)+len(lists) > 1<<16 {
			return
		}
		o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
			Linked: true}
		for i, data := range [][]byte{info, abbrev, str, lists} {
			o.Sections = append(o.Sections, elfwrite.Section{Name: names[i], Data: data})
		}
		data, err := o.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		trySplit(t, data)
	})
}

func seeds(f *testing.F) []string {
	paths, err := filepath.Glob(filepath.Join(objectsDir, "*.[oe]*"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds", err)
	}
	return paths
}

// trySplit splits a file, and compares what the shards say with what the file says.
func trySplit(t *testing.T, data []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	files, err := splitFile(t, path, 2, 1)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > 20*time.Second {
		t.Errorf("%d bytes took %v", len(data), took)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<30 {
		t.Errorf("%d bytes of input made %d bytes of memory", len(data), bytes)
	}
	if err != nil {
		return
	}
	opt := options["all"]
	opt.SkipUnencodable = false
	want, err := convertAll(path, opt)
	if err != nil {
		_, _ = convertShards(files, opt) // it may know no better
		return
	}
	got, err := convertShards(files, opt)
	if err != nil {
		t.Fatalf("the file can be converted, a shard can't: %v", err)
	}
	if string(got) != string(want) {
		t.Error("the shards say something else than the file")
	}
}
