// Command bench compares btfgen with pahole on one linked kernel and prints a
// Markdown table.
//
//	bench [--runs N] [--jobs 2,1] [--btfgen PATH] VMLINUX
//
// Both programs do the same work: read the DWARF, write the BTF to a file of
// its own. pahole must be on PATH; ./run starts this program where it is.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// paholeFeatures is what Linux 7.2 asks of pahole (scripts/Makefile.btf).
const paholeFeatures = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs"

func main() {
	runs := pflag.Int("runs", 5, "measured runs of each command")
	jobs := pflag.IntSlice("jobs", []int{2, 1}, "numbers of threads")
	btfgen := pflag.String("btfgen", "btfgen", "the btfgen to measure")
	pflag.Parse()
	if pflag.NArg() != 1 || *runs < 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [--runs N] [--jobs 2,1] [--btfgen PATH] VMLINUX")
		os.Exit(2)
	}
	if err := run(os.Stdout, pflag.Arg(0), *btfgen, *jobs, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, vmlinux, btfgen string, jobs []int, runs int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.btf")

	if err := describe(w, vmlinux, btfgen); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n| command | wall: median | least | most | user + sys | peak memory | wall, relative |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|")
	for _, j := range jobs {
		n := strconv.Itoa(j)
		commands := []measure.Command{
			{Name: "pahole -J -j" + n, Argv: []string{"pahole", "-J", "-j" + n, "--btf_features=" + paholeFeatures,
				"--lang_exclude=rust", "--btf_encode_detached=" + out, vmlinux}},
			{Name: "btfgen elf -j" + n, Argv: []string{btfgen, "elf", "-j" + n, "--lang-exclude=rust", "-o", out, vmlinux}},
		}
		series, err := measure.Alternate(runs, commands, func() error {
			if err := os.Remove(out); err != nil && !os.IsNotExist(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
		reference, _, _ := series[0].Wall()
		for _, s := range series {
			median, least, most := s.Wall()
			fmt.Fprintf(w, "| %s | %.2f s | %.2f s | %.2f s | %.2f s | %d MB | 1/%.1f |\n", s.Command.Name,
				median.Seconds(), least.Seconds(), most.Seconds(), s.CPU().Seconds(), s.Peak()>>20,
				reference.Seconds()/median.Seconds())
		}
	}
	fmt.Fprintf(w, "\n%d runs of each command, in turn, after one that is not counted.\n", runs)
	return nil
}

// describe names the input, the machine and the versions.
func describe(w io.Writer, vmlinux, btfgen string) error {
	info, err := os.Stat(vmlinux)
	if err != nil {
		return err
	}
	pahole, err := output("pahole", "--version")
	if err != nil {
		return err
	}
	ours, err := output(btfgen, "--version")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "- input: %s (%d MB)\n", inputName(vmlinux), info.Size()>>20)
	fmt.Fprintf(w, "- pahole %s; %s\n", pahole, ours)
	fmt.Fprintf(w, "- machine: %s\n", machine())
	return nil
}

// inputName is the kernel's release if the path has it, as in
// lib/modules/RELEASE/vmlinux, else the path.
func inputName(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(filepath.Dir(dir)) == "modules" {
		return filepath.Base(path) + " of " + filepath.Base(dir)
	}
	return path
}

func output(argv ...string) (string, error) {
	b, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// machine names the processor, its cores, the memory and the kernel, as far as
// /proc tells.
func machine() string {
	var parts []string
	if model := procField("/proc/cpuinfo", "model name"); model != "" {
		parts = append(parts, model)
	}
	if cpus, err := output("nproc"); err == nil {
		parts = append(parts, cpus+" cores")
	}
	if kb, err := strconv.Atoi(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", float64(kb)/(1<<20)))
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "Linux "+strings.TrimSpace(string(b)))
	}
	return strings.Join(parts, ", ")
}

// procField returns the value of the first "name : value" line of a file.
func procField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
