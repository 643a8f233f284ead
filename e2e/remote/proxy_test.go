package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// startProxy starts a proxy that forwards gRPC without TLS to the backend, HOST:PORT, until the
// test ends. It returns the proxy's address. The proxy changes only the answer to GetCapabilities:
// Bazel 7 speaks version 2.0 of the Remote Execution API and gives up if a server requires 2.1 or
// later, so the proxy makes the answer say 2.0.
func startProxy(t testing.TB, backend string) string {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: backend})
		},
		Transport:      &http.Transport{Protocols: protocols, DisableCompression: true},
		FlushInterval:  -1,
		ModifyResponse: adapt,
		ErrorLog:       log.New(io.Discard, "", 0),
	})
	proxy.Config.Protocols = protocols
	proxy.Start()
	t.Cleanup(proxy.CloseClientConnections)
	return strings.TrimPrefix(proxy.URL, "http://")
}

// adapt changes the answer to GetCapabilities. It also changes gRPC answers that consist only of a
// status: they have the status in the header, but the proxy sends the header before it knows that
// nothing follows, so adapt turns the status into a trailer.
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
	if !strings.HasSuffix(r.Request.URL.Path, ".Capabilities/GetCapabilities") {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	r.Body.Close()
	switch {
	case err != nil:
		return err
	case len(body) > 0 && len(body) < 5:
		return errors.New("GetCapabilities was not answered with a frame")
	case len(body) > 0:
		// A frame is a byte for the compression, 4 bytes for the length, and the message. The last
		// value of a field counts: low_api_version (4) has the major version 2 (field 1).
		const lowVersion = 4
		body = protowire.AppendBytes(protowire.AppendTag(body, lowVersion, protowire.BytesType),
			[]byte{1 << 3, 2, 2 << 3, 0})
		binary.BigEndian.PutUint32(body[1:], uint32(len(body)-5))
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = -1
	r.Header.Del("Content-Length")
	return nil
}
