// Package worker is Bazel's side of a persistent worker: requests arrive on standard input, each is
// done in its own goroutine, and responses leave on standard output, in the order in which the
// requests end. Many requests may be there at the same time (multiplex workers).
//
// The messages are those of blaze.worker in Bazel's worker_protocol.proto, each after its length as
// a varint. They are few and small, so they are read by hand: descriptors of generated code would
// cost every process of the command some time at its start, worker or not.
package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Run does the work of a request and returns its exit code. Relative paths are from dir on, unless
// that is "". What the user is to see is written to output.
type Run func(args []string, dir string, output io.Writer) (code int)

// server is a worker that runs.
type server struct {
	run   Run
	slots chan struct{} // as many as requests may run at the same time
	all   sync.WaitGroup

	mu      sync.Mutex
	pending map[int32]*ticket // requests without a response

	writing sync.Mutex // apart: requests are read while a response waits for its reader
	w       io.Writer
	failed  error // of the first write that failed
}

// ticket is a request that has no response yet.
type ticket struct {
	cancelled chan struct{} // closed when it is not wanted any more
	once      sync.Once
}

// Serve does what the requests that r has ask for, at most limit of them at the same time, until
// there are no more, and returns when all are done. An error means that r has something else than
// requests, or that w doesn't take the responses. A request that fails, or panics, is no error.
func Serve(r io.Reader, w io.Writer, limit int, run Run) error {
	s := &server{run: run, slots: make(chan struct{}, limit), w: w, pending: map[int32]*ticket{}}
	in := bufio.NewReader(r)
	for {
		q, err := readRequest(in)
		if err != nil {
			s.all.Wait()
			if err == io.EOF {
				err = s.failed
			}
			return err
		}
		if q.Cancel {
			s.cancel(q.ID)
			continue
		}
		t := s.begin(q.ID)
		s.all.Go(func() { s.serve(q, t) })
	}
}

// begin notes a request.
func (s *server) begin(id int32) *ticket {
	t := &ticket{cancelled: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[id] = t
	return t
}

// cancel makes a request that waits end at once. One that runs goes on to its end, which is near;
// its response says then that it was cancelled. It does nothing for a
// request that has its response already.
func (s *server) cancel(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.pending[id]; t != nil {
		t.once.Do(func() { close(t.cancelled) })
	}
}

// serve does the work of a request, when its turn comes, and responds.
func (s *server) serve(q Request, t *ticket) {
	response := Response{ID: q.ID}
	select {
	case <-t.cancelled:
	case s.slots <- struct{}{}:
		response.ExitCode, response.Output = s.do(q)
		<-s.slots
	}
	if s.end(q.ID, t) {
		response = Response{ID: q.ID, Cancelled: true}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.w.Write(response.append(nil)); err != nil && s.failed == nil {
		s.failed = fmt.Errorf("a response: %w", err)
	}
}

// end forgets a request, and reports whether it was cancelled.
func (s *server) end(id int32, t *ticket) (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] == t {
		delete(s.pending, id)
	}
	select {
	case <-t.cancelled:
		return true
	default:
		return false
	}
}

// do does the work of a request. A panic is an error of this request alone.
func (s *server) do(q Request) (code int32, output string) {
	var b bytes.Buffer
	defer func() {
		if r := recover(); r != nil {
			code, output = 1, fmt.Sprintf("%sinternal error: %v; please report it\n", b.String(), r)
		}
	}()
	code = int32(s.run(q.Arguments, q.SandboxDir, &b))
	output = b.String()
	if !utf8.ValidString(output) { // a string of a message is UTF-8
		output = strings.ToValidUTF8(output, "?")
	}
	return code, output
}
