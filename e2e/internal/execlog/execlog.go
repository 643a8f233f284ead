// Package execlog reads Bazel's compact execution log (--execution_log_compact_file): one zstd
// stream of ExecLogEntry messages, each after its length as a varint. The messages are tools.protos
// in Bazel's src/main/protobuf/spawn.proto; only spawns are read here.
package execlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// Spawn is an action that ran, or whose result came from a cache.
type Spawn struct {
	Label    string // of the target
	Mnemonic string
	Runner   string // "linux-sandbox", "disk cache hit", "remote cache hit", …
	CacheHit bool
	Args     []string
}

// Field numbers of ExecLogEntry and Spawn.
const (
	entrySpawn protowire.Number = 7

	spawnArgs     protowire.Number = 1
	spawnLabel    protowire.Number = 7
	spawnMnemonic protowire.Number = 8
	spawnRunner   protowire.Number = 11
	spawnCacheHit protowire.Number = 12
)

// maxEntry is the largest size of a message, in bytes. The largest messages are sets of input
// files.
const maxEntry = 64 << 20

// Read returns the spawns of a log, in the order in which they ended.
func Read(r io.Reader) ([]Spawn, error) {
	z, err := zstd.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	in := bufio.NewReader(z)
	var spawns []Spawn
	for {
		size, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return spawns, nil
		}
		if err != nil {
			return nil, fmt.Errorf("execution log: %w", err)
		}
		if size > maxEntry {
			return nil, fmt.Errorf("execution log: an entry of %d bytes", size)
		}
		entry := make([]byte, size)
		if _, err := io.ReadFull(in, entry); err != nil {
			return nil, fmt.Errorf("execution log: %w", err)
		}
		err = fields(entry, func(n protowire.Number, v value) error {
			if n != entrySpawn {
				return nil
			}
			s, err := spawn(v.bytes)
			spawns = append(spawns, s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("execution log: %w", err)
		}
	}
}

func spawn(message []byte) (Spawn, error) {
	var s Spawn
	err := fields(message, func(n protowire.Number, v value) error {
		switch n {
		case spawnArgs:
			s.Args = append(s.Args, string(v.bytes))
		case spawnLabel:
			s.Label = string(v.bytes)
		case spawnMnemonic:
			s.Mnemonic = string(v.bytes)
		case spawnRunner:
			s.Runner = string(v.bytes)
		case spawnCacheHit:
			s.CacheHit = v.number != 0
		}
		return nil
	})
	return s, err
}

// value is a field's content: bytes for strings and messages, else number.
type value struct {
	bytes  []byte
	number uint64
}

// fields calls f for each field of a message that has a varint or bytes.
func fields(message []byte, f func(protowire.Number, value) error) error {
	for len(message) > 0 {
		n, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		var v value
		switch typ {
		case protowire.VarintType:
			v.number, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.bytes, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(n, typ, message)
		}
		if size < 0 {
			return errors.New("a field is cut short")
		}
		message = message[size:]
		if typ == protowire.VarintType || typ == protowire.BytesType {
			if err := f(n, v); err != nil {
				return err
			}
		}
	}
	return nil
}
