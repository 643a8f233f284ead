package pipeline

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// inputFile is an ELF file to convert. It may be a member of an archive.
type inputFile struct {
	elf.Input
	files    *debugfile.Search
	kind     Input
	made     *convert.Result
	warnings []string
	err      error
}

// Objects converts the debugging information, of the given kind, in the files at paths into one
// object. If a file is an archive, its members are converted. If several files or members fail,
// Objects passes their errors to the function list, and returns a summary. watch may be nil.
// Rule: several inputs, or members of archives, converted to one object.
func Objects(files *debugfile.Search, paths []string, kind Input, options convert.Options,
	watch Watcher, list func(error)) (*object.Object, error) {
	inputs, size := findInputs(files, paths, kind)
	progress := func(done, all int) {}
	if unit := "files"; watch != nil {
		if len(inputs) == 1 {
			unit = "units"
		}
		progress = watch.Converting(unit)
	}
	if len(inputs) == 1 {
		alone := options
		alone.Progress = progress
		inputs[0].err = inputs[0].open(func(f *elf.File) error { return inputs[0].read(f, alone) })
	} else {
		convertSeveral(inputs, size, options, progress)
	}
	if err := listErrors(inputs, list); err != nil {
		return nil, err
	}
	o, err := union(inputs)
	if err != nil {
		return nil, err
	}
	var counts convert.Counts
	for i := range inputs {
		counts.Add(&inputs[i].made.Counts)
		for _, line := range inputs[i].warnings {
			options.Warn(line)
		}
	}
	if watch != nil {
		watch.Converted(&counts, o)
	}
	return o, nil
}

// findInputs returns the ELF files at the paths or in archives there, and their size in bytes.
func findInputs(files *debugfile.Search, paths []string, kind Input) (list []inputFile, size int) {
	named := files.Named
	if named != nil {
		named = slices.Concat(named, paths)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			size += int(info.Size())
		}
		members, err := elf.OpenInput(path, named)
		if err == nil && len(members) == 0 {
			err = fmt.Errorf("%s: an archive without members", path)
		}
		if err != nil {
			list = append(list, inputFile{err: err})
		}
		for _, in := range members {
			list = append(list, inputFile{Input: in, files: files, kind: kind})
		}
	}
	return list, size
}

// convertSeveral converts inputs, several at the same time. The parameter size is the total size of
// the inputs in bytes. Types that several inputs have are read only once.
func convertSeveral(list []inputFile, size int, options convert.Options,
	progress func(done, all int)) {
	var large sync.Mutex // converts large inputs
	alone, shares := options, options
	shares.Jobs, shares.Shared = 1, &convert.Shared{Joined: true, Size: size}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Label
	}
	errs := parallel.Each(options.Jobs, names, func(i int) error {
		return list[i].open(func(f *elf.File) error {
			if int64(f.Size()) < largeFile {
				return list[i].read(f, shares)
			}
			large.Lock()
			defer large.Unlock()
			return list[i].read(f, alone)
		})
	}, progress)
	for i, err := range errs {
		list[i].err = err
	}
}

func (in *inputFile) open(do func(f *elf.File) error) error {
	if in.err != nil {
		return in.err
	}
	f, err := in.files.OpenInput(in.Input)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

func (in *inputFile) read(f *elf.File, options convert.Options) (err error) {
	f.Threads = options.Jobs
	options.Warn = func(line string) { in.warnings = append(in.warnings, line) }
	in.made, err = Object(f, in.kind, options)
	return err
}

func union(list []inputFile) (*object.Object, error) {
	if len(list) == 1 {
		return list[0].made.Object, nil
	}
	var names []string
	var objects []*object.Object
	for i := range list {
		names, objects = append(names, list[i].Label), append(objects, list[i].made.Object)
	}
	return object.Union(names, objects)
}

// maxListed limits how many errors are listed; an archive may have thousands of members.
const maxListed = 20

// listErrors passes the errors of the inputs, at most maxListed of them, to the function list, and
// returns a summary. If there is only one error, it returns that error instead.
func listErrors(inputs []inputFile, list func(error)) error {
	var errs []error
	for i := range inputs {
		if inputs[i].err != nil {
			errs = append(errs, inputs[i].err)
		}
	}
	if len(errs) <= 1 {
		return append(errs, nil)[0]
	}
	for _, err := range errs[:min(len(errs), maxListed)] {
		list(err)
	}
	return fmt.Errorf("%d of %d inputs failed; nothing was written", len(errs), len(inputs))
}
