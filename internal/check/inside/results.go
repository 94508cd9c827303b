package inside

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The files that Kubernetes' conformance image leaves: what its tests print, and JUnit's XML.
// FileDone comes when they have ended and the other two are complete.
const (
	FileLog   = "e2e.log"
	FileJUnit = "junit_01.xml"
	FileDone  = "done"
)

// mostReported bounds the report of a test's process, which names all failures so far.
const mostReported = 1 << 20

// Progress is how far Kubernetes' own tests are.
type Progress struct {
	// Total is how many there are; 0 until they begin.
	Total  int `json:"total"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Last is the name of the test that ended last.
	Last string `json:"last,omitempty"`
}

// report is what a process of the tests posts after each of them, see
// k8s.io/kubernetes/test/e2e/reporters/progress.go. If several processes run tests, each
// counts its own: so only the message is counted here.
type report struct {
	Message string `json:"msg"`
	Total   int    `json:"total"`
}

type reports struct {
	mu sync.Mutex
	at Progress
}

func (p *reports) take(r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at.Total = max(p.at.Total, r.Total)
	if name, is := strings.CutPrefix(r.Message, "PASSED "); is {
		p.at.Passed, p.at.Last = p.at.Passed+1, name
	}
	if name, is := strings.CutPrefix(r.Message, "FAILED "); is {
		p.at.Failed, p.at.Last = p.at.Failed+1, name
	}
}

func (p *reports) now() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// serveResults adds what a pod with Kubernetes' tests answers: their container reports to
// PathProgress, from the pod itself only; a check reads from there and from PathResult.
func (s Server) serveResults(mux *http.ServeMux) {
	all := &reports{}
	mux.HandleFunc("POST "+PathProgress, func(w http.ResponseWriter, r *http.Request) {
		one := report{}
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "only the pod itself reports", http.StatusForbidden)
		} else if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostReported)).Decode(&one); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else {
			all.take(one)
		}
	})
	mux.HandleFunc("GET "+PathProgress, func(w http.ResponseWriter, r *http.Request) {
		if s.allows(w, r) {
			_ = json.NewEncoder(w).Encode(all.now()) // whoever does not get it asks again
		}
	})
	mux.HandleFunc("GET "+PathResult, func(w http.ResponseWriter, r *http.Request) {
		name := r.FormValue("of")
		switch {
		case !s.allows(w, r):
		case !slices.Contains([]string{FileLog, FileJUnit, FileDone}, name):
			http.NotFound(w, r)
		default:
			http.ServeFile(w, r, filepath.Join(s.Results, name))
		}
	})
}
