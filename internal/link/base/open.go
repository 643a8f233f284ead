package base

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Files is the chain of bases given by --base flags: BTF files, or indices of them.
type Files struct {
	// Base is nil if there is no base.
	Base Base
	// Last is what split BTF on top of the chain is parsed with: the last BTF of the chain, or nil if
	// there is none. If an index was given instead of this BTF, Last has no types: only a byte order,
	// and where ids and strings end. See Whole.
	Last *btf.Blob
	// Index is the path of the first index of the chain, or "" if there is none.
	Index string
	Path  string // the last file of the chain, BTF or an index; "" if there is none
	// Release is the release of the kernel, if an ELF file of the chain says it. Raw BTF and indices
	// don't: if an index changed with each release, so would everything that is made with it.
	Release string

	functions *Functions
	mapped    [][]byte
}

// Open reads a chain of bases, each based on the one before it. Several threads may use the result.
// Rule: --base: BTF or an index.
func Open(paths []string) (*Files, error) {
	f := &Files{}
	if len(paths) > 0 {
		f.Path = paths[len(paths)-1]
	}
	if err := f.open(paths); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Files) open(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	c := &Chain{}
	for _, path := range paths {
		data, err := f.mapIndex(path)
		if err != nil {
			return err
		}
		switch {
		case data != nil:
			if f.Index == "" && f.Last != nil {
				if c, err = parse(f.Last, true); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			f.Index = cmp.Or(f.Index, path)
			if err := c.push(data); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			f.Last = c.hollow()
		case f.Index != "":
			return fmt.Errorf("%s: this BTF is based on the index %s; pass an index of this BTF "+
				"(made with btfdedup index --base), or pass BTF for every base", path, f.Index)
		default:
			if f.Last, err = relocate.ReadBase(path, f.Last); err != nil {
				return err
			}
			f.Release = cmp.Or(f.Release, f.Last.Origin.Release)
		}
	}
	if f.Index == "" {
		var err error
		if c, err = Parse(f.Last); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(paths, ", "), err)
		}
	}
	f.Base, f.functions = c, NewFunctions(f.Last, nil)
	return nil
}

// Close unmaps the indices. The Base must not be used afterwards.
func (f *Files) Close() {
	for _, data := range f.mapped {
		mapped.Unmap(data)
	}
	f.mapped = nil
}

// Fit returns an error if an ELF file is certainly for a different machine than the bases. If it
// may be for a different kernel, Fit says why; otherwise doubt is "".
func (f *Files) Fit(file *elf.File) (doubt string, err error) {
	if f.Base == nil {
		return "", nil
	}
	if err := f.CheckKernel(file); err != nil {
		return "", err
	}
	own := btf.OriginOf(file)
	of := object.Target{AddrSize: own.AddrSize, Order: file.Order, Machine: own.Machine}
	if on, is := f.Base.Target().Differs(of); on != "" {
		return "", relocate.WrongTarget(file.Path, is, on)
	}
	if file.Section(btf.SectionBase) != nil {
		return "", nil // its BTF may be for kernels with several releases
	}
	return relocate.OtherRelease(own.Release, f.Release), nil
}

// CheckKernel returns an error if an ELF file is a kernel, but there is a base.
// Rule: wrong base: when it is an error. A kernel has none.
func (f *Files) CheckKernel(file *elf.File) error {
	if f.Base == nil || file.Relocatable() || file.ModuleInfo("vermagic") != "" {
		return nil
	}
	release := file.KernelRelease()
	if release == "" {
		return nil
	}
	return message.Marked(fmt.Errorf("%s: it is the kernel %s, whose BTF has no base; remove --base",
		file.Path, release), relocate.ErrWrongBase)
}

// Whole is a chain of bases without indices.
type Whole struct {
	BTF       *btf.Blob // the last BTF of the chain, which refers to the others; nil if there is none
	Functions *Functions
}

// Whole returns the BTF of the chain. It is an error if an index was given in place of BTF that a
// task (what) needs.
func (f *Files) Whole(what string) (Whole, error) {
	if f.Index != "" {
		return Whole{}, fmt.Errorf("%s: this is an index of BTF, but %s needs the BTF itself; pass that "+
			"as --base", f.Index, what)
	}
	return Whole{f.Last, f.functions}, nil
}

// mapIndex maps the file at path if it is an index; otherwise it returns nil.
func (f *Files) mapIndex(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var start [len(magic)]byte
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	if _, err := file.ReadAt(start[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	if !isIndex(start[:]) {
		return nil, nil
	}
	if info.Size() > 1<<40 {
		return nil, fmt.Errorf("%s: too large for an index (%d bytes)", path, info.Size())
	}
	data, err := mapped.Map(file, info, path, 0, int(info.Size()), unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil { // some file systems don't support mmap
		return os.ReadFile(path)
	}
	f.mapped = append(f.mapped, data)
	return data, nil
}

// push adds the index of a BTF that is based on the BTFs added so far.
func (c *Chain) push(data []byte) error {
	x, err := parseIndex(data)
	if err != nil {
		return err
	}
	h := &x.header
	if len(c.layers) == 0 {
		if h.StartID != 1 || h.StartStr != 0 {
			return fmt.Errorf("this is an index of split BTF; pass its base with an earlier --base")
		}
	} else {
		below := &c.layers[len(c.layers)-1].header
		if h.StartID != below.EndID || h.StartStr != below.EndStr || h.Order != below.Order ||
			h.Below != below.BTF {
			return fmt.Errorf("this index was made with a different base than the --base before " +
				"it; rebuild it with btfdedup index --base")
		}
	}
	c.layers = append(c.layers, x)
	c.target.Order = h.order()
	c.target.Machine = cmp.Or(c.target.Machine, uint16(h.Machine))
	c.target.AddrSize = cmp.Or(c.target.AddrSize, int(h.AddrSize))
	return nil
}

// hollow makes an empty blob that begins where the last BTF ends.
func (c *Chain) hollow() *btf.Blob {
	h := &c.layers[len(c.layers)-1].header
	return &btf.Blob{Order: h.order(), StartID: h.EndID, BaseStrLen: h.EndStr}
}

// Index returns the index of the BTF at path. The parameter bases has the paths of the BTF's bases.
func Index(path string, bases []string) ([]byte, error) {
	below, err := relocate.ReadBases(bases)
	if err != nil {
		return nil, err
	}
	b, err := relocate.ReadBase(path, below)
	if err != nil {
		return nil, err
	}
	data, err := indexOf(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

func indexOf(b *btf.Blob) ([]byte, error) {
	chain := object.Chain(b)
	built, err := build(chain, len(chain)-1, true)
	if err != nil {
		return nil, err
	}
	return built[0], nil
}
