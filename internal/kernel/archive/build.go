package archive

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Release is the input of Build.
type Release struct {
	Name    string // as uname -r prints it
	Vmlinux string // file with the BTF of the kernel: raw or ELF
	// Modules has the BTF of modules, and of the sites of inlined functions: the file of a module m,
	// or of Vmlinux, with sites has the name m.inline.
	Modules []Module
	// Distilled maps the name of a module to the file with its distilled base, if that is not in
	// the ELF file.
	Distilled map[string]string
	// On maps the name of a module to the name of the module on which it is based. A module that is
	// not in On is based on vmlinux.
	On   map[string]string
	Jobs int // threads
}

// Module is a file with the BTF of a module: raw or ELF.
type Module struct {
	File string
	Path string // path of the module in /lib/modules/RELEASE, or only its name; "" if unknown
}

// Archive is the content of an archive.
type Archive struct {
	Manifest Manifest
	// Doubts say, for modules that name another release, that they may not belong to the archive.
	Doubts []string
	// Notes say what is not in the archive, although it was passed.
	Notes    []string
	contents [][]byte // the contents of Manifest.Files
}

// Build reads and checks the files of a release. BTF with a distilled base is relocated to the BTF
// of vmlinux, as in the kernel. The order and directories of modules don't affect the result.
// Rule: archive of a release: how it is made.
func Build(r Release) (*Archive, error) {
	b := &builder{release: r, ids: map[string]int{}, isBase: map[string]bool{}}
	for _, on := range r.On {
		b.isBase[on] = true
	}
	vmlinux, from, err := b.vmlinux()
	if err != nil {
		return nil, err
	}
	if err := b.readModules(from); err != nil {
		return nil, err
	}
	kernel := &b.parts[b.ids[Vmlinux]]
	kernel.raw, kernel.layer = kernel.source.raw, vmlinux
	if err := b.addDistilled(); err != nil {
		return nil, err
	}
	if err := b.checkSites(); err != nil {
		return nil, err
	}
	if err := b.stack(); err != nil {
		return nil, err
	}
	a := &Archive{Manifest: Manifest{Version: manifestVersion, Release: r.Name, BuildID: b.buildID},
		Notes: b.notes}
	for i := range b.parts {
		a.Manifest.Files = append(a.Manifest.Files, b.parts[i].layer.File)
		a.contents = append(a.contents, b.parts[i].raw)
		if why := b.doubt(&b.parts[i]); why != "" {
			a.Doubts = append(a.Doubts, b.parts[i].file()+": "+why)
		}
	}
	return a, nil
}

type builder struct {
	release Release
	buildID string
	parts   []part          // sorted by name
	ids     map[string]int  // indexes in parts, by name
	isBase  map[string]bool // names of files on which others are based
	target  object.Target   // of vmlinux
	notes   []string
}

type part struct {
	name, path string
	source     *source
	raw        []byte
	layer      *layer
	err        error
}

var bootRules = verify.Options{Only: new(verify.Boot)}

// vmlinux reads the BTF of vmlinux, and returns the file from which it comes as well.
func (b *builder) vmlinux() (*layer, *source, error) {
	s, err := readSource(b.release.Vmlinux)
	if err != nil {
		return nil, nil, err
	}
	b.buildID = s.buildID
	if s.origin.Release != "" && s.origin.Release != b.release.Name {
		return nil, nil, fmt.Errorf("%s: it is the kernel %s, not %s; set --release, or pass the "+
			"other kernel's BTF", s.file, s.origin.Release, b.release.Name)
	}
	if s.distilled != nil {
		return nil, nil, fmt.Errorf("%s: it has a base, so it is not the BTF of vmlinux; "+
			"pass the kernel's BTF as --vmlinux", s.file)
	}
	l, err := newLayer(Vmlinux, s.raw, nil, bootRules)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.file, err)
	}
	l.findTags()
	l.Conflicts = l.countConflicts()
	l.blob.Origin = s.origin
	b.target = object.TargetOf(l.blob)
	return l, s, nil
}

func (b *builder) readModules(vmlinux *source) error {
	modules := b.release.Modules
	parts := make([]part, len(modules))
	parallel.Do(b.release.Jobs, len(modules), func(i int) { parts[i] = readPart(modules[i]) })
	parts = addSections(append(parts, part{name: Vmlinux, source: vmlinux}))
	slices.SortFunc(parts, func(x, y part) int {
		return slices.CompareFunc([]string{x.name, x.file()}, []string{y.name, y.file()},
			strings.Compare)
	})
	parts = slices.DeleteFunc(parts, func(p part) bool { return b.isVmlinux(p, vmlinux) })
	for i := range parts {
		p := &parts[i]
		if p.err != nil {
			return p.err
		}
		if i > 0 && parts[i-1].name == p.name {
			return fmt.Errorf("%s and %s: both have the same module name in the kernel, "+
				"%s; leave one out", parts[i-1].file(), p.file(), p.name)
		}
		b.ids[p.name] = i
	}
	b.parts = parts
	return nil
}

// isVmlinux reports whether a part is the module that only carries the BTF of vmlinux
// (verify.VmlinuxModule). The archive leaves it out, and isVmlinux adds a note that says so.
func (b *builder) isVmlinux(p part, vmlinux *source) bool {
	if p.err != nil || p.name != verify.VmlinuxModule || !bytes.Equal(p.raw, vmlinux.raw) {
		return false
	}
	b.notes = append(b.notes, p.file()+": left out, because its BTF is that of vmlinux "+
		"(CONFIG_DEBUG_INFO_BTF=m)")
	return true
}

