package xz

import (
	"errors"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// maxBlock is the largest content of a block, in bytes, that NewReader accepts. With several
// threads, xz -6 writes blocks with 24 MiB of content.
const maxBlock = 1 << 27

// NewReader returns a reader of the content of an xz file. ok is false if the file has a different
// form. While one block is read, another thread decompresses the next one. The reader must be
// closed.
func NewReader(data []byte) (r io.ReadCloser, ok bool) {
	f, ok := parse(data)
	if !ok {
		return nil, false
	}
	for i := range f.blocks {
		if f.blocks[i].size > maxBlock {
			return nil, false
		}
	}
	b := &blocks{next: make(chan []byte), closed: make(chan struct{})}
	b.thread.Go(func() { b.decode(f) })
	return b, true
}

type blocks struct {
	thread parallel.Group
	next   chan []byte // the content of the blocks; nil for a damaged block
	closed chan struct{}
	rest   []byte // of the block that is being read
	err    error
}

func (b *blocks) decode(f *file) {
	defer close(b.next)
	for i := range f.blocks {
		size := f.blocks[i].size
		content := make([]byte, size, size+wordSize)
		if !f.decode(&f.blocks[i], content) {
			content = nil
		}
		select {
		case b.next <- content:
		case <-b.closed:
			return
		}
		if content == nil {
			return
		}
	}
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		content, ok := <-b.next
		switch {
		case !ok:
			b.err = io.EOF
		case content == nil:
			b.err = errors.New("xz: a block is damaged")
		}
		b.rest = content
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close ends the thread that decompresses blocks, and waits for it, because it reads the file.
func (b *blocks) Close() error {
	close(b.closed)
	b.thread.Wait()
	return nil
}
