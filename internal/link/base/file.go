package base

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Version is the version of the index format. An index with a different version must be rebuilt.
const Version = 4

// magic is at the beginning of every index.
const magic = "BTFBASE\x00"

// Sum identifies a BTF and its bases: it is the SHA-256 of the base's Sum followed by the BTF's own
// bytes as btf.Encode writes them.
type Sum [32]byte

// Values of header.Order.
const (
	littleEndian = 1
	bigEndian    = 2
)

// header follows magic and the CRC-32C of everything after the checksum. All numbers are
// little-endian. After the header come, without padding, the tables of shapes, definitions, strings
// and declaration tags, then index.blocks, then index.refs.
// Rule: index of a base: its format.
type header struct {
	Version uint32
	Order   uint32 // the byte order of the BTF
	// These are parts of object.TargetOfTypes; what the types don't show is 0. In an index of split
	// BTF, both are 0.
	Machine, AddrSize uint32
	// These are the ranges of the BTF's own ids and string offsets. The ends are exclusive.
	StartID, EndID, StartStr, EndStr uint32
	// BTF is the checksum of the BTF. Below is the checksum of its base, or zero if there is none. In
	// an index that was made in memory, both may be zero.
	BTF, Below                             Sum
	Digest                                 types.Hash // see Base.Layers
	Shapes, Definitions, Strings, DeclTags tableShape
	Refs                                   uint32 // size of index.refs, in bytes
}

const (
	checksumAt = len(magic)
	headerAt   = checksumAt + 4
)

var headerLen = binary.Size(header{})

// size returns the size of the whole index, in bytes.
func (h *header) size() uint64 {
	n := uint64(headerAt+headerLen) + uint64(h.blocks()) + uint64(h.Refs)
	for _, s := range []tableShape{h.Shapes, h.Definitions, h.Strings, h.DeclTags} {
		starts, entries := s.sizes()
		n += starts + entries
	}
	return n
}

// blocks returns the size of index.blocks, in bytes.
func (h *header) blocks() uint64 {
	return (uint64(h.EndID-h.StartID) + blockLen - 1) / blockLen * 4
}

func (h *header) append(out []byte) []byte {
	out = append(out, magic...)
	out = append(out, make([]byte, 4)...)
	out, err := binary.Append(out, binary.LittleEndian, h)
	if err != nil {
		panic(err) // the header has no field without a size
	}
	return out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func setChecksum(data []byte) {
	binary.LittleEndian.PutUint32(data[checksumAt:], crc32.Checksum(data[headerAt:], castagnoli))
}

func isIndex(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// parseIndex checks an index and slices it into its parts, which are read only on demand.
// Rule: index of a base: how it is checked.
func parseIndex(data []byte) (*index, error) {
	const again = "rebuild it with btfdedup index"
	if !isIndex(data) || len(data) < headerAt+headerLen {
		return nil, fmt.Errorf("not an index of BTF, or truncated in its header (%d bytes); %s",
			len(data), again)
	}
	x := &index{}
	h := &x.header
	if _, err := binary.Decode(data[headerAt:], binary.LittleEndian, h); err != nil {
		return nil, err
	}
	switch {
	case h.Version != Version:
		return nil, fmt.Errorf("the index has version %d, but this tool reads version %d; %s",
			h.Version, Version, again)
	case crc32.Checksum(data[headerAt:], castagnoli) != binary.LittleEndian.Uint32(data[checksumAt:]):
		return nil, errors.New("the index is damaged: its checksum is wrong; " + again)
	case h.check() != nil:
		return nil, fmt.Errorf("the index is damaged: %w; %s", h.check(), again)
	case h.size() != uint64(len(data)):
		return nil, fmt.Errorf("the index is damaged: it has %d bytes, but its header says %d; %s",
			len(data), h.size(), again)
	}
	rest := data[headerAt+headerLen:]
	x.shapes, rest = cutTable(rest, h.Shapes)
	x.definitions, rest = cutTable(rest, h.Definitions)
	x.strings, rest = cutTable(rest, h.Strings)
	x.declTags, rest = cutTable(rest, h.DeclTags)
	x.blocks, x.refs = rest[:h.blocks()], rest[h.blocks():]
	return x, nil
}

func (h *header) order() binary.ByteOrder {
	if h.Order == bigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// check checks the header fields that determine sizes.
func (h *header) check() error {
	if h.Order != littleEndian && h.Order != bigEndian {
		return fmt.Errorf("invalid byte order %d", h.Order)
	}
	if h.Machine > 1<<16-1 || h.AddrSize != 0 && h.AddrSize != 4 && h.AddrSize != 8 {
		return fmt.Errorf("invalid target: machine %d, addresses of %d bytes", h.Machine, h.AddrSize)
	}
	if h.StartID == 0 || h.EndID < h.StartID || h.EndStr < h.StartStr {
		return fmt.Errorf("invalid ranges: ids %d to %d, strings %d to %d", h.StartID, h.EndID,
			h.StartStr, h.EndStr)
	}
	for _, s := range []tableShape{h.Shapes, h.Definitions, h.Strings, h.DeclTags} {
		if s.Bits > 32 || s.Width > 4 {
			return fmt.Errorf("invalid table: 2^%d buckets, numbers of %d bytes", s.Bits, s.Width)
		}
	}
	return nil
}
