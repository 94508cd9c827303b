package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestPullStoresWhatIsPinned(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(1, 300_000)
	s := newSite(t, map[string][]byte{"tool": file})
	folder, events := newFolder(t), &event.Recorder{}
	o := s.options(pinned(c, file))
	o.Sink = events
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	want := bundle.Item{Name: "tool", Kind: bundle.Binary, Version: "v1.0.0", Source: base + "/tool", License: "Apache-2.0",
		Size: int64(len(file)), SHA256: sum(file), Path: "bin/tool"}
	if got := folder.Bill().Item("tool"); got == nil || got.Name != want.Name || got.Source != want.Source || got.Kind != want.Kind ||
		got.Version != want.Version || got.License != want.License || got.Size != want.Size || got.SHA256 != want.SHA256 || got.Path != want.Path {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	if left := partialFiles(t, folder); len(left) > 0 {
		t.Errorf("partial files stay after success: %v", left)
	}
	last := events.Events()
	counted := slices.ContainsFunc(last, func(e event.Event) bool {
		return e.Done == int64(len(file)) && e.Total == int64(len(file)) && e.Unit == "bytes"
	})
	if !counted || last[len(last)-1].State != event.Done {
		t.Errorf("events do not count to the end and finish: %+v", last)
	}
}

func TestSecondPullAsksNothing(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(2, 1000)
	s := newSite(t, map[string][]byte{"tool": file})
	folder := newFolder(t)
	for range 2 {
		if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d requests for two pulls, want 1", n)
	}
}

func TestPullRepairsWhatChangedInTheFolder(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(3, 1000)
	s := newSite(t, map[string][]byte{"tool": file})
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(file)
	damaged[500] ^= 1
	if err := os.WriteFile(folder.Blob(sum(file)), damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
}

// proves: F20
func TestPullFromMirror(t *testing.T) {
	t.Parallel()
	c, ok := component.Find("k3s")
	if !ok {
		t.Fatal("the catalogue has no k3s")
	}
	from, _ := c.Upstream()
	file := noise(4, 5000)
	mirrored := "k3s/" + strings.ReplaceAll(c.Version, "+", "%2B") + "/k3s"
	s := newSite(t, map[string][]byte{mirrored: file})
	folder := newFolder(t)
	o := s.options(component.Pin{Name: "k3s", Version: c.Version, URL: from.URL, SHA256: sum(file)})
	o.Mirrors = map[string]string{
		"https://github.com": "https://wrong.invalid",
		"https://github.com/k3s-io/k3s/releases/download/": s.URL + "/k3s/",
	}
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
	if got := s.seen()[0].URL.EscapedPath(); got != "/"+mirrored {
		t.Errorf("asked the mirror for %s", got)
	}
	if got := folder.Bill().Item("k3s").Source; got != from.URL {
		t.Errorf("the bill names %s, not upstream", got)
	}
}

// proves: F19, S-24
func TestFlippedByteIsRefused(t *testing.T) {
	t.Parallel()
	good, bad := binary("good"), binary("bad")
	goodFile, badFile := noise(5, 4000), noise(6, 4000)
	flipped := slices.Clone(badFile)
	flipped[2000] ^= 0x10
	s := newSite(t, map[string][]byte{"good": goodFile, "bad": flipped})
	folder := newFolder(t)
	o := s.options(pinned(good, goodFile), pinned(bad, badFile))
	err := upstream.Pull(t.Context(), folder, []component.Component{bad, good}, o)
	wantFault(t, err, fault.ExitPartial, "bad from "+s.URL+"/bad", sum(badFile), sum(flipped))
	checkStored(t, folder, good, goodFile)
	if folder.Bill().Item("bad") != nil {
		t.Error("the bill has the refused item")
	}
	if _, err := os.Stat(folder.Blob(sum(flipped))); err == nil {
		t.Error("the refused bytes are in the folder")
	}
	if left := partialFiles(t, folder); len(left) > 0 {
		t.Errorf("refused bytes stay: %v", left)
	}
	if n := len(s.seen()); n != 2 {
		t.Errorf("%d requests: a wrong digest is no reason to ask again", n)
	}
}

func TestWrongDigestKeepsEarlierVersion(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(7, 4000)
	s := newSite(t, map[string][]byte{"tool": file})
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, file))); err != nil {
		t.Fatal(err)
	}
	next := c
	next.Version = "v1.0.1"
	err := upstream.Pull(t.Context(), folder, []component.Component{next}, s.options(pinned(next, noise(8, 4000))))
	wantFault(t, err, fault.ExitFailure, "tool from", "expected sha256:")
	checkStored(t, folder, c, file)
}

