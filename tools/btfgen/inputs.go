package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/pipeline/encode"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// input is an ELF file that is converted, which may be a member of an archive.
type input struct {
	elf.Input
	files    *debugfile.Search
	file     *elf.File // while it is converted
	object   *object.Object
	counts   convert.Counts
	warnings []string
	err      error
}

// convertInputs converts ELF files and the members of archives to one object.
func convertInputs(env *cli.Env, run *report.Run, files *debugfile.Search, paths []string,
	options convert.Options) (*object.Object, error) {
	list, size := findInputs(files, paths)
	if len(list) > 1 && files.DWARF != "" {
		return nil, fmt.Errorf("%s: an archive of %d members; --dwarf is the debug file of one file",
			paths[0], len(list))
	}
	unit := "files"
	if len(list) == 1 {
		unit = "units"
	}
	phase := run.Phase("convert", unit)
	if len(list) == 1 {
		options.Progress = phase.Progress
		list[0].convert(options)
	} else {
		convertSeveral(list, size, options, phase.Progress)
	}
	if err := listErrors(env, list); err != nil {
		return nil, err
	}
	o, err := union(list)
	if err != nil {
		return nil, err
	}
	for i := range list {
		options.Counts.Add(&list[i].counts)
		for _, line := range list[i].warnings {
			env.Warn("%s", line)
		}
	}
	run.EndConvert(phase, options.Counts, o)
	return o, nil
}

// findInputs returns the ELF files at the paths, in order: those that aren't archives, and the
// members of archives; and the size of all in bytes.
func findInputs(files *debugfile.Search, paths []string) (list []input, size int) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			size += int(info.Size())
		}
		members, err := elf.OpenInput(path)
		if err == nil && len(members) == 0 {
			err = fmt.Errorf("%s: an archive without members", path)
		}
		if err != nil {
			list = append(list, input{err: err})
		}
		for _, in := range members {
			list = append(list, input{Input: in, files: files})
		}
	}
	return list, size
}

// convertSeveral converts inputs of so many bytes in all, several at the same time. What they have
// in common is read once.
func convertSeveral(list []input, size int, options convert.Options,
	progress func(done, all int)) {
	var large sync.Mutex // held while a large input is converted
	alone, shares := options, options
	shares.Jobs, shares.Shared = 1, &convert.Shared{Joined: true, Size: size}
	shares.Shapers = new(object.Shapers)
	parallel.DoAndCount(options.Jobs, len(list), func(i int) {
		in := &list[i]
		if in.open(); in.err != nil {
			return
		}
		defer in.close()
		if in.file.Size() < largeInput {
			in.read(shares)
			return
		}
		large.Lock()
		defer large.Unlock()
		in.read(alone)
	}, progress)
}

// largeInput is the size, in bytes, of inputs that are converted one at a time, each by several
// threads: the relocated copy of such a file's DWARF is most of the memory that a run needs.
const largeInput = 32 << 20

// convert converts an input that is the only one.
func (in *input) convert(options convert.Options) {
	if in.open(); in.err == nil {
		defer in.close()
		in.read(options)
	}
}

func (in *input) open() {
	if in.err == nil {
		in.file, in.err = in.files.OpenInput(in.Input)
	}
}

// close closes the file, and lets go of the memory that its sections take.
func (in *input) close() {
	in.file.Close()
	in.file = nil
}

// read converts the file, which is open.
func (in *input) read(options convert.Options) {
	in.file.Threads = options.Jobs
	options.Counts = &in.counts
	options.Warn = func(line string) { in.warnings = append(in.warnings, line) }
	in.object, in.err = encode.Object(in.file, options)
}

// union is the inputs' objects as one.
func union(list []input) (*object.Object, error) {
	if len(list) == 1 {
		return list[0].object, nil
	}
	var names []string
	var objects []*object.Object
	for i := range list {
		names, objects = append(names, list[i].Label), append(objects, list[i].object)
	}
	return object.Union(names, objects)
}

// maxListed is how many errors are listed; an archive may have thousands of members.
const maxListed = 20

// listErrors prints a line for each input that has an error, but for the last line, which it
// returns. Of many it prints some.
func listErrors(env *cli.Env, list []input) error {
	var errs []error
	for i := range list {
		if list[i].err != nil {
			errs = append(errs, list[i].err)
		}
	}
	if len(errs) <= 1 {
		return append(errs, nil)[0]
	}
	for _, err := range errs[:min(len(errs), maxListed)] {
		env.Error(err)
	}
	return fmt.Errorf("%d of %d inputs failed; nothing is written", len(errs), len(list))
}
