// Package inside is what a check of a cluster runs in its pods: a server that tries from
// there what it is asked to try.
package inside

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The paths of the server, and the port that it listens on in a pod.
const (
	PathHello    = "/hello"
	PathEcho     = "/echo"
	PathName     = "/name"
	PathFetch    = "/fetch"
	PathExchange = "/exchange"
	PathDial     = "/dial"
	PathWrite    = "/write"
	PathRead     = "/read"
	PathProgress = "/progress"
	PathResult   = "/result"
	Port         = 8080
)

// tryTime bounds one attempt.
const tryTime = 10 * time.Second

// mostRead is how many bytes of an answer or a file are taken.
const mostRead = 4096

// bulk is how many bytes an exchange sends each way: some tens of packets, so that they have the
// size that the network of pods allows.
const bulk = 64 << 10

// Server answers the questions of a check. Whoever knows the token may ask it to connect to
// others, so it is different for each check.
type Server struct {
	// Node is the name of the node that the pod is on.
	Node  string
	Token string
	// Dir is the folder of the volume; empty without one.
	Dir string
	// Results is the folder of what Kubernetes' own tests find, which run in another container
	// of the pod; empty without them.
	Results string
	// Resolve looks a name up; nil is the resolver of the pod.
	Resolve func(ctx context.Context, name string) ([]string, error)
	// Dial connects; nil is the network of the pod.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Handler returns the HTTP handler. PathHello needs no token: a Service and a load balancer
// are tried with it. Neither does PathEcho, which returns what it is sent.
func (s Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathHello, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.Node) })
	mux.HandleFunc("POST "+PathEcho, func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bulk)); err == nil {
			_, _ = w.Write(text) // whoever does not get it says so
		}
	})
	if s.Results != "" {
		s.serveResults(mux)
	}
	for path, try := range map[string]func(context.Context, *http.Request) (string, error){PathName: s.name, PathFetch: s.fetch, PathExchange: s.exchange, PathDial: s.connect, PathWrite: s.write, PathRead: s.read} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if !s.allows(w, r) {
				return
			}
			ctx, cancel := context.WithTimeoutCause(r.Context(), tryTime, fmt.Errorf("no answer within %s", tryTime))
			defer cancel()
			answer, err := try(ctx, r)
			if err != nil {
				if over := context.Cause(ctx); over != nil {
					err = fmt.Errorf("%w: %w", over, err)
				}
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			fmt.Fprint(w, answer)
		})
	}
	return mux
}

// allows refuses a request without the token.
func (s Server) allows(w http.ResponseWriter, r *http.Request) bool {
	if subtle.ConstantTimeCompare([]byte(r.FormValue("token")), []byte(s.Token)) != 1 {
		http.Error(w, "the token is wrong", http.StatusForbidden)
		return false
	}
	return true
}

func (s Server) name(ctx context.Context, r *http.Request) (string, error) {
	resolve := s.Resolve
	if resolve == nil {
		resolve = net.DefaultResolver.LookupHost
	}
	found, err := resolve(ctx, r.FormValue("of"))
	if err == nil && len(found) == 0 {
		err = errors.New("no address")
	}
	return fmt.Sprint(found), err
}

func (s Server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.Dial != nil {
		return s.Dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// fetch gets the hello of another pod, by its address or through a Service.
func (s Server) fetch(ctx context.Context, r *http.Request) (string, error) {
	return s.call(ctx, http.MethodGet, "http://"+r.FormValue("of")+PathHello, nil, mostRead)
}

// exchange has another pod return as many bytes as several packets of full size carry. If the
// pods' MTU is larger than what the network carries, small packets arrive and these do not.
func (s Server) exchange(ctx context.Context, r *http.Request) (string, error) {
	sent := strings.Repeat("0123456789abcdef", bulk/16)
	got, err := s.call(ctx, http.MethodPost, "http://"+r.FormValue("of")+PathEcho, strings.NewReader(sent), bulk+1)
	if err == nil && got != sent {
		err = fmt.Errorf("of %d bytes %d came back, or other ones", len(sent), len(got))
	}
	return strconv.Itoa(len(got)), err
}

// call makes a request and returns the answer, of which it reads so many bytes. Each time it
// makes a new connection: a Service chooses a pod for each.
func (s Server) call(ctx context.Context, method, url string, body io.Reader, most int64) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s", answer.Status)
	}
	return string(text), err
}

func (s Server) connect(ctx context.Context, r *http.Request) (string, error) {
	c, err := s.dial(ctx, "tcp", r.FormValue("of"))
	if err != nil {
		return "", err
	}
	return c.RemoteAddr().String(), c.Close()
}

func (s Server) file() (string, error) {
	if s.Dir == "" {
		return "", errors.New("there is no volume")
	}
	return filepath.Join(s.Dir, "slipway-check"), nil
}

// write writes a text into a file on the volume, and has it reach the disk.
func (s Server) write(_ context.Context, r *http.Request) (string, error) {
	path, err := s.file()
	if err != nil {
		return "", err
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(r.FormValue("text"))
	return "written", errors.Join(err, f.Sync(), f.Close())
}

func (s Server) read(context.Context, *http.Request) (string, error) {
	path, err := s.file()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
