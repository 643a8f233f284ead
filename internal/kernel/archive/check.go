package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// maxFile is the maximum size of a file, in bytes. BTF is always smaller.
const maxFile = 1 << 30

// Options selects what Check checks.
type Options struct {
	Rules  verify.Options // rules for the BTF
	Images Images         // files whose BTF and ids are compared with the archive
	Jobs   int            // threads
}

// Check compares the files of an archive with its manifest and with each other. path is the
// archive's directory, the manifest in that directory, or a tar archive, which may be compressed
// with zstd.
//
// It returns one line per problem, sorted by file. Problems are, for example, BTF that the kernel
// would reject, or BTF whose base has changed since the BTF was made. It returns an error if it
// can't read the manifest, the tar archive or the directory of images.
// Rule: archive of a release: checks before boot. Source: kernel btf_parse_module.
func Check(path string, opts Options) ([]string, error) {
	images, err := opts.Images.find()
	if err != nil {
		return nil, err
	}
	c := newChecker(opts.Rules)
	c.images = images
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ManifestName)
	}
	var m *Manifest
	archive, err := openTar(path)
	switch {
	case err != nil:
		return nil, err
	case archive != nil:
		defer archive.file.Close()
		c.in = archive
		m, err = archive.manifest()
	default:
		c.in = directory(filepath.Dir(path))
		var f *os.File
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer f.Close()
		m, err = readManifest(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c.check(m, opts.Jobs), nil
}

func newChecker(rules verify.Options) *checker {
	return &checker{rules: rules, files: map[string]*checked{}}
}

func (c *checker) check(m *Manifest, jobs int) []string {
	c.list(m)
	c.findExtra()
	c.checkChains()
	c.checkContents(jobs)
	c.checkOthers()
	slices.Sort(c.names)
	found := c.problems
	for _, name := range c.names {
		found = append(found, c.files[name].problems...)
	}
	return found
}

type checker struct {
	in       files
	rules    verify.Options
	images   map[string][]string // paths of images, by the names that the kernel gives them
	files    map[string]*checked // the files in the manifest, by name
	names    []string
	problems []string // problems that don't belong to a file
}

type checked struct {
	File
	problems []string
	layer    *layer // nil if the content can't be used
	on       *checked
	isBase   bool // other files are based on it
	lost     bool // its base is missing, so it can't be read
}

func (f *checked) report(format string, args ...any) {
	f.problems = append(f.problems, message.Printable(f.Name+": "+fmt.Sprintf(format, args...)))
}

func (c *checker) report(format string, args ...any) {
	c.problems = append(c.problems, message.Printable(fmt.Sprintf(format, args...)))
}

func (c *checker) list(m *Manifest) {
	alike := map[string][]string{} // names of files, by the name that the kernel gives them
	for _, f := range m.Files {
		if err := checkName(f.Name); err != nil {
			c.report("%v", err)
			continue
		}
		name := Name(f.Name)
		alike[name] = append(alike[name], f.Name)
		if c.files[f.Name] != nil {
			continue
		}
		x := &checked{File: f}
		c.files[f.Name] = x
		c.names = append(c.names, f.Name)
		if f.Name == Vmlinux && len(f.Bases) > 0 {
			x.report("it is based on %s, but must not have a base", f.Bases[0].Name)
			x.Bases = nil
		}
		if f.Path != "" && Name(f.Path) != name {
			x.report("its path %s is that of the module %s", f.Path, Name(f.Path))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(alike)) {
		if list := alike[name]; len(list) > 1 {
			c.report("%s: the kernel names all of them %s", strings.Join(list, ", "), name)
		} else if list[0] != name {
			c.files[list[0]].report("the kernel names it %s", name)
		}
	}
	if c.files[Vmlinux] == nil {
		c.report("%s: the manifest doesn't list this file, but all others need it", Vmlinux)
	}
}

func (c *checker) findExtra() {
	list, err := c.in.list()
	if err != nil {
		c.report("%v", err)
	}
	for _, name := range list {
		if name != ManifestName && c.files[name] == nil {
			c.report("%s: the manifest doesn't list this file", name)
		}
	}
}

// checkChains checks that the manifest still lists the bases from which the files were made.
func (c *checker) checkChains() {
	for _, name := range c.names {
		f := c.files[name]
		if on := c.checkChain(f); on != nil {
			f.on, on.isBase = on, true
		} else {
			f.lost = name != Vmlinux
		}
	}
}

// checkChain returns the file on which f is based, or nil if there is none or the chain is wrong.
func (c *checker) checkChain(f *checked) *checked {
	if f.Name != Vmlinux && len(f.Bases) == 0 {
		f.report("missing base: it has none, but must be based on %s", Vmlinux)
	}
	var on *checked
	for _, base := range f.Bases {
		on = c.files[base.Name]
		switch {
		case on == nil:
			f.report("missing base: it is based on %s, which the manifest doesn't list", base.Name)
			return nil
		case on.SHA256 != base.SHA256:
			f.report("wrong base: it is based on %s with SHA-256 %s, but the one here has SHA-256 %s",
				base.Name, base.SHA256, on.SHA256)
			return nil
		}
	}
	if on == nil {
		return nil
	}
	below := f.Bases[:len(f.Bases)-1]
	if !slices.Equal(on.Bases, below) {
		f.report("wrong base: it is based on %s, which has different bases here", on.Name)
		return nil
	}
	switch of := SitesOf(f.Name); {
	case of != "" && of != on.Name:
		f.report("wrong base: it has sites of inlined functions of %s, but is based on %s", of, on.Name)
		return nil
	case of == "" && len(below) > 0:
		f.report("it is based on %s, but the kernel only accepts modules based on %s", on.Name, Vmlinux)
	}
	return on
}

// checkContents reads the content of the files, each file after its base.
func (c *checker) checkContents(jobs int) {
	levels := map[int][]*checked{}
	deepest := 0
	for _, name := range c.names {
		f := c.files[name]
		levels[len(f.Bases)] = append(levels[len(f.Bases)], f)
		deepest = max(deepest, len(f.Bases))
	}
	for i := range deepest + 1 {
		list := levels[i]
		parallel.Do(jobs, len(list), func(k int) { c.checkContent(list[k]) })
	}
}

func (c *checker) checkContent(f *checked) {
	raw, err := c.read(f)
	if err != nil {
		f.report("%v", err)
		return
	}
	if f.lost || f.on != nil && f.on.layer == nil {
		return // the problem with its base has already been reported
	}
	var on *layer
	if f.on != nil {
		on = f.on.layer
	}
	l, err := newLayer(f.Name, raw, on, c.rules)
	if err != nil {
		f.report("%v", err)
		return
	}
	for _, x := range []struct {
		what           string
		said, measured int64
	}{
		{"first type id", int64(f.StartID), int64(l.StartID)},
		{"string offset", int64(f.StringOffset), int64(l.StringOffset)},
		{"number of types", int64(f.Types), int64(l.Types)},
	} {
		if x.said != x.measured {
			f.report("its %s is %d, but the manifest says %d", x.what, x.measured, x.said)
		}
	}
	for _, path := range c.images[f.Name] {
		if err := checkImage(f, l, raw, path); err != nil {
			f.report("%v", err)
		}
	}
	if of := SitesOf(f.Name); of != "" {
		for _, path := range c.withSites(of) {
			if err := checkSection(l, raw, path); err != nil {
				f.report("%v", err)
			}
		}
	}
	if f.isBase {
		f.layer = l
	}
}

// read returns the content of a file, if its size and SHA-256 are those in the manifest.
func (c *checker) read(f *checked) ([]byte, error) {
	file, size, err := c.in.open(f.Name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch {
	case size != f.Size:
		return nil, fmt.Errorf("damaged: it has %d bytes, but the manifest says %d; "+remake, size,
			f.Size)
	case size > maxFile:
		return nil, fmt.Errorf("it has %d bytes, which is too large for BTF", size)
	}
	raw, err := io.ReadAll(io.LimitReader(file, f.Size+1))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("damaged: its SHA-256 is %x, but the manifest says %s; "+remake, sum,
			f.SHA256)
	}
	return raw, nil
}