func (p *part) file() string {
	if p.source == nil {
		return ""
	}
	return p.source.file
}

func readPart(m Module) part {
	path := m.Path
	if path == "" {
		path = m.File
	}
	p := part{name: Name(path)}
	if strings.Contains(m.Path, "/") && SitesOf(p.name) == "" {
		p.path = m.Path
	}
	if p.source, p.err = readSource(m.File); p.err != nil {
		return p
	}
	p.raw = p.source.raw
	switch known := Name(p.source.module); {
	case p.source.module == "":
	case m.Path == "":
		p.name = known
	case known != p.name:
		p.err = fmt.Errorf("%s: it is the module %s, not %s; correct the path before =", m.File,
			known, p.name)
		return p
	}
	if err := checkName(p.name); err != nil {
		p.err = fmt.Errorf("%s: %w", m.File, err)
	}
	return p
}

// addDistilled reads the distilled bases.
func (b *builder) addDistilled() error {
	for _, name := range slices.Sorted(maps.Keys(b.release.Distilled)) {
		file, p := b.release.Distilled[name], b.module(name)
		if p == nil {
			return fmt.Errorf("%s is the distilled base of %s, but there is no such module; "+
				"pass it too", file, name)
		}
		s, err := readSource(file)
		if err != nil {
			return err
		}
		p.source.distilled = s.raw
	}
	return nil
}

func (b *builder) module(name string) *part {
	if i, ok := b.ids[name]; ok && name != Vmlinux && SitesOf(name) == "" {
		return &b.parts[i]
	}
	return nil
}

// stack reads the BTF of the modules, each module after its base.
func (b *builder) stack() error {
	on, err := b.levels()
	if err != nil {
		return err
	}
	for level := 1; len(on[level]) > 0; level++ {
		list := on[level]
		errs := make([]error, len(list))
		parallel.Do(b.release.Jobs, len(list), func(i int) {
			p := &b.parts[list[i]]
			errs[i] = wrap(p.file(), b.describe(p))
		})
		if err := cmp.Or(errs...); err != nil {
			return err
		}
	}
	return nil
}

// levels groups the indexes of parts by the number of files in each part's chain of bases.
func (b *builder) levels() (map[int][]int, error) {
	for _, name := range slices.Sorted(maps.Keys(b.release.On)) {
		for _, x := range []string{name, b.release.On[name]} {
			if b.module(x) == nil {
				return nil, fmt.Errorf("%s should be based on %s, but there is no module %s; pass it "+
					"too", name, b.release.On[name], x)
			}
		}
	}
	levels := map[int][]int{}
	for i := range b.parts {
		level := 0
		for name := b.parts[i].name; name != Vmlinux; name = b.below(name) {
			if level++; level > len(b.parts) {
				return nil, fmt.Errorf("the module %s is based on itself; correct --on", b.parts[i].name)
			}
		}
		levels[level] = append(levels[level], i)
	}
	return levels, nil
}

// below returns the name of the file on which a module or a file with sites is based.
// Rule: archive of a release: bases of its files.
func (b *builder) below(name string) string {
	return cmp.Or(SitesOf(name), b.release.On[name], Vmlinux)
}

// describe reads the BTF of a part. It relocates the BTF to vmlinux if the part is a module with a
// distilled base, or has the sites of such a module.
func (b *builder) describe(p *part) error {
	on := b.parts[b.ids[b.below(p.name)]].layer
	of := object.Target{AddrSize: p.source.origin.AddrSize, Machine: p.source.origin.Machine}
	if known, is := b.target.Differs(of); known != "" {
		return fmt.Errorf("it is %s, but vmlinux is %s; pass modules of this kernel", is, known)
	}
	var err error
	if of := SitesOf(p.name); of == "" && p.source.distilled != nil {
		p.raw, err = putOn(on.blob, p.source.distilled, p.source.raw)
	} else if m := b.module(of); m != nil && m.source.distilled != nil {
		p.raw, err = putOn(on.on.blob, m.source.distilled, m.source.raw, p.raw)
	}
	if err != nil {
		return err
	}
	l, err := newLayer(p.name, p.raw, on, bootRules)
	if err != nil && p.name == verify.VmlinuxModule {
		return fmt.Errorf("its BTF must be that of vmlinux (CONFIG_DEBUG_INFO_BTF=m), but differs from "+
			"%s; pass both from one build", b.release.Vmlinux)
	}
	if err != nil {
		return fmt.Errorf("read as BTF based on %s: %w", on.Name, err)
	}
	l.Conflicts = l.countConflicts()
	l.Path = p.path
	if b.isBase[p.name] {
		l.findTags()
	} else {
		l.blob = nil // no longer needed
	}
	p.layer = l
	return nil
}

// doubt says why a module may not belong to the release; "" if nothing says so. A module with a
// distilled base is for several releases.
func (b *builder) doubt(p *part) string {
	if p.source.distilled != nil {
		return ""
	}
	return relocate.OtherRelease(p.source.origin.Release, b.release.Name)
}

// putOn relocates a chain of split BTF from its distilled base to another base, and returns the
// last blob of the result.
func putOn(base *btf.Blob, distilled []byte, chain ...[]byte) ([]byte, error) {
	top, err := btf.Parse(distilled, nil)
	if err != nil {
		return nil, fmt.Errorf("distilled base: %w", err)
	}
	for _, raw := range chain {
		if top, err = btf.Parse(raw, top); err != nil {
			return nil, fmt.Errorf("read as BTF based on a distilled base: %w", err)
		}
	}
	moved, err := relocate.Relocate(top, base)
	if err != nil {
		return nil, err
	}
	return btf.Encode(moved, btf.EncodeOptions{})
}
