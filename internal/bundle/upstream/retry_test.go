package upstream_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestTemporaryAnswersAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{408, 429, 500, 502, 503, 504} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			c, file := binary("tool"), noise(30, 100)
			s := newSite(t, map[string][]byte{"tool": file})
			s.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n < 3 {
					w.WriteHeader(code)
				}
				return n < 3
			}
			folder := newFolder(t)
			if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
				t.Fatal(err)
			}
			checkStored(t, folder, c, file)
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(31, 100)
	s := newSite(t, map[string][]byte{"tool": file})
	var first, second time.Time
	s.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 1 {
			second = time.Now()
			return false
		}
		first = time.Now()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	events := &event.Recorder{}
	o := s.options(pinned(c, file))
	o.Sink = events
	if err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	if waited := second.Sub(first); waited < time.Second {
		t.Errorf("asked again after %s, the server wanted a second", waited)
	}
	told := false
	for _, e := range events.Events() {
		told = told || (e.State == event.Waiting && strings.Contains(e.Message, "429 Too Many Requests; retrying in 1s"))
	}
	if !told {
		t.Errorf("no event says what is waited for: %+v", events.Events())
	}
}

func TestServerThatAsksForTooLongFails(t *testing.T) {
	t.Parallel()
	c := binary("tool")
	s := newSite(t, nil)
	s.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, s.options(pinned(c, nil)))
	wantFault(t, err, fault.ExitFailure, "503 Service Unavailable", "later")
}

func TestLineThatBreaksButAdvances(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(32, 9<<20)
	s := newSite(t, map[string][]byte{"tool": file})
	s.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if len(file)-startOf(r) <= 3<<20/2 {
			return false
		}
		from := startOf(r)
		if from > 0 {
			w.Header().Set("Content-Range", "bytes "+strings.TrimPrefix(r.Header.Get("Range"), "bytes=")+"9437183/9437184")
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(file[from : from+3<<20/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	if n := len(s.seen()); n < 6 {
		t.Errorf("%d requests: the test did not break the line more often than attempts are allowed", n)
	}
}

func startOf(r *http.Request) int {
	from := 0
	for _, digit := range strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-") {
		from = 10*from + int(digit-'0')
	}
	return from
}

func TestServerThatNeverGetsFurtherEnds(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(33, 10_000)
	s := newSite(t, nil)
	s.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		sendSome(w, file, 5000) // from the start, each time
		panic(http.ErrAbortHandler)
	}
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, s.options(pinned(c, file)))
	wantFault(t, err, fault.ExitFailure, "giving up after 5 attempts", "run the same command again")
}

func TestStalledServer(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(34, 10_000)
	s := newSite(t, map[string][]byte{"tool": file})
	s.before = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 2 {
			return false
		}
		if n == 2 { // this time in the middle
			sendSome(w, file, 5000)
		}
		<-r.Context().Done()
		return true
	}
	o := s.options(pinned(c, file))
	o.Stall = 100 * time.Millisecond
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	if got := rangeStart(t, s.seen()[2]); got != 5000 {
		t.Errorf("went on at %d, 5000 were there", got)
	}
}

// proves: S-24
func TestPlainHTTPIsRefused(t *testing.T) {
	t.Parallel()
	c := binary("tool")
	s := newSite(t, nil)
	s.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "http://mirror.test/tool", http.StatusFound)
		return true
	}
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, s.options(pinned(c, nil)))
	wantFault(t, err, fault.ExitFailure, "plain HTTP is refused", "HTTPS")

	o := s.options()
	o.Mirrors = map[string]string{base: "http://mirror.test"}
	wantFault(t, upstream.Pull(t.Context(), newFolder(t), nil, o), fault.ExitUsage, "mirror "+base, "plain HTTP is refused")
}

func TestUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(35, 100)
	s := newSite(t, map[string][]byte{"tool": file})
	s.Close()
	s.Server = newTLSServer(t, s)
	o := s.options(pinned(c, file))
	o.Transport = http.DefaultTransport.(*http.Transport).Clone() // does not know the test's authority
	start := time.Now()
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, o)
	wantFault(t, err, fault.ExitFailure, "certificate", "certificates are always verified")
	if time.Since(start) > 5*time.Second {
		t.Error("tried again although the certificate will not change")
	}
	if err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Errorf("with the authority known: %v", err)
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	c := binary("tool")
	s := newSite(t, nil)
	o := s.options(pinned(c, nil))
	s.Close()
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, o)
	wantFault(t, err, fault.ExitFailure, "connection refused", "--mirror")
}

func TestPasswordOfMirrorIsHidden(t *testing.T) {
	t.Parallel()
	c := binary("tool")
	s := newSite(t, nil)
	o := s.options(pinned(c, nil))
	o.Mirrors = map[string]string{base: strings.Replace(s.URL, "http://", "http://robot:hush@", 1)}
	events := &event.Recorder{}
	o.Sink = events
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, o)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
	for _, e := range events.Events() {
		if strings.Contains(e.Message+e.Error, "hush") {
			t.Errorf("event %+v", e)
		}
	}
	if _, password, _ := s.seen()[0].BasicAuth(); password != "hush" {
		t.Error("the mirror did not get the password")
	}
}

func TestSlowServerIsNotStalled(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(37, 10_000)
	s := newSite(t, nil)
	s.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		for from := 0; from < len(file); from += 1000 {
			_, _ = w.Write(file[from : from+1000])
			w.(http.Flusher).Flush()
			time.Sleep(200 * time.Millisecond)
		}
		return true
	}
	o := s.options(pinned(c, file))
	o.Stall = 1500 * time.Millisecond // less than the whole takes, more than each part
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d requests: a slow server was taken for a stalled one", n)
	}
}
