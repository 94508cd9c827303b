package console_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/event"
)

// TestTheCloudAway: there is a banner with the cause and the fix, and the page lives; what was
// known before stays, with its age.
func TestTheCloudAway(t *testing.T) {
	t.Parallel()
	sources := consoletest.New(consoletest.World{Err: consoletest.Away()})
	b := enter(t, sources)
	for path, status := range map[string]int{"/": 200, "/up": 200, "/environment": 200, "/clusters": 200, "/causes": 200, "/backups": 200, "/plan": 200, "/capacity": 200, "/certificates": 200, "/log": 200, "/clusters/a/b": 200} {
		got, body := b.get(t, path)
		if got != status || !strings.Contains(body, "connection refused") || !strings.Contains(body, "Fix: check auth_url in clouds.yaml") || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, `aria-label="Pages"`) {
			t.Errorf("%s: %d\n%.6000s", path, got, body)
		}
	}
	sources.Change(func(w *consoletest.World) { *w = consoletest.Whole() })
	token := again(t, b, "/clusters", "k8s-3")
	sources.Change(func(w *consoletest.World) { w.Err = consoletest.Away() })
	body := again2(t, b, token, "/clusters", "connection refused")
	if !strings.Contains(body, "k8s-3") || !strings.Contains(body, "What you see is of") {
		t.Errorf("what was known is gone:\n%.6000s", body)
	}
}

// again presses "Read again" until a page has a text, and returns the token of its form.
func again(t *testing.T, b *browser, path, want string) string {
	t.Helper()
	_, body := b.get(t, path)
	token := tokenIn.FindStringSubmatch(body)[1]
	again2(t, b, token, path, want)
	return token
}

func again2(t *testing.T, b *browser, token, path, want string) (body string) {
	t.Helper()
	response, err := b.PostForm(b.base+"/again", map[string][]string{"csrf": {token}, "page": {path}})
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return await(t, b, path, want)
}

// await gets a page until it has a text.
func await(t *testing.T, b *browser, path, want string) (body string) {
	t.Helper()
	for range 400 {
		if _, body = b.get(t, path); strings.Contains(body, want) {
			return body
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never had %q:\n%.6000s", path, want, body)
	return body
}

// TestASlowCloud: the first page comes at once and says that it waits, and loads itself again
// without JavaScript; a source that panics is a cause like others.
func TestASlowCloud(t *testing.T) {
	t.Parallel()
	slow := consoletest.Whole()
	slow.Delay = time.Minute
	b := enter(t, consoletest.New(slow))
	for _, path := range []string{"/environment", "/clusters", "/causes", "/backups", "/plan", "/capacity", "/certificates", "/log", "/up"} {
		began := time.Now()
		status, body := b.get(t, path)
		if took := time.Since(began); status != http.StatusOK || took > 5*time.Second || !strings.Contains(body, "Asking for the first time") || !strings.Contains(body, `<noscript><meta http-equiv="refresh"`) {
			t.Errorf("%s: %d after %s\n%.5000s", path, status, took, body)
		}
	}
	b = enter(t, panicking{consoletest.New(consoletest.Whole())})
	if status, body := b.get(t, "/causes"); status != http.StatusOK || !strings.Contains(body, "reading failed: no such luck") {
		t.Errorf("%d\n%.6000s", status, body)
	}
}

// TestNothingYet: each page says what to do when there is nothing.
func TestNothingYet(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.World{}))
	for path, want := range map[string]string{"/": "no workload clusters yet", "/up": "Nothing has run yet", "/environment": "There is nothing yet", "/clusters": "slipway cluster create NAME",
		"/causes": "No cause found", "/backups": "No backup is stored", "/certificates": "no certificates yet", "/plan": "Nothing would change", "/capacity": "No quota is known", "/log": "No command has changed"} {
		if _, body := b.get(t, path); !strings.Contains(body, want) {
			t.Errorf("%s has no %q\n%.6000s", path, want, body)
		}
	}
}

// TestWhatIsToComeIsNoFault: there is a note, and no alarm.
func TestWhatIsToComeIsNoFault(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.World{Err: console.NotYet{Err: consoletest.Away()}}))
	if status, body := b.get(t, "/clusters"); status != http.StatusOK || !strings.Contains(body, "Nothing is known of the clusters yet.") || !strings.Contains(body, "Next: check auth_url") || strings.Contains(body, "Could not read") {
		t.Errorf("%d\n%.6000s", status, body)
	}
}

// mostOfAPage is how large a page with all that it loads may be, mostOfTheProcessor how much of
// the processor 95 of 100 pages may take, server and client together.
const (
	mostOfAPage        = 300_000
	mostOfTheProcessor = 100 * time.Millisecond
)

