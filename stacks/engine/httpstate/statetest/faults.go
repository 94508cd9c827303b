package statetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

func readAll(r *http.Request) []byte {
	text, _ := io.ReadAll(r.Body)
	return text
}

// isLock reports whether a request takes a lock.
func isLock(r *http.Request) bool {
	return r.Method == "LOCK" || r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/lock")
}

// isWrite reports whether a request writes the document.
func isWrite(r *http.Request) bool {
	return r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/lock")
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		connection.Close()
	}
}

// CutWrites loses the answers to the first writes: done says whether the server performs them.
func CutWrites(times int, done bool) Fault { return cutting(isWrite, times, done) }

// CutLocks loses the answers for the first locks, which the server has granted.
func CutLocks(times int) Fault { return cutting(isLock, times, true) }

func cutting(which func(*http.Request) bool, times int, done bool) Fault {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) bool {
		mu.Lock()
		defer mu.Unlock()
		if !which(r) || times == 0 {
			return false
		}
		times--
		if done {
			serve(httptest.NewRecorder())
		}
		cut(w)
		return true
	}
}

// Lie grants the lock to everybody.
func Lie() Fault {
	return func(w http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) bool { return isLock(r) }
}

// AfterWrites calls do before write number n.
func AfterWrites(n int, do func()) Fault {
	var mu sync.Mutex
	return func(_ http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) bool {
		mu.Lock()
		defer mu.Unlock()
		if isWrite(r) {
			if n--; n == 0 {
				do()
			}
		}
		return false
	}
}

// Answer answers everything with one status.
func Answer(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) bool {
		http.Error(w, http.StatusText(status), status)
		return true
	}
}
