package execlog

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The kinds of entries. A kind is the number of the field that has an entry's content. These
// numbers, and those in decoder's methods, are from Bazel's src/main/protobuf/spawn.proto.
const (
	invocationEntry protowire.Number = iota + 2
	fileEntry
	directoryEntry
	linkEntry
	setEntry
	spawnEntry
	symlinkEntry
	linkSetEntry
	runfilesEntry
)

var errNoMessage = errors.New("not a message of a compact execution log")

// field is a field of a message. Its number determines whether value or content is used.
type field struct {
	number  protowire.Number
	value   uint64
	content []byte // valid until the next entry is read
}

// id returns a field's value as the id of an entry.
func (f *field) id() uint32 { return uint32(f.value) }

// fields calls visit for each field of a message. It fails if the entry has too many fields: an
// empty message takes only two bytes in the log, but a hundred in memory.
func (d *decoder) fields(message []byte, visit func(f field) error) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errNoMessage
		}
		if d.seen++; d.seen > maxFields {
			return fmt.Errorf("it has more than %d fields", maxFields)
		}
		message = message[size:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.content, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(number, kind, message)
		}
		if size < 0 {
			return errNoMessage
		}
		message = message[size:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// eachID calls the function do for each id in a field that may be repeated. The field has one
// number, or several that are packed as bytes.
func (f *field) eachID(do func(id uint32) error) error {
	if f.content == nil {
		return do(f.id())
	}
	for b := f.content; len(b) > 0; {
		id, size := protowire.ConsumeVarint(b)
		if size < 0 {
			return errNoMessage
		}
		b = b[size:]
		if err := do(uint32(id)); err != nil {
			return err
		}
	}
	return nil
}

// text sets s to a field's string. Equal strings share one copy.
func (d *decoder) text(s *string, f field) error {
	text, ok := d.strings[string(f.content)]
	if !ok {
		if !utf8.Valid(f.content) {
			return errNoMessage
		}
		text = string(f.content)
		d.strings[text] = text
	}
	*s = text
	return nil
}
