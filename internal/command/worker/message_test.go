package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// protocol is Bazel's worker_protocol.proto, for the protobuf library, which shares no code with
// what is tested but for the wire format's primitives.
const protocol = `
name: "worker_protocol.proto" package: "blaze.worker" syntax: "proto3"
message_type { name: "Input"
  field { name: "path" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "digest" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL } }
message_type { name: "WorkRequest"
  field { name: "arguments" number: 1 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "inputs" number: 2 type: TYPE_MESSAGE type_name: ".blaze.worker.Input"
    label: LABEL_REPEATED }
  field { name: "request_id" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "cancel" number: 4 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "verbosity" number: 5 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "sandbox_dir" number: 6 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "WorkResponse"
  field { name: "exit_code" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "output" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "request_id" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "was_cancelled" number: 4 type: TYPE_BOOL label: LABEL_OPTIONAL } }`

var messages = func() protoreflect.MessageDescriptors {
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(protocol), &file); err != nil {
		panic(err)
	}
	d, err := protodesc.NewFile(&file, nil)
	if err != nil {
		panic(err)
	}
	return d.Messages()
}()

func message(name protoreflect.Name) *dynamicpb.Message {
	return dynamicpb.NewMessage(messages.ByName(name))
}

func field(m *dynamicpb.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

// encode encodes a request after its length, with some inputs.
func encode(t *testing.T, q Request) []byte {
	t.Helper()
	m := message("WorkRequest")
	list := m.Mutable(field(m, "arguments")).List()
	for _, a := range q.Arguments {
		list.Append(protoreflect.ValueOfString(a))
	}
	inputs := m.Mutable(field(m, "inputs")).List()
	for i := range len(q.Arguments) {
		in := inputs.NewElement()
		d := in.Message().Descriptor().Fields()
		in.Message().Set(d.ByName("path"), protoreflect.ValueOfString(fmt.Sprint("input", i)))
		in.Message().Set(d.ByName("digest"), protoreflect.ValueOfBytes([]byte{byte(i), 0xff}))
		inputs.Append(in)
	}
	m.Set(field(m, "request_id"), protoreflect.ValueOfInt32(q.ID))
	m.Set(field(m, "cancel"), protoreflect.ValueOfBool(q.Cancel))
	m.Set(field(m, "verbosity"), protoreflect.ValueOfInt32(10))
	m.Set(field(m, "sandbox_dir"), protoreflect.ValueOfString(q.SandboxDir))
	var b bytes.Buffer
	if _, err := protodelim.MarshalTo(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode decodes a response after its length.
func decode(t *testing.T, r *bufio.Reader) Response {
	t.Helper()
	m := message("WorkResponse")
	if err := (protodelim.UnmarshalOptions{MaxSize: -1}).UnmarshalFrom(r, m); err != nil {
		t.Fatal(err)
	}
	if len(m.GetUnknown()) > 0 {
		t.Errorf("unknown fields in %v", m)
	}
	return Response{int32(m.Get(field(m, "exit_code")).Int()), m.Get(field(m, "output")).String(),
		int32(m.Get(field(m, "request_id")).Int()), m.Get(field(m, "was_cancelled")).Bool()}
}

// TestMessages compares requests and responses of many kinds with the protobuf library.
func TestMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var wire bytes.Buffer
	var want []Request
	for range 500 {
		q := Request{ID: int32(r.Uint32()) >> r.IntN(32), Cancel: r.IntN(2) == 0}
		for range r.IntN(5) {
			q.Arguments = append(q.Arguments, strings.Repeat("é", r.IntN(1<<r.IntN(14))))
		}
		if r.IntN(2) == 0 {
			q.SandboxDir = "__sandbox/1/_main"
		}
		want = append(want, q)
		wire.Write(encode(t, q))
	}
	in := bufio.NewReader(&wire)
	for i := range want {
		if got, err := readRequest(in); err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("got %+v (%v)\nwant %+v", got, err, want[i])
		}
	}
	if _, err := readRequest(in); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	var responses []Response
	var b []byte
	for i := range 500 {
		responses = append(responses, Response{int32(r.Uint32()) >> r.IntN(32),
			strings.Repeat("ü", r.IntN(1<<r.IntN(14))), int32(i - 250), r.IntN(2) == 0})
		b = responses[i].append(b)
	}
	out := bufio.NewReader(bytes.NewReader(b))
	for _, s := range responses {
		if got := decode(t, out); got != s {
			t.Fatalf("got %+v\nwant %+v", got, s)
		}
	}
}

// FuzzRequest: what the protobuf library reads, we read as the same; and anything else is an error,
// or text that is not UTF-8, which it refuses.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{"", "\x0a\x01a\x18\x07", "\x0a\x00\x20\x01\x32\x03dir",
		"\x12\x05\x0a\x03abc",
		"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x08\x01", "\x0a\xff",
		"\x0b\x0c", "\x9a\x06\x01a",
		"\x32\x01a\x32\x01b",
		"\x0a\x01\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseRequest(data)
		m := message("WorkRequest")
		if proto.Unmarshal(data, m) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		want := Request{ID: int32(m.Get(field(m, "request_id")).Int()),
			Cancel:     m.Get(field(m, "cancel")).Bool(),
			SandboxDir: m.Get(field(m, "sandbox_dir")).String()}
		list := m.Get(field(m, "arguments")).List()
		for i := range list.Len() {
			want.Arguments = append(want.Arguments, list.Get(i).String())
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", data, got, want)
		}
	})
}
