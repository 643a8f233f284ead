package shipped

import (
	"crypto/sha256"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// file is a file that may be a kernel or a module.
type file struct {
	label, path string
	data        []byte
}

// kernel is a kernel with the SHA-256 of its BTF.
type kernel struct {
	*loader.Kernel
	types [sha256.Size]byte
}

type problem struct {
	label string
	err   error
}

// pool has the threads that unpack files while more files are being read.
type pool struct {
	queue   chan func()
	threads parallel.Group
}

func newPool(jobs int) *pool {
	p := &pool{queue: make(chan func())}
	for range max(jobs, 1) {
		p.threads.Go(func() {
			for unpack := range p.queue {
				unpack()
			}
		})
	}
	return p
}

func (p *pool) stop() {
	close(p.queue)
	p.threads.Wait()
}

// collect unpacks a file, and adds it to the kernels or to the modules that wait for a kernel.
func (in *input) collect(f file) {
	defer in.inFlight.Done()
	if in.budget.Spend(0) != nil {
		return // readAll returns the error
	}
	k, m, err := in.try(f)
	if err != nil && isModule(f.path) {
		m, err = loader.Damaged(f.label, f.path, err), nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case err != nil:
		in.wrong = append(in.wrong, problem{f.label, err})
	case m != nil:
		in.waiting = append(in.waiting, m)
	default:
		in.kernels = append(in.kernels, *k)
	}
}

// try is like unpack, but returns a panic as an error. A panic would end the thread, and without
// threads, files would wait forever.
func (in *input) try(f file) (k *kernel, m *loader.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w", f.label, parallel.Recovered(r).Internal())
		}
	}()
	return in.unpack(f)
}

func (in *input) unpack(f file) (*kernel, *loader.Module, error) {
	if len(f.data) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", f.label, message.Empty("a kernel or a module"))
	}
	content, err := kernelimage.Unpack(f.label, f.data, in.opts.MaxDecompressed)
	_ = in.budget.Spend(content.Decompressed) // readAll returns the error
	if err != nil {
		return nil, nil, err
	}
	var types, image []byte
	var e *elf.File
	switch {
	case content.Form == kernelimage.ELF:
		if e, err = elf.Parse(content.Label, content.Data); err != nil {
			return nil, nil, err
		}
		e.MaxDecompressed = in.opts.MaxDecompressed
		if e.IsModule() || isModule(f.path) {
			return nil, loader.NewModule(f.label, f.path, e), nil
		}
		image = content.Data
		if types, err = btf.Section(e, btf.SectionTypes); err == nil {
			err = btf.Detached(e, btf.SectionTypes)
		}
	case content.Form == kernelimage.Flat:
		image = content.Data
		types, err = kernelimage.FindBTF(content.Data)
	case btf.HasMagic(content.Data):
		types = content.Data
	default:
		err = fmt.Errorf("neither a kernel, a module, a package, nor BTF (it starts with %q); "+
			"pass one of these",
			content.Data[:min(4, len(content.Data))])
	}
	var k *loader.Kernel
	if err == nil {
		k, err = loader.NewKernel(content.Label, types, image, e)
	}
	if err == nil && k.Release == "" && types == nil {
		err = fmt.Errorf("neither a kernel (it has no BTF and no text %q) nor a module; "+
			"pass one of these", "Linux version")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", content.Label, err)
	}
	return &kernel{k, sha256.Sum256(types)}, nil, nil
}
