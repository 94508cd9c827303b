package serve

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestConnectionsEndAtAnAge: a client that keeps its connection gets another one in time, without
// a request that fails.
func TestConnectionsEndAtAnAge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age   time.Duration
		proto int
		same  bool
	}{
		"young":            {time.Hour, 1, true},
		"old":              {time.Nanosecond, 1, false},
		"young, of HTTP/2": {time.Hour, 2, true},
		"old, of HTTP/2":   {time.Nanosecond, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(nil)
			server.Config = aged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Client", r.RemoteAddr)
			}), c.age)
			server.Config.IdleTimeout = time.Hour
			server.EnableHTTP2 = c.proto == 2
			server.StartTLS()
			defer server.Close()
			var from []string
			for range 2 {
				response, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				if response.Body.Close(); response.ProtoMajor != c.proto {
					t.Errorf("HTTP/%d", response.ProtoMajor)
				}
				from = append(from, response.Header.Get("Client"))
				time.Sleep(10 * time.Millisecond) // an end of HTTP/2 arrives after the answer
			}
			if same := from[0] == from[1]; same != c.same || from[0] == "" {
				t.Errorf("requests came from %q", from)
			}
		})
	}
}

// TestIdleConnectionsEndAtAnAge, and no sooner than others.
func TestIdleConnectionsEndAtAnAge(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config = aged(http.NotFoundHandler(), 50*time.Millisecond)
	server.Start()
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	for range 10 {
		if _, err = connection.Read(answer); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the connection ended by %v", err)
	}
}
