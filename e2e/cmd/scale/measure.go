package main

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	runs, sample       int

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
	flags.IntVar(&m.sample, "sample", 60, "how many of the modules are measured")
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
	fmt.Fprintf(os.Stderr, "scale: the %d objects of %s\n", kernel.Count(), m.kernel)
	if err := m.graph(kernel, filepath.Join(m.kernel, "vmlinux"), ""); err != nil {
		return err
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
	paths, err := modulePaths(filepath.Join(m.releases[0], "kernel"))
	if err != nil {
		return err
	}
	model := &scale.Model{Machine: machine(), Costs: map[string]scale.Cost{}}
	if model.Sizes, err = m.sizes(kernel, paths); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "scale: some of the %d modules\n", len(paths))
	if err := m.someModules(paths); err != nil {
		return err
	}
	for _, name := range scale.Names {
		model.Costs[name] = scale.Fit(m.samples[name], name == scale.Merge)
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
func (m *measuring) sizes(kernel *scale.Kernel, modules []string) (s scale.Sizes, err error) {
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
	all, err := moduleSizes(modules)
	s.Modules, s.Distribution = sample(all, 400), len(all)
	for _, tool := range []string{"btfgen", "btfdedup"} {
		n, err := size(filepath.Join(m.tools, tool))
		if err != nil {
			return s, err
		}
		s.Tools = max(s.Tools, n)
	}
	return s, err
}

// graph runs each action of a kernel's BTF, in order. If units is not "", the object files are BTF
// objects in that directory, and vmlinux is there too.
func (m *measuring) graph(kernel *scale.Kernel, vmlinux, units string) error {
	// The costs don't matter here, only which actions there are.
	b := scale.NewBuild(&scale.Model{Costs: map[string]scale.Cost{}}, kernel, 1)
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
	return m.pahole(scale.Pahole, vmlinux, "")
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
	if _, err := m.command(m.tool("btfgen"), "object", "-q", "-j2", "--lang-exclude=rust",
		"--each-unit", dir, vmlinux); err != nil {
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

// someModules measures modules of a distribution.
func (m *measuring) someModules(modules []string) error {
	p := func(name string) string { return filepath.Join(m.dir, name) }
	slices.SortFunc(modules, func(a, b string) int {
		x, _ := size(a)
		y, _ := size(b)
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	})
	for i, ko := range sample(modules, m.sample) {
		o, facts, btf := p("ko.btfo"), p("ko.facts"), p("ko.btf")
		if _, err := m.command(m.tool("btfgen"), "object", "-q", "-j1", "-o", o, ko); err != nil {
			return err
		}
		err := m.action(scale.Facts, facts, []string{ko})
		if err == nil {
			err = m.action(scale.SplitLink, btf, []string{o, facts, m.index})
		}
		if err == nil {
			err = m.action(scale.Embed, p("ko.embedded"), []string{ko, btf})
		}
		if err == nil && i%3 == 0 {
			err = m.pahole(scale.PaholeModule, ko, m.base)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	case scale.Facts, scale.KernelFacts:
		argv = append([]string{m.tool("btfgen"), "facts", "-j", "1", "-o", out}, inputs...)
	case scale.Merge:
		argv = dedup("merge", inputs...)
	case scale.Link:
		argv = dedup("link", append([]string{"--skipped", out + ".skipped", "--facts", inputs[n]},
			inputs[:n]...)...)
	case scale.SplitLink:
		argv = dedup("link", "--skipped", out+".skipped", "--facts", inputs[1], "--base", inputs[2],
			inputs[0])
	case scale.Index:
		argv = dedup("index", inputs...)
	case scale.Embed:
		argv = dedup("embed", "--btf", inputs[1], inputs[0])
	}
	measured := inputs
	if kind == scale.SplitLink || kind == scale.Embed { // as Graph takes their size
		measured = inputs[:1]
	}
	return m.add(kind, out, measured, len(inputs), argv)
}

// pahole runs pahole as Kbuild does, on base if that isn't empty.
func (m *measuring) pahole(kind, in, base string) error {
	if _, err := exec.LookPath("pahole"); err != nil {
		return fmt.Errorf("%w: e2e/scale/run starts this where it is", err)
	}
	out := filepath.Join(m.dir, "pahole.btf")
	argv := []string{"pahole", "-j1", "--btf_features=encode_force,var,float,enum64,decl_tag," +
		"type_tag,optimized_func,consistent_func,decl_tag_kfuncs", "--lang_exclude=rust",
		"--btf_encode_detached=" + out}
	if base != "" {
		argv = append(argv, "--btf_base", base)
	}
	return m.add(kind, out, []string{in}, 1, append(argv, in))
}

// add runs a command and keeps what its cheapest run cost.
func (m *measuring) add(kind, out string, measured []string, inputs int, argv []string) error {
	s := scale.Sample{Inputs: inputs}
	for _, path := range measured {
		n, err := size(path)
		if err != nil {
			return err
		}
		s.In += n
	}
	runs := m.runs
	for i := 0; i < runs; i++ {
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
	if s.Out, err = size(out); err != nil {
		return err
	}
	m.samples[kind] = append(m.samples[kind], s)
	return nil
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
