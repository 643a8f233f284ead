package object

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cilium "github.com/cilium/ebpf/btf"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func encode(t testing.TB, b *btf.Blob) []byte {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return data
}

func save(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	must.OK(t, os.WriteFile(path, data, 0o644))
	return path
}

func TestReadFile(t *testing.T) {
	blob := encode(t, two(false, 8))
	other := encode(t, ring(6, 0))
	object := randomObject(5)
	arm := Target{AddrSize: 4, Order: binary.LittleEndian, Machine: 40}
	tests := []struct {
		name   string
		data   []byte
		units  int
		target Target
	}{
		{"BTF object", write(t, object), len(must.Get(object.normal())(t).Units), amd64},
		{"raw BTF", blob, 1, Target{AddrSize: 8, Order: binary.LittleEndian}},
		{"ELF file with .BTF", assemble(t, arm, blob, nil), 1, arm},
		{"concatenated blobs", assemble(t, amd64, append(slices.Clone(blob), other...), nil), 2, amd64},
		{"empty .BTF", assemble(t, arm, []byte{}, nil), 0, arm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := must.Get(ReadFile(save(t, tt.data), nil))(t)
			if len(o.Units) != tt.units || o.Target != tt.target {
				t.Errorf("%d units for %v, want %d for %v", len(o.Units), o.Target, tt.units, tt.target)
			}
		})
	}
}

func TestConcatenatedBlobsAreUnits(t *testing.T) {
	a, b := two(false, 8), ring(6, 0)
	together := fromBTF(t, a, b)
	apart := must.Get(Merge(fromBTF(t, b), fromBTF(t, a)))(t)
	if !bytes.Equal(write(t, together), write(t, apart)) {
		t.Error("two blobs of one section differ from two files merged")
	}
}

func TestReadFileErrors(t *testing.T) {
	records, units := sections(t, randomObject(5))
	version := slices.Clone(units)
	version[4] = globalsVersion + 1
	globals := New(amd64, features.Default().With(features.GlobalVar))
	globals.Units = []Unit{{Count: 1}}
	globalRecords, older := sections(t, globals)
	older[4] = unitsVersion
	other, _ := sections(t, randomObject(6))
	big := amd64
	big.Order = binary.BigEndian
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"no section", assemble(t, amd64, nil, nil), "with btfgen object if it is an object file"},
		{"only units", assemble(t, amd64, nil, units), "needs the sections .BTF and .BTF.units"},
		{"other version", assemble(t, amd64, records, version),
			"written by a different version of btfgen"},
		{"global_var, but no sections of the variables",
			assemble(t, amd64, globalRecords, older),
			"(format 4, not 5); make the file again with this btfgen"},
		{"other magic", assemble(t, amd64, records, []byte("wrong")), "no magic"},
		{"truncated", assemble(t, amd64, records, units[:len(units)-1]), "section .BTF.units, offset"},
		{"trailing", assemble(t, amd64, records, append(slices.Clone(units), 0)), "1 bytes follow"},
		{"units of another object", assemble(t, amd64, other, units),
			"was altered; make the file again"},
		{"byte order", assemble(t, big, records, units), "is LittleEndian, but the file is BigEndian"},
		{"text", []byte("hello, world"), "neither a BTF object nor BTF (starts with \"hell\")"},
		{"empty", nil, "empty"},
		{"raw with junk", append(encode(t, two(false, 8)), "junk"...), "BTF at offset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := save(t, tt.data)
			_, err := ReadFile(path, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), path) {
				t.Errorf("error %v, want one with the path and %q", err, tt.want)
			}
		})
	}
}

