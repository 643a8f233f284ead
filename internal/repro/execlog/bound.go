package execlog

import "google.golang.org/protobuf/encoding/protowire"

// The fields that hold messages, by their numbers in logpb: what is in them is counted too.
var nested = fields{
	3:  {2: nil},                               // file: digest
	4:  {2: {2: nil}},                          // directory: files: digest
	7:  {2: nil, 3: {1: nil}, 6: nil, 16: nil}, // spawn: env, platform, outputs, digest
	9:  {1: nil},                               // link set: links
	10: {6: {2: nil}},                          // runfiles: repo mapping: digest
	2:  nil, 5: nil, 6: nil, 8: nil,
}

type fields map[protowire.Number]fields

// countFields counts the fields of an entry, because an empty message is two bytes in the log and
// a hundred in memory. It stops after maxFields, and where the message is malformed.
func countFields(message []byte) int { return nested.count(message, maxFields) }

// count counts up to limit, or a little more.
func (f fields) count(message []byte, limit int) int {
	n := 0
	for len(message) > 0 && n <= limit {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			break
		}
		message = message[size:]
		n++
		if size = protowire.ConsumeFieldValue(number, kind, message); size < 0 {
			break
		}
		if inner, ok := f[number]; ok && kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(message)
			n += inner.count(content, limit-n)
		}
		message = message[size:]
	}
	return n
}
