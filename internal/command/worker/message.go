package worker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Request is a WorkRequest of src/main/protobuf/worker_protocol.proto in Bazel. The digests of the
// inputs are not read: nothing is kept from one request to the next.
type Request struct {
	Arguments  []string
	ID         int32 // 0: nothing else is asked before the response
	Cancel     bool  // the request with this id is not wanted any more
	SandboxDir string
}

// Response is a WorkResponse.
type Response struct {
	ExitCode  int32
	Output    string
	ID        int32
	Cancelled bool
}

// Field numbers of WorkRequest and WorkResponse.
const (
	requestArguments  protowire.Number = 1
	requestID         protowire.Number = 3
	requestCancel     protowire.Number = 4
	requestSandboxDir protowire.Number = 6

	responseExitCode  protowire.Number = 1
	responseOutput    protowire.Number = 2
	responseID        protowire.Number = 3
	responseCancelled protowire.Number = 4
)

// readRequest reads a request after its length. The error is io.EOF if there is none.
func readRequest(r *bufio.Reader) (Request, error) {
	size, err := binary.ReadUvarint(r)
	if err == io.EOF {
		return Request{}, err
	}
	if err != nil {
		return Request{}, fmt.Errorf("the length of a request: %w", err)
	}
	if size > 1<<62 {
		return Request{}, fmt.Errorf("a request of %d bytes", size)
	}
	// A request may have any size, but only what arrives takes memory.
	message, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && uint64(len(message)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Request{}, fmt.Errorf("a request of %d bytes: %w", size, err)
	}
	return parseRequest(message)
}

// parseRequest decodes a request. Fields that are not known are passed over.
func parseRequest(b []byte) (q Request, err error) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return q, fmt.Errorf("malformed WorkRequest: %w", protowire.ParseError(n))
		}
		b = b[n:]
		switch {
		case kind == protowire.BytesType && number == requestArguments:
			var s string
			s, n = protowire.ConsumeString(b)
			q.Arguments = append(q.Arguments, s)
		case kind == protowire.BytesType && number == requestSandboxDir:
			q.SandboxDir, n = protowire.ConsumeString(b)
		case kind == protowire.VarintType && (number == requestID || number == requestCancel):
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			if number == requestID {
				q.ID = int32(v)
			} else {
				q.Cancel = v != 0
			}
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return q, fmt.Errorf("malformed WorkRequest: field %d: %w", number,
				protowire.ParseError(n))
		}
		b = b[n:]
	}
	return q, nil
}

// append adds the response, after its length, to b. Fields that are zero are left out.
func (s *Response) append(b []byte) []byte {
	var m []byte
	number := func(n protowire.Number, v uint64) {
		if v != 0 {
			m = protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
		}
	}
	number(responseExitCode, uint64(int64(s.ExitCode)))
	if s.Output != "" {
		m = protowire.AppendString(protowire.AppendTag(m, responseOutput, protowire.BytesType), s.Output)
	}
	number(responseID, uint64(int64(s.ID)))
	number(responseCancelled, protowire.EncodeBool(s.Cancelled))
	return protowire.AppendBytes(b, m)
}
