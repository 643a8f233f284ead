// Package workertest asks a persistent worker, in tests.
package workertest

import (
	"bufio"
	"encoding/binary"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/worker"
)

// Ask runs a program as a worker that has the arguments first, sends it all requests at once, and
// returns the responses by id. It fails the test if the worker writes anything else, or fails.
func Ask(t *testing.T, program func() *cobra.Command, first []string,
	requests []worker.Request) map[int32]worker.Response {
	t.Helper()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := append([]string{"--persistent_worker"}, first...)
		ended <- cli.Execute(program, args, in, out, nil)
		out.Close()
	}()
	go func() {
		for _, q := range requests {
			send.Write(Encode(q))
		}
		send.Close()
	}()
	got := map[int32]worker.Response{}
	for r := bufio.NewReader(receive); ; {
		size, err := binary.ReadUvarint(r)
		if err == io.EOF {
			break
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(r, message); err != nil {
			t.Fatal(err)
		}
		response := Decode(t, message)
		if _, twice := got[response.ID]; twice {
			t.Errorf("two responses for request %d", response.ID)
		}
		got[response.ID] = response
	}
	if code := <-ended; code != 0 {
		t.Errorf("the worker's exit code is %d", code)
	}
	if len(got) != len(requests) {
		t.Errorf("%d responses for %d requests", len(got), len(requests))
	}
	return got
}

// Encode is a WorkRequest after its length.
func Encode(q worker.Request) []byte {
	var m []byte
	for _, a := range q.Arguments {
		m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), a)
	}
	m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(q.ID))
	m = protowire.AppendString(protowire.AppendTag(m, 6, protowire.BytesType), q.SandboxDir)
	return protowire.AppendBytes(nil, m)
}

// Decode reads a WorkResponse.
func Decode(t *testing.T, m []byte) (s worker.Response) {
	t.Helper()
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatal("a malformed response")
		}
		m = m[n:]
		var v uint64
		if kind == protowire.BytesType {
			s.Output, n = protowire.ConsumeString(m)
		} else {
			v, n = protowire.ConsumeVarint(m)
		}
		if n < 0 {
			t.Fatal("a response that is cut off")
		}
		switch number {
		case 1:
			s.ExitCode = int32(v)
		case 3:
			s.ID = int32(v)
		case 4:
			s.Cancelled = v != 0
		}
		m = m[n:]
	}
	return s
}
