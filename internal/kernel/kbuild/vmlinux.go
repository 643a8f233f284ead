package kbuild

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// beside are patterns of objects that scripts/link-vmlinux.sh links beside vmlinux.a or vmlinux.o.
var beside = []string{".vmlinux.export.o", "init/version-timestamp.o", ".builtin-dtbs.o",
	"arch/*/tools/vmlinux.arch.o"}

// vmlinux reads what vmlinux was linked from. missing are the sources in its symbols that none of
// the objects has.
func (r *reader) vmlinux(o Options) (v *Linked, missing []string, err error) {
	v = &Linked{Name: "vmlinux", Path: "vmlinux"}
	if o.NoObjects {
		return v, nil, nil
	}
	objects, from, err := r.linkedInVmlinux()
	if err != nil {
		return nil, nil, err
	}
	v.From = from
	if v.Objects, err = r.withTypes("vmlinux", objects); err != nil {
		return nil, nil, err
	}
	if len(v.Objects) == 0 {
		return nil, nil, fmt.Errorf("%s: none of the %d objects that %s names has DWARF: build with "+
			"CONFIG_DEBUG_INFO", r.path("vmlinux"), len(objects), from)
	}
	missing, err = r.missing(objects)
	return v, missing, err
}

// linkedInVmlinux returns vmlinux's objects, and the files that name them:
//
//   - vmlinux.map (CONFIG_VMLINUX_MAP), which the linker wrote.
//   - If that names vmlinux.o, or without a map: what vmlinux.o was linked from, and the few
//     objects that scripts/link-vmlinux.sh adds. If vmlinux is not linked from vmlinux.o, that was
//     linked from the same archives, for modpost.
func (r *reader) linkedInVmlinux() (objects []string, from string, err error) {
	const linkerMap = "vmlinux.map"
	// A map may be left over from another configuration.
	off := len(r.config) > 0 && r.config["CONFIG_VMLINUX_MAP"] != "y"
	if !r.note(linkerMap) || off {
		objects, from, err = r.linkedInObject()
		for _, pattern := range beside {
			objects = append(objects, r.glob(pattern)...)
		}
		return objects, from, err
	}
	linked, err := r.readMap(linkerMap)
	if err != nil || !slices.Contains(linked, "vmlinux.o") {
		return linked, linkerMap, err
	}
	objects, from, err = r.linkedInObject()
	for _, o := range linked {
		if o != "vmlinux.o" {
			objects = append(objects, o)
		}
	}
	return objects, linkerMap + " and " + from, err
}

// linkedInObject returns what vmlinux.o was linked from. CONFIG_BUILTIN_MODULE_RANGES makes
// vmlinux.o.map; the command is there since Linux 5.19.
func (r *reader) linkedInObject() (objects []string, from string, err error) {
	const linkerMap, archive = "vmlinux.o.map", "vmlinux.a"
	if r.note(linkerMap) && r.config["CONFIG_BUILTIN_MODULE_RANGES"] == "y" {
		objects, err = r.readMap(linkerMap)
		return objects, linkerMap, err
	}
	inputs, err := r.linkedBy("vmlinux.o")
	if err != nil {
		return nil, "", err
	}
	if len(inputs) > 0 {
		objects, err = r.expand(inputs)
		return objects, commandPath("vmlinux.o"), err
	}
	inputs = []string{archive}
	if from = archive; !r.note(archive) {
		if inputs, err = r.builtIn(); err != nil {
			return nil, "", err
		}
		from = "built-in.a"
	}
	inputs = append(inputs, r.libraries()...)
	if objects, err = r.expand(inputs); err != nil {
		return nil, "", err
	}
	if len(objects) == 0 {
		return nil, "", fmt.Errorf("%s: its objects are unknown: there is no vmlinux.map, "+
			".vmlinux.o.cmd, vmlinux.a or built-in.a; name the directory that Kbuild built in, or "+
			"read vmlinux alone (vmlinux = \"whole\")", r.path("vmlinux"))
	}
	return objects, from, nil
}

func (r *reader) readMap(name string) ([]string, error) {
	r.inputs[name] = true
	f, err := os.Open(r.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	inputs, err := parseMap(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	var objects []string
	for _, in := range inputs {
		object, err := r.locate(in)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// locate returns the file of an object in a map, or its archive if that is not thin. For a member
// of a thin archive, GNU ld writes the path in the tree, and lld the path in the archive.
func (r *reader) locate(in input) (string, error) {
	name, err := r.rel(in.name)
	if err != nil || in.archive == "" || r.exists(name) {
		return name, err
	}
	archive, err := r.rel(in.archive)
	if err != nil {
		return "", err
	}
	if below := path.Join(path.Dir(archive), in.name); r.exists(below) || !r.exists(archive) {
		return below, nil
	}
	return archive, nil
}

// expand replaces thin archives with their members.
func (r *reader) expand(inputs []string) (objects []string, err error) {
	for _, in := range inputs {
		if in, err = r.rel(in); err != nil {
			return nil, err
		}
		if !strings.HasSuffix(in, ".a") {
			objects = append(objects, in)
			continue
		}
		r.inputs[in] = true
		members, err := elf.OpenInput(r.path(in), nil)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			file, whole := m.Path()
			if !whole {
				objects = append(objects, in)
				break
			}
			object, err := r.member(file)
			if err != nil {
				return nil, err
			}
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// member returns the path in the tree of a thin archive's member.
func (r *reader) member(file string) (string, error) {
	if rest, ok := strings.CutPrefix(file, path.Clean(r.dir)+"/"); ok {
		return r.rel(rest)
	}
	return r.rel(file)
}

// missing compares the sources in vmlinux's symbols with those in its objects' symbols.
func (r *reader) missing(objects []string) (names []string, err error) {
	has := map[string]bool{}
	for _, o := range objects {
		if strings.HasSuffix(o, ".a") {
			return nil, nil // its members have not been looked at
		}
		for _, source := range r.found[o].sources {
			has[source] = true
		}
	}
	f, err := elf.Open(r.path("vmlinux"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := sources(f)
	if err != nil {
		return nil, err
	}
	for _, source := range all {
		// For assembler, the linker writes the name of the object file.
		if !has[source] && !strings.HasSuffix(source, ".o") {
			has[source] = true
			names = append(names, source)
		}
	}
	slices.Sort(names)
	return names, nil
}
