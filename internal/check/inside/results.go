package inside

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// The files that Kubernetes' conformance image leaves: what its tests print, and JUnit's XML.
const (
	FileLog   = "e2e.log"
	FileJUnit = "junit_01.xml"
)

// Progress is how far Kubernetes' own tests are.
type Progress struct {
	// Total is how many there are; 0 until they begin.
	Total int `json:"total"`
	// Ended are those that passed or failed.
	Ended  int `json:"ended"`
	Failed int `json:"failed"`
}

// Ginkgo's log has a bullet for each test that ended, and says at first how many there will be.
// The tests' own reports (--progress-report-url) come before a test has its result, and in
// Kubernetes 1.34 so with none.
const (
	bullet      = "•"
	failed      = "• [FAILED]"
	headSize    = 64 << 10
	chunkOfALog = 1 << 20
)

// announced is how many of all tests were chosen.
var announced = regexp.MustCompile(`Will run (\d+) of \d+ specs`)

// follower reads a log that grows.
type follower struct {
	mu   sync.Mutex
	path string
	at   int64
	now  Progress
	head []byte
	// rest is the end of what was read, in which the beginning of a word may be.
	rest []byte
}

// progress reads what is new. A log that is not there yet has nothing.
func (f *follower) progress() (Progress, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.now, nil
	}
	if err != nil {
		return f.now, err
	}
	defer log.Close()
	chunk := make([]byte, chunkOfALog)
	for {
		n, err := log.ReadAt(chunk, f.at)
		f.at += int64(n)
		f.take(chunk[:n])
		if errors.Is(err, io.EOF) {
			return f.now, nil
		}
		if err != nil {
			return f.now, err
		}
	}
}

func (f *follower) take(more []byte) {
	if f.now.Total == 0 {
		f.head = append(f.head, more[:min(len(more), headSize-len(f.head))]...)
		if found := announced.FindSubmatch(f.head); found != nil {
			f.now.Total, _ = strconv.Atoi(string(found[1])) // digits
		}
	}
	text := slices.Concat(f.rest, more)
	f.now.Ended += bytes.Count(text, []byte(bullet)) - bytes.Count(f.rest, []byte(bullet))
	f.now.Failed += bytes.Count(text, []byte(failed)) - bytes.Count(f.rest, []byte(failed))
	f.rest = text[max(0, len(text)-len(failed)):]
}

// serveResults adds what a pod with Kubernetes' tests answers.
func (s Server) serveResults(mux *http.ServeMux) {
	log := &follower{path: filepath.Join(s.Results, FileLog)}
	mux.HandleFunc("GET "+PathProgress, func(w http.ResponseWriter, r *http.Request) {
		if !s.allows(w, r) {
			return
		}
		now, err := log.progress()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(now) // whoever does not get it asks again
	})
	mux.HandleFunc("GET "+PathResult, func(w http.ResponseWriter, r *http.Request) {
		name := r.FormValue("of")
		switch {
		case !s.allows(w, r):
		case name != FileLog && name != FileJUnit:
			http.NotFound(w, r)
		default:
			http.ServeFile(w, r, filepath.Join(s.Results, name))
		}
	})
}
