package execlogtest

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// Message is a protobuf message. Each of its methods adds a field and returns the longer message.
// As in proto3, a number that is 0 and an empty string are left out.
type Message []byte

// Number adds a number.
func (m Message) Number(n protowire.Number, v uint64) Message {
	if v == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
}

// Text adds a string.
func (m Message) Text(n protowire.Number, s string) Message {
	if s == "" {
		return m
	}
	return m.Message(n, Message(s))
}

// Message adds a message, or a string or list that is written even if it is empty.
func (m Message) Message(n protowire.Number, content Message) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), content)
}

// IDs adds a list of numbers.
func (m Message) IDs(n protowire.Number, ids ...uint32) Message {
	var list Message
	for _, id := range ids {
		list = protowire.AppendVarint(list, uint64(id))
	}
	return m.Message(n, list)
}

func (m Message) pairs(n protowire.Number, pairs []execlog.Pair) Message {
	for _, p := range pairs {
		m = m.Message(n, Message{}.Text(1, p.Name).Text(2, p.Value))
	}
	return m
}
