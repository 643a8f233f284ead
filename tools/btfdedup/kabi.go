package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/inspect/diff/render"
	"github.com/rules-btf/rules_btf/internal/inspect/kabi"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
)

// kabiFlags are the flags of the verbs that compare or write a kABI.
type kabiFlags struct {
	symbols   string
	allow     []string
	allowFile string
}

func (k *kabiFlags) define(flags *cli.FlagSet) {
	flags.InputVar(&k.symbols, "symbols",
		"the exported symbols: a Module.symvers, a kABI list of RHEL or Android, or a `FILE` with one "+
			"name per line")
	flags.StringArrayVar(&k.allow, "allow", nil,
		"allow incompatible changes: `PATTERNS` that match them, followed by the reason, such as "+
			"'type=struct foo where=member bar.* change=moved # no module uses it'; repeat the flag for "+
			"several")
	flags.InputVar(&k.allowFile, "allow-file", "a `FILE` with one value of --allow per line")
}

// readSymbols reads the list of symbols. If there is none, the symbols are those of reference.
func (k *kabiFlags) readSymbols(reference *btf.Blob) ([]kabi.Symbol, error) {
	if k.symbols == "" {
		return kabi.SymbolsOf(reference), nil
	}
	data, err := os.ReadFile(k.symbols)
	if err != nil {
		return nil, err
	}
	list, err := kabi.ReadSymbols(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.symbols, err)
	}
	return list, nil
}

// allowances returns the allowances of --allow and of --allow-file.
func (k *kabiFlags) allowances() ([]kabi.Allowance, error) {
	var list []kabi.Allowance
	for _, text := range k.allow {
		a, err := kabi.ParseAllowance(text)
		if err != nil {
			return nil, cli.Usagef("--allow: %v", err)
		}
		list = append(list, a)
	}
	if k.allowFile == "" {
		return list, nil
	}
	data, err := os.ReadFile(k.allowFile)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		a, err := kabi.ParseAllowance(line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", k.allowFile, n, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// kernel is one side of a comparison: a reference, a kernel with its modules, or BTF files.
type kernel struct {
	kabi.Kernel
	side      diff.Side
	reference *btf.Blob // nil if it is none
}

// readKernel reads BTF, a kernel with its modules, or a reference that "dump --format=kabi" has
// written.
func readKernel(env *cli.Env, bases []string, path string) (k kernel, err error) {
	if k.reference, err = readReference(path); err != nil || k.reference != nil {
		if err == nil && len(bases) > 0 {
			err = fmt.Errorf("%s is a reference, which has no base", path)
		}
		k.side = diff.Side{k.reference}
		k.Kernel = kabi.FromSide(k.side)
		return k, err
	}
	if path != cli.Stdin {
		var set diff.Set
		set.Kernel, set.Modules, err = archive.ReadSet(path)
		if err != nil {
			return k, err
		}
		if set.Kernel != nil {
			if len(bases) > 0 {
				return k, fmt.Errorf("%s has the BTF of a kernel and its modules, which needs no base", path)
			}
			k.side, k.Kernel = set.Blobs(), kabi.FromSet(set)
			return k, nil
		}
	}
	k.side, err = readSide(env, bases, path)
	k.Kernel = kabi.FromSide(k.side)
	return k, err
}

// readReference reads a reference. It returns nil for other files.
func readReference(path string) (*btf.Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	start := make([]byte, len(btftext.Magic))
	if _, err := io.ReadFull(f, start); err != nil || string(start) != btftext.Magic {
		return nil, nil // a file that is too short is no reference
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	b, err := btftext.Read(append(start, rest...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// compareKABI compares what symbols reach.
func (r *diffRun) compareKABI(
	env *cli.Env, files []string, opts diff.Options,
) (*kabi.Report, diff.Result, error) {
	none := diff.Result{}
	if r.ownOnly {
		return nil, none, cli.Usagef("--own-only has no effect with --symbols, which makes one blob of " +
			"BTF and its bases; leave it out")
	}
	allow, err := r.kabi.allowances()
	if err != nil {
		return nil, none, err
	}
	var kernels [2]kernel
	for i, bases := range [2][]string{r.baseA, r.baseB} {
		if kernels[i], err = readKernel(env, bases, files[i]); err != nil {
			return nil, none, err
		}
	}
	list, err := r.kabi.readSymbols(kernels[0].reference)
	if err != nil {
		return nil, none, err
	}
	if err := r.checkNames(files, opts, kernels[0].side, kernels[1].side); err != nil {
		return nil, none, err
	}
	report, result, err := kabi.Compare(kernels[0].Kernel, kernels[1].Kernel, [2]string(files),
		kabi.Options{Symbols: list, Allow: allow, Diff: opts})
	if err != nil {
		return nil, none, err
	}
	for i := range report.Allowances {
		if a := &report.Allowances[i]; a.Matched == 0 {
			env.Warn("an entry of --allow or --allow-file matches nothing: %s", a.String())
		}
	}
	return report, result, nil
}

// onPage is what render says about a report.
func onPage(r *kabi.Report) *render.KABI {
	if r == nil {
		return nil
	}
	return &render.KABI{Symbols: r.Symbols, Missing: r.MissingText(), Verdict: r.String()}
}

// writeKABI writes a reference.
func writeKABI(env *cli.Env, flags *kabiFlags, path string) error {
	allow, err := flags.allowances()
	if err != nil {
		return err
	}
	k, err := readKernel(env, env.Bases, path)
	if err != nil {
		return err
	}
	list, err := flags.readSymbols(k.reference)
	if err != nil {
		return err
	}
	b, missing, err := kabi.Reference(k.Kernel, list, allow)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if missing != "" {
		env.Inform("%s", missing)
	}
	var text bytes.Buffer
	if err := btftext.Write(&text, b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
}
