package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// proxy sits between Bazel and a cache or executor. It forwards HTTP/1.1 and gRPC, counts requests
// and shows them to the test. It changes only one message, the answer to GetCapabilities: Bazel 7
// speaks version 2.0 of the Remote Execution API and gives up if a server requires 2.1 or later, so
// the proxy makes the answer say 2.0.
type proxy struct {
	Addr string // HOST:PORT, where the proxy listens

	server *http.Server
	mu     sync.Mutex
	watch  func(*http.Request)
	answer http.Handler
	counts map[string]int
}

// startProxy starts a proxy that listens on a free port of the loopback device and forwards
// requests to the backend, HOST:PORT. The backend speaks gRPC without TLS if grpc is set, or else
// HTTP/1.1.
func startProxy(backend string, grpc bool) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{Addr: listener.Addr().String(), counts: map[string]int{}}
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!grpc)
	transport.Protocols.SetUnencryptedHTTP2(grpc)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: backend})
		},
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: adapt,
		ErrorHandler:   p.unavailable,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer := p.see(r); answer != nil {
				answer.ServeHTTP(w, r)
				return
			}
			forward.ServeHTTP(w, r)
		}),
		Protocols: new(http.Protocols),
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	p.server.Protocols.SetHTTP1(true)
	p.server.Protocols.SetUnencryptedHTTP2(true)
	go p.server.Serve(listener)
	return p, nil
}

// Close stops listening and cuts all connections.
func (p *proxy) Close() { p.server.Close() }

// Watch makes the proxy call f with each request before it forwards the request. If f is nil, the
// proxy stops such calls.
func (p *proxy) Watch(f func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = f
}

// Answer makes h answer all requests in place of the backend. If h is nil, the backend answers
// again.
func (p *proxy) Answer(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = h
}

// Count returns how many requests there were for a path (/SERVICE/METHOD for gRPC), or with an HTTP
// method (GET or PUT).
func (p *proxy) Count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[what]
}

func (p *proxy) see(r *http.Request) http.Handler {
	p.mu.Lock()
	watch, answer := p.watch, p.answer
	p.counts[r.Method]++
	p.counts[r.URL.Path]++
	p.mu.Unlock()
	if watch != nil {
		watch(r)
	}
	return answer
}

// unavailable answers a request if the backend can't be reached: for gRPC with the status
// UNAVAILABLE (14), for HTTP/1.1 with "502 Bad Gateway".
func (p *proxy) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if r.ProtoMajor < 2 {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", "14")
	w.Header().Set("Grpc-Message", "the server is gone")
	w.WriteHeader(http.StatusOK)
}

// Capabilities is the path of the only method whose answer the proxy changes.
const Capabilities = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities"

// lowVersion is the number of the field low_api_version in ServerCapabilities.
const lowVersion protowire.Number = 4

// adapt sets the low_api_version in the answer to GetCapabilities to 2.0. It also changes gRPC
// answers that consist only of a status: they have the status in the header, but the proxy sends
// the header before it knows that nothing follows, so adapt turns the status into a trailer.
func adapt(r *http.Response) error {
	for _, name := range []string{"Grpc-Status", "Grpc-Message"} {
		if v := r.Header.Values(name); len(v) > 0 {
			if r.Trailer == nil {
				r.Trailer = http.Header{}
			}
			r.Trailer[name] = v
			r.Header.Del(name)
		}
	}
	if r.Request.URL.Path != Capabilities {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return err
	}
	r.Body.Close()
	if len(body) > 0 {
		if body, err = rewrite(body); err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = -1
	r.Header.Del("Content-Length")
	return nil
}

// rewrite sets low_api_version in a gRPC frame. A frame is a byte for the compression, 4 bytes for
// the length, and the message.
func rewrite(frame []byte) ([]byte, error) {
	if len(frame) < 5 || frame[0] != 0 || int(binary.BigEndian.Uint32(frame[1:])) != len(frame)-5 {
		return nil, errors.New("GetCapabilities was not answered with one plain frame")
	}
	var out []byte
	for message := frame[5:]; len(message) > 0; {
		n, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, fmt.Errorf("ServerCapabilities: %w", protowire.ParseError(size))
		}
		value := protowire.ConsumeFieldValue(n, typ, message[size:])
		if value < 0 {
			return nil, fmt.Errorf("ServerCapabilities: %w", protowire.ParseError(value))
		}
		if n != lowVersion {
			out = append(out, message[:size+value]...)
		}
		message = message[size+value:]
	}
	version := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	out = protowire.AppendBytes(protowire.AppendTag(out, lowVersion, protowire.BytesType), version)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(out))), out...), nil
}
