package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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
	symbols string
	allow   cli.Allow
}

func (k *kabiFlags) define(flags *cli.FlagSet) {
	flags.InputVar(&k.symbols, "symbols",
		"the exported symbols: a Module.symvers, a kABI list of RHEL or Android, or a `FILE` with one "+
			"name per line")
	flags.AllowVar(&k.allow, "allow incompatible changes: `PATTERNS` that match them, followed by "+
		"the reason, such as 'type=struct foo where=member bar.* change=moved # no module uses it'")
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

// kernel is one side of a comparison: a reference, a kernel with its modules, or BTF files.
type kernel struct {
	kabi.Kernel
	side      diff.Side
	reference *btf.Blob // nil if it is none
	isSet     bool      // a kernel with its modules
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
	var set diff.Set
	if set.Kernel, set.Modules, err = archive.ReadSet(path); err != nil {
		return k, err
	}
	warnOfNoModules(env, path, set)
	if set.Kernel != nil {
		if len(bases) > 0 {
			return k, fmt.Errorf("%s has a kernel and its modules, which need no base", path)
		}
		k.side, k.Kernel, k.isSet = set.Blobs(), kabi.FromSet(set), true
		return k, nil
	}
	k.side, err = readSide(env, bases, path)
	k.Kernel = kabi.FromSide(k.side)
	return k, err
}

// readReference reads a reference. It returns nil for other files, and for files that can't be
// opened.
func readReference(path string) (*btf.Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	start := make([]byte, btftext.Start)
	n, err := io.ReadFull(f, start)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, nil // a file that is too short is no reference
	}
	start = start[:n]
	if !btftext.Is(start) {
		return nil, nil
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

// compareAny compares what symbols reach if there is a list of symbols or if A is a reference, else
// all types. For the latter, it returns no report.
func (r *diffRun) compareAny(
	env *cli.Env, files []string, opts diff.Options,
) (diff.Result, *kabi.Report, error) {
	isKABI := r.kabi.symbols != ""
	for i, file := range files {
		if isKABI {
			break
		}
		reference, err := readReference(file)
		switch {
		case err != nil:
			return diff.Result{}, nil, err
		case reference != nil && i == 1:
			return diff.Result{}, nil, cli.Usagef("%s is a reference: it must be the first file, or use "+
				"--symbols", file)
		}
		isKABI = reference != nil
	}
	if isKABI {
		report, result, err := r.compareKABI(env, files, opts)
		return result, report, err
	}
	if r.kabi.allow.Given() {
		return diff.Result{}, nil, cli.Usagef("--allow and --allow-file need --symbols, or a " +
			"reference as A")
	}
	result, err := r.compare(env, files, opts)
	return result, nil, err
}

// compareKABI compares what symbols reach.
func (r *diffRun) compareKABI(
	env *cli.Env, files []string, opts diff.Options,
) (*kabi.Report, diff.Result, error) {
	none := diff.Result{}
	allow, err := cli.ReadAllowed(&r.kabi.allow, kabi.ParseAllowance)
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
	if s := result.Summary; len(opts.Names) > 0 && s.Equal == 0 && s.Same() {
		return nil, none, errors.New("the symbols reach no type that --name and --kinds choose")
	}
	if slices.Equal(r.baseA, r.baseB) {
		warnSame(env, files[0], files[1])
	}
	warnUnmatched(env, report.Unmatched(false))
	if !kernels[1].isSet {
		warnGone(env, files, report.Symbols, result.Differences)
	}
	return report, result, nil
}

// inText is what render says about a report.
func inText(r *kabi.Report) *render.KABI {
	if r == nil {
		return nil
	}
	return &render.KABI{Symbols: r.Symbols, Missing: r.MissingText("A or B"), Verdict: r.String()}
}

// writeKABI writes a reference.
func writeKABI(env *cli.Env, flags *kabiFlags, path string) error {
	allow, err := cli.ReadAllowed(&flags.allow, kabi.ParseAllowance)
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
	b, report, err := kabi.Reference(k.Kernel, list, allow)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if missing := report.MissingText(path); missing != "" {
		env.Inform("%s", missing)
	}
	warnUnmatched(env, report.Unmatched(true))
	var text bytes.Buffer
	if err := btftext.Write(&text, b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
}
