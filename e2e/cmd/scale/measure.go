package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
	"github.com/rules-btf/rules_btf/e2e/scale"
)

// measuring is one run of "scale measure".
type measuring struct {
	kernel, tools, out string
	releases           []string // directories with vmlinux and kernel/**/*.ko
	runs               int

	dir         string // for what the actions write
	base, index string // of the last kernel: its BTF and the index of that
	files       map[*scale.File]string
	samples     map[string][]scale.Sample
}

func measureCommand(flags *pflag.FlagSet) func() error {
	m := &measuring{}
	flags.StringVar(&m.kernel, "kernel", "", "a built kernel: what e2e/linux/kernel.sh prints")
	flags.StringArrayVar(&m.releases, "release", nil,
		"a directory with a distribution's vmlinux, and its modules below kernel, all with DWARF; the"+
			" modules of the first one are measured")
	flags.StringVar(&m.tools, "tools", ".", "the directory of the btfgen and btfdedup to measure")
	flags.StringVarP(&m.out, "output", "o", "e2e/scale/model.json", "the model to write")
	flags.IntVar(&m.runs, "runs", 3, "runs of each action, of which the cheapest counts")
	return m.run
}

func (m *measuring) run() error {
	var err error
	if m.dir, err = os.MkdirTemp("", "scale"); err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	m.samples, m.files = map[string][]scale.Sample{}, map[*scale.File]string{}
	kernel, err := readKernel(m.kernel)
	if err != nil {
		return err
	}
	kernel.Modules = nil
	fmt.Fprintf(os.Stderr, "scale: the %d objects of %s\n", kernel.Count(), m.kernel)
	if err := m.graph(kernel, filepath.Join(m.kernel, "vmlinux"), ""); err != nil {
		return err
	}
	for _, most := range []int{4, 16, 64} {
		if err := m.groups(kernel, most); err != nil {
			return err
		}
	}
	if len(m.releases) == 0 {
		return fmt.Errorf("--release=DIR is missing")
	}
	for _, dir := range slices.Backward(m.releases) { // the modules stand on the first one
		fmt.Fprintf(os.Stderr, "scale: %s/vmlinux\n", dir)
		if err := m.distribution(filepath.Join(dir, "vmlinux")); err != nil {
			return err
		}
	}
	modules, err := modulesBelow(filepath.Join(m.releases[0], "kernel"))
	if err != nil {
		return err
	}
	model := &scale.Model{Machine: machine(), Costs: map[string]scale.Cost{}}
	if model.Sizes, err = m.sizes(kernel, modules); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "scale: some of the %d modules\n", len(modules))
	if err := m.someModules(modules); err != nil {
		return err
	}
	perInput := map[string]bool{scale.Gen: true, scale.Merge: true, scale.Modules: true}
	for _, name := range scale.Names {
		model.Costs[name] = scale.Fit(m.samples[name], perInput[name])
	}
	data, err := json.MarshalIndent(model, "", "\t")
	if err != nil {
		return err
	}
	if _, err := scale.ParseModel(data); err != nil {
		return err
	}
	return os.WriteFile(m.out, append(data, '\n'), 0o666)
}

// sizes are those of the model.
func (m *measuring) sizes(kernel *scale.Kernel, modules []scale.Linked) (s scale.Sizes,
	err error) {
	var total int64
	directories := map[string]int{}
	var bytes []int64
	for _, o := range kernel.Objects {
		total += o.Bytes
		bytes = append(bytes, o.Bytes)
		directories[filepath.Dir(o.Path)]++
	}
	slices.Sort(bytes)
	s.Objects = sample(bytes, 200)
	for _, n := range directories {
		s.Directories = append(s.Directories, n)
	}
	slices.Sort(s.Directories)
	s.Vmlinux = float64(kernel.Vmlinux) / float64(total)
	all, in, err := moduleSizes(modules)
	s.Modules, s.ModuleDirectories, s.Distribution = sample(all, 400), sample(in, 200), len(all)
	for _, tool := range []string{"btfgen", "btfdedup"} {
		n, err := size(filepath.Join(m.tools, tool))
		if err != nil {
			return s, err
		}
		s.Tools = max(s.Tools, n)
	}
	return s, err
}

// free is a model for what has no costs yet, and is laid out all the same.
var free = &scale.Model{Costs: map[string]scale.Cost{}}

