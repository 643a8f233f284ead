package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// client is the other side of a worker.
type client struct {
	*testing.T
	requests  *io.PipeWriter
	responses *bufio.Reader
	ended     chan error
}

// start starts a worker.
func start(t *testing.T, limit int, run Run) *client {
	in, requests := io.Pipe()
	responses, out := io.Pipe()
	c := &client{t, requests, bufio.NewReader(responses), make(chan error, 1)}
	go func() {
		c.ended <- Serve(in, out, limit, run)
		out.Close()
	}()
	return c
}

func (c *client) send(q Request) {
	c.Helper()
	if _, err := c.requests.Write(encode(c.T, q)); err != nil {
		c.Fatal(err)
	}
}

// receive reads so many responses, by id.
func (c *client) receive(n int) map[int32]Response {
	c.Helper()
	got := map[int32]Response{}
	for range n {
		r := decode(c.T, c.responses)
		if _, twice := got[r.ID]; twice {
			c.Fatalf("two responses for %d", r.ID)
		}
		got[r.ID] = r
	}
	return got
}

// end ends the requests, and wants no more responses.
func (c *client) end() {
	c.Helper()
	c.requests.Close()
	if rest, _ := io.ReadAll(c.responses); len(rest) > 0 {
		c.Errorf("more responses: %q", rest)
	}
	if err := <-c.ended; err != nil {
		c.Error(err)
	}
}

// TestServe: hundreds of requests at the same time, of which each gets its own response, and not
// more run than may.
func TestServe(t *testing.T) {
	const all, limit = 500, 7
	var running, most atomic.Int64
	c := start(t, limit, func(args []string, dir string, output io.Writer) int {
		now := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		fmt.Fprintf(output, "%s in %s", strings.Join(args, " "), dir)
		switch {
		case strings.HasSuffix(args[1], "3"):
			panic("three")
		case strings.HasSuffix(args[1], "4"):
			output.Write([]byte{0xff})
		}
		return len(args[1])
	})
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range all {
			c.send(Request{Arguments: []string{"do", fmt.Sprint(i)}, ID: int32(i + 1),
				SandboxDir: fmt.Sprint("dir", i)})
		}
	})
	got := c.receive(all)
	sending.Wait()
	c.end()
	for i := range all {
		text := fmt.Sprint(i)
		want := Response{ExitCode: int32(len(text)), Output: fmt.Sprintf("do %d in dir%d", i, i),
			ID: int32(i + 1)}
		switch text[len(text)-1] {
		case '3':
			want.ExitCode = 1
			want.Output += "internal error: three; please report it\n"
		case '4':
			want.Output += "?"
		}
		if got[want.ID] != want {
			t.Errorf("got %+v\nwant %+v", got[want.ID], want)
		}
	}
	if most.Load() > limit {
		t.Errorf("%d ran at the same time", most.Load())
	}
}

// TestCancel: a request that waits ends at once, one that runs when it has run, and both responses
// say so. Others aren't touched.
func TestCancel(t *testing.T) {
	began, release := make(chan bool), make(chan bool)
	var ran atomic.Int64
	c := start(t, 1, func([]string, string, io.Writer) int {
		ran.Add(1)
		began <- true
		<-release
		return 3
	})
	c.send(Request{ID: 1})
	<-began // and the others wait
	for id := int32(2); id < 100; id++ {
		c.send(Request{ID: id})
	}
	for id := int32(2); id < 99; id++ {
		c.send(Request{ID: id, Cancel: true})
	}
	c.send(Request{ID: 1000, Cancel: true}) // there is none
	for id, r := range c.receive(97) {
		if want := (Response{ID: id, Cancelled: true}); r != want || id < 2 || id > 98 {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
	c.send(Request{ID: 1, Cancel: true})
	c.send(Request{ID: 1, Cancel: true})
	c.send(Request{ID: 1001, Cancel: true}) // now the ones before have arrived
	release <- true
	if r := c.receive(1)[1]; r != (Response{ID: 1, Cancelled: true}) {
		t.Errorf("the one that ran: %+v", r)
	}
	<-began
	release <- true
	if r := c.receive(1)[99]; r != (Response{ID: 99, ExitCode: 3}) {
		t.Errorf("the one that was not cancelled: %+v", r)
	}
	c.send(Request{ID: 99, Cancel: true}) // it has its response
	c.end()
	if ran.Load() != 2 {
		t.Errorf("%d ran", ran.Load())
	}
}

// TestGarbage: what is no request ends the worker with an error, after it has responded to the
// requests that it got before.
func TestGarbage(t *testing.T) {
	good := encode(t, Request{Arguments: []string{"good"}, ID: 5})
	for _, tt := range []struct {
		bytes, want string
	}{
		{"", ""},
		{"\x80", "the length of a request: unexpected EOF"},
		{strings.Repeat("\xff", 20), "the length of a request"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "bytes"},
		{"\xff\xff\xff\xff\xff\x1f rest", "a request of 1099511627775 bytes: unexpected EOF"},
		{"\x05abc", "a request of 5 bytes: unexpected EOF"},
		{"\x01\x0a", "field 1: "},
		{"\x02\x07\x07", "malformed WorkRequest"},
		{string(good[:len(good)-1]), "unexpected EOF"},
	} {
		var out bytes.Buffer
		err := Serve(strings.NewReader(string(good)+tt.bytes), &out, 2,
			func(args []string, _ string, output io.Writer) int { return len(args) })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.bytes, err, tt.want)
		}
		if r := decode(t, bufio.NewReader(&out)); r != (Response{ID: 5, ExitCode: 1}) || out.Len() != 0 {
			t.Errorf("%q: response %+v and %d bytes", tt.bytes, r, out.Len())
		}
	}
	if err := Serve(bytes.NewReader(good), full{}, 1,
		func([]string, string, io.Writer) int { return 0 }); err == nil {
		t.Error("a response that can't be written is no error")
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
