package embed

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// someBTF encodes a struct with a given name and number of int members.
func someBTF(t testing.TB, order binary.ByteOrder, name string, members int) *Blob {
	t.Helper()
	b := btf.NewBuilder(order, nil, nil)
	number := b.Int("int", 4, btf.IntSigned, 32)
	var list []btf.Member
	for i := range members {
		list = append(list, btf.Member{NameOff: b.Name("m" + strings.Repeat("x", i)), Type: number,
			Offset: uint32(32 * i)})
	}
	b.Composite(btf.KindStruct, name, uint32(4*members), false, list...)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	blob := must.Get(NewBlob(name+".btf", data))(t)
	return blob
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

func open(t *testing.T, path string) *elf.File {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// into returns f with embedded BTF.
func into(f *elf.File, types, base *Blob) ([]byte, error) {
	edit, _, err := Into(f, types, base)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = edit.Write(&out)
	return out.Bytes(), err
}

// content holds what debug/elf reads from an ELF file.
type content struct {
	header   stdelf.FileHeader
	progs    []stdelf.ProgHeader
	sections []stdelf.SectionHeader // without offsets, and without the names of BTF sections
	data     []string
	symbols  []stdelf.Symbol // with names of sections instead of indexes
	places   map[string]int  // indexes of the sections with BTF, by name
}

// read reads a file, and leaves out .BTF, .BTF.base and the bytes of string tables.
func read(t *testing.T, data []byte) *content {
	t.Helper()
	f, err := stdelf.NewFile(bytes.NewReader(data))
	must.OK(t, err)
	c := &content{header: f.FileHeader, places: map[string]int{}}
	for _, p := range f.Progs {
		c.progs = append(c.progs, p.ProgHeader)
	}
	for i, s := range f.Sections {
		if s.Name == btf.SectionTypes || s.Name == btf.SectionBase {
			c.places[s.Name] = i
			continue
		}
		h := s.SectionHeader
		if !(h.Flags&stdelf.SHF_ALLOC != 0 && f.Type != stdelf.ET_REL) {
			h.Offset = 0
		}
		raw, err := io.ReadAll(s.Open())
		if h.Name == ".shstrtab" {
			raw, h.Size, h.FileSize = nil, 0, 0
		} else if err != nil && h.Type != stdelf.SHT_NOBITS && i != 0 {
			t.Fatalf("%s: %v", h.Name, err)
		}
		c.sections = append(c.sections, h)
		c.data = append(c.data, string(raw))
	}
	if c.symbols, err = f.Symbols(); err != nil && err != stdelf.ErrNoSymbols {
		t.Fatal(err)
	}
	return c
}

// exitCode runs a program and returns its exit code.
func exitCode(path string) int {
	cmd := exec.Command(path)
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode()
}
