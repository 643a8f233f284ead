package remote

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestRewrite checks that the function rewrite changes the version 2.1 to 2.0, and nothing else.
func TestRewrite(t *testing.T) {
	version := func(m []byte, n protowire.Number, minor uint64) []byte {
		v := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
		if minor > 0 {
			v = protowire.AppendVarint(protowire.AppendTag(v, 2, protowire.VarintType), minor)
		}
		return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), v)
	}
	frame := func(m []byte) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
	}
	got, err := rewrite(frame(version(version(nil, 5, 12), 4, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if want := frame(version(version(nil, 5, 12), 4, 0)); string(got) != string(want) {
		t.Errorf("got %x, want %x", got, want)
	}
	for _, bad := range []string{"", "\x01\x00\x00\x00\x00", "\x00\x00\x00\x00\x01\x22"} {
		if _, err := rewrite([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestForward sends requests through the proxy, first to a server that uses trailers like gRPC, and
// then to a server that no longer runs.
func TestForward(t *testing.T) {
	for _, grpc := range []bool{false, true} {
		backend := httptest.NewUnstartedServer(http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				io.WriteString(w, "got "+string(body))
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
			}))
		backend.Config.Protocols = new(http.Protocols)
		backend.Config.Protocols.SetHTTP1(true)
		backend.Config.Protocols.SetUnencryptedHTTP2(true)
		backend.Start()
		defer backend.Close()
		p, err := startProxy(strings.TrimPrefix(backend.URL, "http://"), grpc)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
		client.Transport.(*http.Transport).Protocols.SetHTTP1(!grpc)
		client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(grpc)
		post := func() (*http.Response, string) {
			t.Helper()
			r, err := client.Post("http://"+p.Addr+"/a/b", "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return r, string(body)
		}
		r, body := post()
		if body != "got hello" || grpc && r.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("grpc %v: got %q, trailers %v", grpc, body, r.Trailer)
		}
		if p.Count("/a/b") != 1 || p.Count("POST") != 1 {
			t.Errorf("the request was counted %d times", p.Count("/a/b"))
		}
		backend.Close()
		if r, _ := post(); grpc && r.Header.Get("Grpc-Status") != "14" ||
			!grpc && r.StatusCode != http.StatusBadGateway {
			t.Errorf("grpc %v, no backend: %v %v", grpc, r.Status, r.Header)
		}
	}
}