// groups runs the conversions of groups of a kernel's objects.
func (m *measuring) groups(kernel *scale.Kernel, most int) error {
	b := scale.NewBuild(free, kernel, scale.Grain{Objects: most, Modules: 1})
	for _, a := range b.Actions {
		if a.Kind != scale.Gen {
			continue
		}
		var paths []string
		for _, f := range a.Inputs[:len(a.Inputs)-1] { // the last one is the tool
			paths = append(paths, filepath.Join(m.kernel, f.Name))
		}
		if err := m.action(a.Kind, filepath.Join(m.dir, "group.btfo"), paths); err != nil {
			return err
		}
	}
	return nil
}

// graph runs each action of a kernel's BTF, in order. If units is not "", the object files are BTF
// objects in that directory, and vmlinux is there too.
func (m *measuring) graph(kernel *scale.Kernel, vmlinux, units string) error {
	b := scale.NewBuild(free, kernel, scale.Grain{Objects: 1, Modules: 1})
	for i, a := range b.Actions {
		inputs := a.Inputs[:len(a.Inputs)-1] // the last one is the tool
		if units != "" && a.Kind == scale.Gen {
			m.files[a.Output] = filepath.Join(units, filepath.Base(inputs[0].Name))
			continue
		}
		var paths []string
		for _, f := range inputs {
			path := m.files[f]
			switch {
			case f.Name == "vmlinux":
				path = vmlinux
			case f.By == nil:
				path = filepath.Join(m.kernel, f.Name)
			}
			paths = append(paths, path)
		}
		out := filepath.Join(m.dir, fmt.Sprintf("%06d", i))
		m.files[a.Output] = out
		if err := m.action(a.Kind, out, paths); err != nil {
			return err
		}
		if a.Kind == scale.Index {
			m.base, m.index = paths[0], out
		}
	}
	return m.pahole(vmlinux)
}

// distribution measures the merges and the link of a large kernel. Its object files aren't there;
// its units stand for them, in the order in which they were linked, 16 in a directory.
func (m *measuring) distribution(vmlinux string) error {
	units, err := os.MkdirTemp(m.dir, "units")
	if err != nil {
		return err
	}
	defer os.RemoveAll(units)
	dir := filepath.Join(units, "all")
	if err := measure.Units(vmlinux, dir); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	kernel := &scale.Kernel{}
	for i, e := range list {
		path := fmt.Sprintf("s%02d/d%03d/%s", i/16/20, i/16, e.Name())
		kernel.Objects = append(kernel.Objects, scale.Object{Path: path})
	}
	return m.graph(kernel, vmlinux, dir)
}

// someModules measures modules of a distribution, alone and in groups.
func (m *measuring) someModules(modules []scale.Linked) error {
	kernel := &scale.Kernel{Modules: modules}
	for _, of := range []struct{ most, groups int }{{1, 60}, {4, 20}, {16, 12}, {64, 6}} {
		b := scale.NewBuild(free, kernel, scale.Grain{Objects: 1, Modules: of.most})
		var groups []group
		for _, a := range b.Actions {
			if a.Kind == scale.Modules {
				groups = append(groups, groupOf(a))
			}
		}
		slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.bytes, b.bytes) })
		for i, g := range sample(groups, of.groups) {
			out := filepath.Join(m.dir, "modules")
			err := m.action(scale.Modules, out, g.paths)
			if err == nil && of.most == 1 && i%3 == 0 {
				err = m.kbuild(g.paths[0])
			}
			if err := errors.Join(err, os.RemoveAll(out)); err != nil {
				return err
			}
		}
	}
	return nil
}

// group is some modules.
type group struct {
	paths []string
	bytes int64
}

// groupOf is what a BtfModules converts; its other inputs are made by actions, or the tool.
func groupOf(a *scale.Action) (g group) {
	for _, f := range a.Inputs[:len(a.Inputs)-1] {
		if f.By == nil {
			g.paths, g.bytes = append(g.paths, f.Name), g.bytes+f.Bytes
		}
	}
	return g
}

func (m *measuring) tool(name string) string { return filepath.Join(m.tools, name) }