// TestAThousandClusters: pages stay small and quick. Wall time would measure what else the
// machine does; for the same reason no other test runs beside this one. Those that need help
// come first.
func TestAThousandClusters(t *testing.T) { //nolint:paralleltest // see above
	b := enter(t, consoletest.New(consoletest.Large()))
	body := lasting(t, b, "/clusters", 100)
	if !strings.Contains(body, "990 of 1000") || !strings.Contains(body, "Page 1 of 10") || strings.Index(body, "k8s-705") > strings.Index(body, ">k8s-0<") {
		t.Errorf("%.3000s", body)
	}
	if _, last := b.get(t, "/clusters?page=99"); !strings.Contains(last, "Page 10 of 10") || !strings.Contains(last, ">k8s-999<") {
		t.Errorf("the last page:\n%.3000s", last)
	}
	if _, unwell := b.get(t, "/clusters?only=unwell&page=-3"); strings.Count(unwell, "<tr><th scope=\"row\"") != 10 {
		t.Errorf("those that are not well:\n%.3000s", unwell)
	}
	for path, want := range map[string]string{"/": "990 <small>of 1000 ready", "/up": "Watch again", "/environment": "And 1700 more", "/clusters/magnum-00000700/k8s-700": "And 950 more", "/causes": "And 950 more", "/backups": "And 900 more",
		"/plan": "at most 4 of 5", "/capacity": "2 missing", "/certificates": "Page 1 of 60", "/certificates?page=60": "Page 60 of 60", "/log": "slipway up", "/log/" + consoletest.RunFailed: "exit code 4"} {
		if body := lasting(t, b, path, 20); !strings.Contains(body, want) {
			t.Errorf("%s has no %q:\n%.3000s", path, want, body)
		}
	}
}

// lasting gets a page so many times, and returns it; it fails if it is too large or takes too
// long.
func lasting(t *testing.T, b *browser, path string, times int) string {
	t.Helper()
	_, body := b.get(t, path)
	total := len(body)
	for _, link := range linked.FindAllStringSubmatch(body, -1) {
		if strings.HasPrefix(link[1], "/assets/") {
			_, asset := b.get(t, link[1])
			total += len(asset)
		}
	}
	var took, wall []time.Duration
	for range times {
		began, used := time.Now(), processor(t)
		b.get(t, path)
		took, wall = append(took, processor(t)-used), append(wall, time.Since(began))
	}
	slices.Sort(took)
	slices.Sort(wall)
	half, most := times/2-1, times*95/100-1
	t.Logf("%s: %d bytes of page, %d in all; of the processor half take %s, 95 %% at most %s; in time %s and %s", path, len(body), total, took[half], took[most], wall[half], wall[most])
	if total > mostOfAPage {
		t.Errorf("%s: %d bytes:\n%.3000s", path, total, body)
	}
	if took[most] > mostOfTheProcessor {
		t.Errorf("%s: 5 of 100 pages take more than %s of the processor", path, took[most])
	}
	return body
}

// processor is how long this process has used one.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// panicking panics when it is asked for causes.
type panicking struct{ *consoletest.Sources }

func (panicking) Causes(context.Context) (console.Causes, error) { panic("no such luck") }

// TestAStreamTellsWhatChanges, and only that, until the session ends.
func TestAStreamTellsWhatChanges(t *testing.T) {
	t.Parallel()
	sources := consoletest.New(consoletest.Whole())
	b := enter(t, sources)
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/up", nil)
	request.Header.Set("Accept", "text/html, text/event-stream")
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" || response.Header.Get("Vary") != "Accept" || response.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("it is %s: %v", kind, response.Header)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	message := func() (text string) {
		for lines.Scan() && lines.Text() != "" {
			text += strings.TrimPrefix(lines.Text(), "data: ") + "\n"
		}
		return text
	}
	first := message()
	if !strings.Contains(first, "0 of 3 machines") || strings.Contains(first, "<html") || strings.Contains(first, "data:") {
		t.Errorf("first it sent\n%s", first)
	}
	began := consoletest.Begin()
	sources.Change(func(w *consoletest.World) {
		w.Events = map[string][]event.Event{consoletest.RunGoing: append(consoletest.Going(began), event.Event{Time: time.Now(), Since: began, Step: "management-cluster", State: "failed", Error: "quota exceeded for cores"})}
	})
	for end := time.Now().Add(20 * time.Second); ; {
		if next := message(); strings.Contains(next, "quota exceeded for cores") {
			break
		} else if time.Now().After(end) || next == "" {
			t.Fatalf("it never told the change; last\n%s", next)
		}
	}
	_, body := b.get(t, "/log")
	if _, err := b.PostForm(b.base+"/leave", map[string][]string{"csrf": {tokenIn.FindStringSubmatch(body)[1]}}); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // it ends, or the test does not
	}
}

// TestReplays: at a time, and playing.
func TestReplays(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.Whole()))
	for query, want := range map[string]string{"&at=0": "0s</strong> after", "&at=30": "server is BUILD", "&at=-5": "0s</strong> after", "&at=99999": "1m00s</strong> after", "&at=x": "The run failed."} {
		_, body := b.get(t, "/up?run="+consoletest.RunFailed+query)
		if query == "&at=30" {
			want = "creating"
		}
		if !strings.Contains(body, want) {
			t.Errorf("%s has no %q:\n%.9000s", query, want, body)
		}
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/up?play=60&run="+consoletest.RunFailed, nil)
	request.Header.Set("Accept", "text/event-stream")
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "1m00s</strong> after the beginning") {
			return
		}
	}
	t.Error("the replay never came to its end")
}

// TestHtmxIsTheReleasedOne, byte by byte.
func TestHtmxIsTheReleasedOne(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"htmx.min.js":   "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
		"hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
		"LICENSE.htmx":  "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
	} {
		text, err := os.ReadFile("frame/assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is %x", name, sum)
		}
	}
	b := enter(t, consoletest.New(consoletest.World{}))
	_, body := b.get(t, "/")
	for _, link := range linked.FindAllStringSubmatch(body, -1) {
		if !strings.HasPrefix(link[1], "/assets/") {
			continue
		}
		response, err := http.Get(b.base + link[1]) //nolint:noctx // without a session
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Cache-Control"), "immutable") || response.Header.Get("Content-Type") == "" {
			t.Error(fmt.Sprint(link[1], response.Status, response.Header))
		}
	}
}
