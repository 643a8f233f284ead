package execlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Limits. The largest messages are directories and sets of inputs; a build of 10,000 actions has a
// log of a few tens of megabytes.
// Rule: execution log: how large it may be.
const (
	maxEntry   = 64 << 20 // bytes of a message
	maxEntries = 8 << 20
	maxFields  = 2 << 20  // in a message, including those of the messages in it
	maxLog     = 4 << 30  // bytes of all messages
	window     = 64 << 20 // bytes of zstd's history
)

const zstdMagic = 0xfd2fb528

// ReadFile reads the log in a file.
func ReadFile(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return log, nil
}

// Read reads a log.
// Rule: execution log: how it is read. Source: spawn.proto in src/main/protobuf of Bazel.
func Read(r io.Reader) (*Log, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	begin, err := in.Peek(4)
	switch {
	case len(begin) == 0 && err == io.EOF:
		return nil, message.Empty("an execution log")
	case len(begin) == 0:
		return nil, err
	case begin[0] == '{':
		return nil, errors.New("this looks like JSON: make the log with --execution_log_compact_file")
	case len(begin) < 4 || binary.LittleEndian.Uint32(begin) != zstdMagic:
		return readEntries(in)
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return readEntries(bufio.NewReaderSize(z, 1<<16))
}

func readEntries(in *bufio.Reader) (*Log, error) {
	d := newDecoder()
	var buffer bytes.Buffer
	for at, n := int64(0), 1; ; n++ {
		size, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return d.log, nil
		}
		fail := func(err error) (*Log, error) {
			return nil, fmt.Errorf("execution log: entry at byte %d (uncompressed): %w", at, err)
		}
		damaged := func(err error) (*Log, error) {
			return fail(fmt.Errorf("%w; make the log again with --execution_log_compact_file", err))
		}
		if err != nil {
			return damaged(readError(err))
		}
		if size > maxEntry {
			return damaged(fmt.Errorf("it has %d bytes, more than the limit of %d; is this a compact "+
				"execution log?", size, maxEntry))
		}
		if n > maxEntries {
			return fail(fmt.Errorf("the log has more than %d entries; build fewer targets", maxEntries))
		}
		buffer.Reset()
		if _, err = io.CopyN(&buffer, in, int64(size)); err != nil {
			return damaged(readError(err))
		}
		if err := d.add(buffer.Bytes()); err != nil {
			return damaged(err)
		}
		if at += int64(size) + 1; at > maxLog {
			return fail(fmt.Errorf("the log has more than %d bytes; build fewer targets",
				int64(maxLog)))
		}
	}
}

func readError(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the log ends in the middle of this entry: the build is still running or " +
			"was killed, or this is not a compact execution log")
	}
	return err
}
