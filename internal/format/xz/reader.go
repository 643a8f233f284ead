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
// form. As many blocks as jobs are in memory: with several jobs, while one block is read, other
// threads decompress the next ones. The reader must be closed.
func NewReader(data []byte, jobs int) (r io.ReadCloser, ok bool) {
	f, ok := parse(data)
	if !ok {
		return nil, false
	}
	for i := range f.blocks {
		if f.blocks[i].size > maxBlock {
			return nil, false
		}
	}
	buffers := max(jobs, 1)
	b := &blocks{
		next:   make(chan chan []byte, buffers),
		free:   make(chan []byte, buffers),
		closed: make(chan struct{}),
	}
	for range buffers {
		b.free <- nil
	}
	b.threads.Go(func() { b.decode(f) })
	return b, true
}

type blocks struct {
	threads parallel.Group
	// next has a channel for each block, in the order of the file. The channel gets the block's
	// content, or nil if the block is damaged.
	next    chan chan []byte
	free    chan []byte // buffers; their number limits how many blocks are in memory
	closed  chan struct{}
	content []byte // of the block that is being read
	rest    []byte // the part of it that is still to be read
	err     error
}

// decode starts a thread for each block, as soon as there is a buffer for its content.
func (b *blocks) decode(f *file) {
	defer close(b.next)
	for i := range f.blocks {
		block := &f.blocks[i]
		var buffer []byte
		select {
		case buffer = <-b.free:
		case <-b.closed:
			return
		}
		result := make(chan []byte, 1)
		b.next <- result
		b.threads.Go(func() {
			defer close(result) // also after a panic
			if uint64(cap(buffer)) < block.size+wordSize {
				buffer = make([]byte, block.size+wordSize)
			}
			if content := buffer[:block.size]; f.decode(block, content) {
				result <- content
			}
		})
	}
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.content != nil {
			b.free <- b.content
			b.content = nil
		}
		result, ok := <-b.next
		if !ok {
			b.err = io.EOF
			continue
		}
		if b.content = <-result; b.content == nil {
			b.err = errors.New("xz: a block is damaged")
		}
		b.rest = b.content
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close ends the threads that decompress blocks, and waits for them, because they read the file.
func (b *blocks) Close() error {
	close(b.closed)
	b.threads.Wait()
	return nil
}