// TestGroupsAreBounded reads a section of 10 MB that would expand to two billion items.
func TestGroupsAreBounded(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	for range 1000 {
		b.Ref(btf.KindPtr, "", b.NextID()-1)
	}
	blob := b.Finish()
	d := append([]byte(unitsMagic), unitsVersion)
	d = appendString(d, "none")
	d = append(binary.AppendUvarint(d, 1000), 0, 0, 0, 0)
	var all []uint32
	for id := range uint32(1000) {
		all = append(all, id+1)
	}
	d = appendList(append(d, 1), all, 1)
	const units = 1 << 21
	d = binary.AppendUvarint(d, units)
	d = append(d, bytes.Repeat([]byte{0, 0, 2, 1, 1}, units)...)
	_, err := read(assemble(t, amd64, encode(t, blob), d))
	if err == nil || !strings.Contains(err.Error(), "expand to more than") {
		t.Errorf("error %v, want one about the size", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	with := func(f func(o *Object)) *Object {
		o := fromBTF(t, two(false, 8))
		o.Features = features.Default()
		o.Units[0].FromBTF = false
		f(o)
		return o
	}
	plain := with(func(*Object) {})
	tests := []struct {
		name  string
		other *Object
		want  string // empty: they can be merged
	}{
		{"same", plain, ""},
		{"machine", with(func(o *Object) { o.Target.Machine = 183 }),
			"a.btfo is for EM_X86_64, 64-bit, LittleEndian, " +
				"but b.btfo is for EM_AARCH64, 64-bit, LittleEndian"},
		{"order", with(func(o *Object) { o.Target.Order = binary.BigEndian }),
			"different byte orders: a.btfo is LittleEndian, but b.btfo is BigEndian"},
		{"raw of another order", with(func(o *Object) { o.Target = Target{Order: binary.BigEndian} }),
			"different byte order"},
		{"raw", with(func(o *Object) { o.Target = Target{Order: binary.LittleEndian} }), ""},
		{"features", with(func(o *Object) { o.Features = features.All() }),
			"different features: a.btfo was made with encode_force,"},
		{"features of linked units", with(func(o *Object) { o.Features, o.Units[0].FromBTF = 0, true }),
			""},
		{"features of no units", with(func(o *Object) { o.Features, o.Units = 0, nil }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, swap := range []bool{false, true} {
				a, b := plain, tt.other
				if swap {
					a, b = b, a
				}
				m := NewMerger()
				err := m.Add("a.btfo", a)
				if err == nil {
					err = m.Add("b.btfo", b)
				}
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("error %v", err)
				case tt.want == "":
					if o := m.Object(); o.Target != plain.Target {
						t.Errorf("merged for %v, want %v", o.Target, plain.Target)
					}
				case err == nil:
					t.Error("no error")
				case !swap && !strings.Contains(err.Error(), tt.want):
					t.Errorf("error %v, want one with %q", err, tt.want)
				}
			}
		})
	}
}

func TestEqualUnitsAreCounted(t *testing.T) {
	o := fromBTF(t, two(false, 8))
	m := must.Get(Merge(o, o, o))(t)
	if len(m.Units) != 1 || m.Units[0].Count != 3 {
		t.Errorf("units %+v, want one with the count 3", m.Units)
	}
	m.Units[0].Count = 1<<32 - 1
	if _, err := Merge(m, o); err == nil || !strings.Contains(err.Error(), "same content") {
		t.Errorf("error %v, want one about the count", err)
	}
}

// TestOtherReaders checks the .BTF section by the kernel's rules, and with an independent reader.
func TestOtherReaders(t *testing.T) {
	inputs := map[string]*Object{"several definitions": fromBTF(t, two(false, 8), ring(6, 0))}
	if _, err := os.Stat(vmlinuxBTF); err == nil {
		inputs["running kernel"] = fromBTF(t, runningKernel(t))
	}
	for name, o := range inputs {
		t.Run(name, func(t *testing.T) {
			path := save(t, write(t, o))
			blob := must.Get(btf.ReadOne(path, nil))(t)
			for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
				t.Error(v)
			}
			spec := must.Get(cilium.LoadSpec(path))(t)
			for i := range blob.Types {
				id := blob.StartID + uint32(i)
				typ, err := spec.TypeByID(cilium.TypeID(id))
				if err != nil {
					t.Fatalf("[%d]: %v", id, err)
				}
				switch blob.Types[i].Kind {
				case btf.KindTypeTag, btf.KindDeclTag: // that reader doesn't report their values as names
					continue
				}
				if want := blob.TypeName(&blob.Types[i]); typ.TypeName() != want {
					t.Fatalf("[%d] is %q, want %q", id, typ.TypeName(), want)
				}
			}
		})
	}
}

// A pipe can be read only once. Whoever opens the pipe again waits for another writer.
func TestPipes(t *testing.T) {
	blob := two(false, 8)
	want := write(t, fromBTF(t, blob))
	for name, data := range map[string][]byte{
		"raw BTF":            encode(t, blob),
		"BTF object":         want,
		"ELF file with .BTF": assemble(t, amd64, encode(t, blob), nil),
	} {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Skip("SKIPPED: ", err)
		}
		for _, read := range []func() (*Object, error){
			func() (*Object, error) { return ReadFile(path, nil) },
			func() (*Object, error) {
				return MergeFiles([]string{path}, nil, 1, func(int, int) {})
			},
		} {
			go os.WriteFile(path, data, 0)
			done := make(chan error, 1)
			var o *Object
			go func() {
				var err error
				o, err = read()
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				o.Target = amd64
				if !bytes.Equal(write(t, o), want) {
					t.Errorf("%s: a different object is read", name)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: the pipe is read twice", name)
			}
		}
	}
}

// The relocations of .BTF in BPF objects are left to the loader of these objects.
func TestRelocationsOfBTF(t *testing.T) {
	const text = "long first, second = 1; int f(void *c) { return first + second; }"
	out := programtest.Compile(t, text, "clang", "-target", "bpf", "-g", "-O2", "-c")
	f := must.Get(elf.Open(out))(t)
	defer f.Close()
	if f.Section(".rel.BTF") == nil && f.Section(".rela.BTF") == nil {
		t.Fatal("the object has no relocations of .BTF")
	}
	blobs := must.Get(btf.ParseAll(f.Section(btf.SectionTypes).Raw(), nil))(t)
	o := must.Get(ReadFile(out, nil))(t)
	want := fromBTF(t, blobs...)
	want.Target = o.Target
	if !bytes.Equal(write(t, o), write(t, want)) {
		t.Error("the content of .BTF was changed")
	}
}