// action runs an action as the rules do (rules/private/*_actions.bzl), with one thread.
func (m *measuring) action(kind, out string, inputs []string) error {
	dedup := func(verb string, args ...string) []string {
		return append([]string{m.tool("btfdedup"), verb, "-j", "1", "-o", out}, args...)
	}
	var argv []string
	switch n := len(inputs) - 1; kind {
	case scale.Gen:
		argv = append([]string{m.tool("btfgen"), "object", "-j", "1", "-o", out}, inputs...)
	case scale.Facts:
		argv = append([]string{m.tool("btfgen"), "facts", "-j", "1", "-o", out}, inputs...)
	case scale.Merge:
		argv = dedup("merge", inputs...)
	case scale.Link:
		argv = dedup("link", append([]string{"--skipped", out + ".skipped", "--facts", inputs[n]},
			inputs[:n]...)...)
	case scale.Index:
		argv = dedup("index", inputs...)
	case scale.Modules:
		argv = dedup("modules", append([]string{"--skipped-dir", out, "--embed", out, "--keep-ids",
			"--lang-exclude=rust", "--base", m.index}, inputs...)...)
	}
	return m.add(kind, out, inputs, argv)
}

// paholeFlags are those of Kbuild (scripts/Makefile.btf), with one thread.
const paholeFlags = "-j1 --btf_features=encode_force,var,float,enum64,decl_tag,type_tag," +
	"optimized_func,consistent_func,decl_tag_kfuncs --lang_exclude=rust"

// pahole makes the BTF of vmlinux.
func (m *measuring) pahole(vmlinux string) error {
	if _, err := exec.LookPath("pahole"); err != nil {
		return fmt.Errorf("%w: e2e/scale/run starts this where it is", err)
	}
	out := filepath.Join(m.dir, "pahole.btf")
	argv := append([]string{"pahole"}, strings.Fields(paholeFlags)...)
	return m.add(scale.Pahole, out, []string{vmlinux},
		append(argv, "--btf_encode_detached="+out, vmlinux))
}

// kbuild makes the BTF of a module as Kbuild does, with its script: pahole, resolve_btfids, and
// objcopy, which puts it into the module.
func (m *measuring) kbuild(ko string) error {
	script := filepath.Join(m.kernel, "scripts/gen-btf.sh")
	copied := filepath.Join(m.dir, "kbuild.ko")
	// The script wants a module without BTF, and changes it.
	return m.addAfter(measure.Command{Argv: []string{"objcopy", "-R", ".BTF", ko, copied}},
		scale.PaholeModule, copied, []string{ko}, []string{"env", "PAHOLE=pahole",
			"PAHOLE_FLAGS=" + paholeFlags, "OBJCOPY=objcopy", "objtree=" + m.kernel,
			"RESOLVE_BTFIDS=" + filepath.Join(m.kernel, "tools/bpf/resolve_btfids/resolve_btfids"),
			"sh", script, "--btf_base", m.base, copied})
}

// add runs a command and keeps what its cheapest run cost.
func (m *measuring) add(kind, out string, inputs, argv []string) error {
	return m.addAfter(measure.Command{}, kind, out, inputs, argv)
}

// addAfter is add of a command before each run of which there is another one, which isn't measured.
func (m *measuring) addAfter(before measure.Command, kind, out string, inputs,
	argv []string) error {
	s := scale.Sample{Inputs: len(inputs)}
	for _, path := range inputs {
		n, err := size(path)
		if err != nil {
			return err
		}
		s.In += n
	}
	runs := m.runs
	for i := 0; i < runs; i++ {
		if before.Argv != nil {
			if _, err := measure.Once(before); err != nil {
				return err
			}
		}
		r, err := m.command(argv...)
		if err != nil {
			return err
		}
		if r.CPU.Seconds() > 2 {
			runs = 1 // long enough to be exact
		}
		if i == 0 || r.CPU.Seconds() < s.CPU {
			s.CPU, s.Memory = r.CPU.Seconds(), r.Peak
		}
	}
	var err error
	if s.Out, err = written(out); err != nil {
		return err
	}
	m.samples[kind] = append(m.samples[kind], s)
	return nil
}

// written is the size of a file, or of all files in a directory.
func written(path string) (n int64, err error) {
	err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		bytes, err := size(path)
		n += bytes
		return err
	})
	return n, err
}

func (m *measuring) command(argv ...string) (measure.Run, error) {
	return measure.Once(measure.Command{Argv: argv})
}

// machine names the processor.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