func TestAnswersThatAreNotTheFile(t *testing.T) {
	t.Parallel()
	status := func(code int) func(int, http.ResponseWriter, *http.Request) bool {
		return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			return true
		}
	}
	page := func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html>Please log in</html>"))
		return true
	}
	for name, test := range map[string]struct {
		answer   func(int, http.ResponseWriter, *http.Request) bool
		requests int
		texts    []string
	}{
		"html":         {page, 1, []string{"expected sha256:", "the server sent text/html", "proxy"}},
		"not found":    {status(404), 1, []string{"404 Not Found", "build it from source"}},
		"forbidden":    {status(403), 1, []string{"403 Forbidden", "credentials"}},
		"always fails": {status(502), 5, []string{"502 Bad Gateway", "5 attempts", "later"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := binary("tool")
			s := newSite(t, nil)
			s.before = test.answer
			folder := newFolder(t)
			err := upstream.Pull(t.Context(), folder, []component.Component{c}, s.options(pinned(c, noise(9, 100))))
			wantFault(t, err, fault.ExitFailure, append(test.texts, "tool from "+s.URL+"/tool")...)
			if n := len(s.seen()); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			if left := partialFiles(t, folder); len(left) > 0 {
				t.Errorf("files stay: %v", left)
			}
		})
	}
}

func TestEveryFailureIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"second": noise(10, 100)})
	one, two := binary("first"), binary("second")
	o := s.options(pinned(one, noise(11, 100)), pinned(two, noise(12, 100)))
	o.Jobs = 1
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{one, two}, o)
	wantFault(t, err, fault.ExitFailure, "first from", "404")
	wantFault(t, err, fault.ExitFailure, "second from", "expected sha256:")
	if n := len(fault.All(err)); n != 2 {
		t.Errorf("%d errors, want 2: %v", n, err)
	}
}

func TestUnpinnedIsNotFetched(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	c, _ := component.Find("kubelet")
	old := c
	stale := component.Pin{Name: "kubelet", Version: "v0.1.0", URL: base + "/kubelet", SHA256: sum(nil)}
	machine, _ := component.Find("node")
	for name, test := range map[string]struct {
		component component.Component
		pins      []component.Pin
		texts     []string
	}{
		"no pin":        {c, nil, []string{"kubelet from https://dl.k8s.io/", "not pinned", "bundle build --only kubelet", "bundle pin kubelet"}},
		"other version": {old, []component.Pin{stale}, []string{"v0.1.0", c.Version, "bundle pin kubelet"}},
		"no upstream":   {machine, nil, []string{"node", "not pinned", "bundle build --only node"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := upstream.Pull(t.Context(), newFolder(t), []component.Component{test.component}, s.options(test.pins...))
			wantFault(t, err, fault.ExitFailure, test.texts...)
		})
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("%d requests for what is not pinned", n)
	}
}

func TestUnpinnedMayBeBuiltFromSource(t *testing.T) {
	t.Parallel()
	c, folder := binary("tool"), newFolder(t)
	stored, err := folder.Put(t.Context(), strings.NewReader("built here"))
	if err != nil {
		t.Fatal(err)
	}
	item := bundle.Item{Name: c.Name, Kind: c.Kind, Version: c.Version, SHA256: stored.SHA256, Size: stored.Size, Path: c.Path, Recipe: "r1"}
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, upstream.Options{}); err != nil {
		t.Error(err)
	}
}

func TestCancelledPull(t *testing.T) {
	t.Parallel()
	c := binary("tool")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	s := newSite(t, nil)
	start := time.Now()
	err := upstream.Pull(ctx, newFolder(t), []component.Component{c}, s.options(pinned(c, nil)))
	if got := fault.ExitCode(err); got != fault.ExitInterrupted {
		t.Errorf("exit code %d of %v", got, err)
	}
	if n := len(s.seen()); n != 0 || time.Since(start) > 10*time.Second {
		t.Errorf("%d requests after the cancellation, %s", n, time.Since(start))
	}
}

func TestPullForOtherPlatform(t *testing.T) {
	t.Parallel()
	folder, err := bundle.Create(t.TempDir(), "linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	wantFault(t, upstream.Pull(t.Context(), folder, nil, upstream.Options{}), fault.ExitUsage, "linux/arm64", "linux/amd64")
}

func TestJobsRunSideBySide(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{})
	var mu sync.Mutex
	running, most := 0, 0
	s.before = func(int, http.ResponseWriter, *http.Request) bool {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return false
	}
	var all []component.Component
	var pins []component.Pin
	for i := range 7 {
		c, file := binary(fmt.Sprintf("tool%d", i)), noise(uint64(60+i), 100)
		s.files[c.Name] = file
		all, pins = append(all, c), append(pins, pinned(c, file))
	}
	o := s.options(pins...)
	o.Jobs = 3
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, all, o); err != nil {
		t.Fatal(err)
	}
	if most != 3 {
		t.Errorf("%d downloads at once, want 3", most)
	}
	if n := len(folder.Bill().Items); n != 7 {
		t.Errorf("%d items in the bill, want 7", n)
	}
}
