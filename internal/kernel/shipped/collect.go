package shipped

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

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

// collector unpacks files while others are still read.
type collector struct {
	opts      Options
	queue     chan file
	threads   parallel.Group
	inFlight  sync.WaitGroup // files that were added and are not yet collected
	unsettled int            // files that were added since the last call of settle
	// The numbers of kernels and modules in the current input, and of such files that are skipped
	// because they have only debugging information.
	files, debug int

	mu      sync.Mutex
	found   Found
	kernels []kernel
	waiting []*loader.Module // not yet judged
	wrong   []problem
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

func newCollector(opts Options) *collector {
	c := &collector{opts: opts, queue: make(chan file)}
	for range max(opts.Jobs, 1) {
		c.threads.Go(func() {
			for f := range c.queue {
				c.collect(f)
			}
		})
	}
	return c
}

func (c *collector) add(f file) {
	c.unsettled++
	c.inFlight.Add(1)
	c.queue <- f
}

// finish waits for the threads, and returns what they found.
func (c *collector) finish() (*Found, error) {
	close(c.queue)
	c.threads.Wait()
	if len(c.wrong) > 0 {
		slices.SortFunc(c.wrong, func(a, b problem) int { return cmp.Compare(a.label, b.label) })
		return nil, c.wrong[0].err
	}
	slices.Sort(c.found.Links)
	if err := c.pickKernels(); err != nil {
		return nil, err
	}
	c.judgeRest()
	return &c.found, nil
}

// collect unpacks a file and keeps what it is.
func (c *collector) collect(f file) {
	defer c.inFlight.Done()
	k, m, err := c.try(f)
	if err != nil && isModule(f.path) {
		m, err = loader.Damaged(f.label, f.path, err), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.wrong = append(c.wrong, problem{f.label, err})
	case m != nil:
		c.waiting = append(c.waiting, m)
	default:
		c.kernels = append(c.kernels, *k)
	}
}

// try is like unpack, but returns a panic as an error. Otherwise no thread might be left that takes
// files.
func (c *collector) try(f file) (k *kernel, m *loader.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w", f.label, parallel.Recovered(r).Internal())
		}
	}()
	return c.unpack(f)
}

func (c *collector) unpack(f file) (*kernel, *loader.Module, error) {
	if len(f.data) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", f.label, message.Empty("a kernel or a module"))
	}
	content, err := kernelimage.Unpack(f.label, f.data, c.opts.MaxDecompressed)
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
		e.MaxDecompressed = c.opts.MaxDecompressed
		if e.IsModule() || isModule(f.path) {
			return nil, loader.NewModule(f.label, f.path, e), nil
		}
		image = content.Data
		types, err = btf.Section(e, btf.SectionTypes)
	case content.Form == kernelimage.Flat:
		image = content.Data
		types, err = kernelimage.FindBTF(content.Data)
	case btf.HasMagic(content.Data):
		types = content.Data
	default:
		err = fmt.Errorf("neither a kernel, a module, a package, nor BTF (it starts with %q)",
			content.Data[:min(4, len(content.Data))])
	}
	var k *loader.Kernel
	if err == nil {
		k, err = loader.NewKernel(content.Label, types, image, e)
	}
	if err == nil && k.Release == "" && types == nil {
		err = fmt.Errorf("neither a kernel (it has no BTF and no text %q) nor a module", "Linux version")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", content.Label, err)
	}
	return &kernel{k, sha256.Sum256(types)}, nil, nil
}
