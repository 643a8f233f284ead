package kbuild

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// beside lists patterns of the object files that scripts/link-vmlinux.sh links in addition to
// vmlinux.a or vmlinux.o.
var beside = []string{".vmlinux.export.o", "init/version-timestamp.o", ".builtin-dtbs.o",
	"arch/*/tools/vmlinux.arch.o"}

// vmlinux finds the objects of vmlinux. The result missing lists the source files that are named by
// STT_FILE symbols of vmlinux, but not by symbols of its object files.
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
		return nil, nil, fmt.Errorf("%s: none of the %d objects that %s lists has DWARF: build with "+
			"CONFIG_DEBUG_INFO", r.path("vmlinux"), len(objects), from)
	}
	missing, err = r.missing(objects)
	return v, missing, err
}

// linkedInVmlinux returns the object files of vmlinux, and says which files list them:
//
//   - vmlinux.map lists them, if the linker wrote it (CONFIG_VMLINUX_MAP).
//   - If there is no map, or the map names vmlinux.o, the result is the objects from which
//     vmlinux.o was linked, and the few that scripts/link-vmlinux.sh adds. Kbuild always links
//     vmlinux.o, because modpost needs it; if vmlinux is not linked from vmlinux.o, both are linked
//     from the same archives.
//
// Rule: Kbuild: files from which vmlinux was linked. older.go has kernels before 5.19. Source:
// kernel scripts/link-vmlinux.sh, scripts/Makefile.vmlinux_o.
func (r *reader) linkedInVmlinux() (objects []string, from string, err error) {
	const linkerMap = "vmlinux.map"
	// The map may be left over from a different configuration.
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

// linkedInObject returns the objects from which vmlinux.o was linked. They are listed in
// vmlinux.o.map if CONFIG_BUILTIN_MODULE_RANGES is set, otherwise in the command that linked
// vmlinux.o, which Linux 5.19 and later save (see older.go for earlier releases).
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
			".vmlinux.o.cmd, vmlinux.a or built-in.a; specify the directory where Kbuild built, or "+
			"read the linked file (vmlinux = \"whole\")", r.path("vmlinux"))
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

// locate returns the file of an object that a map lists. For a member of an archive that is not
// thin, it returns the archive. For a member of a thin archive, GNU ld's map has the member's path
// in the tree, and lld's map has the path in the archive.
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

// member returns the path of a member of a thin archive, relative to the tree.
func (r *reader) member(file string) (string, error) {
	if rest, ok := strings.CutPrefix(file, path.Clean(r.dir)+"/"); ok {
		return r.rel(rest)
	}
	return r.rel(file)
}

// missing lists source files that STT_FILE symbols name in vmlinux, but not in its objects.
func (r *reader) missing(objects []string) (names []string, err error) {
	has := map[string]bool{}
	for _, o := range objects {
		if strings.HasSuffix(o, ".a") {
			return nil, nil // the symbols of its members are unknown
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
		// For assembler code, the linker writes the name of the object file.
		if !has[source] && !strings.HasSuffix(source, ".o") {
			has[source] = true
			names = append(names, source)
		}
	}
	slices.Sort(names)
	return names, nil
}
