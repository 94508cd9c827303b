package console_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
)

// browser is a client that has entered a console.
type browser struct {
	*http.Client
	base   string
	server *console.Server
	links  chan string
}

// enter serves a console and signs in.
func enter(t *testing.T, sources console.Sources) *browser {
	t.Helper()
	b := serve(t, sources, nil)
	if status, body := b.get(t, b.server.Link()); status != http.StatusOK || !strings.Contains(body, "<h1>Overview</h1>") {
		t.Fatalf("entering: %d\n%s", status, body)
	}
	return b
}

// serve serves a console in languages; nil are the program's own.
func serve(t *testing.T, sources console.Sources, languages *words.Languages) *browser {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(nil)
	links := make(chan string, 1)
	handler, err := console.New(ctx, console.Options{Sources: sources, Environment: "prod", Flags: []string{"--env", "prod"}, Address: server.Listener.Addr(), Languages: languages, Link: func(path string) { links <- path }})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(func() { cancel(); server.Close() })
	jar, _ := cookiejar.New(nil)
	return &browser{&http.Client{Jar: jar}, server.URL, handler, links}
}

func (b *browser) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := b.Get(b.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// paths are all pages of a whole world.
func paths() []string {
	return []string{"/", "/up", "/up?run=" + consoletest.RunFailed, "/up?run=" + consoletest.RunFailed + "&at=10", "/environment", "/clusters", "/clusters?q=k8s-1&only=unwell", "/clusters?q=nobody",
		"/clusters/magnum-00000001/k8s-1", "/causes", "/backups", "/plan", "/capacity", "/certificates", "/certificates?only=unwell", "/certificates?q=nobody+has+it", "/log", "/log/" + consoletest.RunFailed, "/log/" + consoletest.RunGoing}
}

// wants are texts that pages must have, in the order of what people look for.
func wants() map[string][]string {
	return map[string][]string{
		"/": {"Not all is well", "3 <small>of 4 ready", "No valid host was found", "4 of 6 steps have ended", "slipway status --env prod", "slipway cluster list --env prod", "slipway log --env prod", "slipway backup list --env prod"},
		"/up": {"management-cluster", "0 of 3 machines", "waits for this", "last time 6m20s", "310.0 MiB of 720.0 MiB", "About ", "What came after what", "after <bdi>k3s, node-image</bdi>", `<path class="edge"`, "a backup was made", "slipway log " + consoletest.RunGoing + " --env prod",
			`hx-sse:connect="/up"`},
		"/up?run=" + consoletest.RunFailed:            {"The run failed.", "server prod-seed: No valid host was found", "Watch again", ">Play it</a>", "Where it ended"},
		"/up?run=" + consoletest.RunFailed + "&at=10": {"replay", "seed-image", "10s</strong> after the beginning", "Back to the end"},
		"/environment":                    {"PENDING_UPDATE", "capo-system/capo-controller-manager", "l2", "slipway status --wide --env prod"},
		"/clusters":                       {"3 of 4", "k8s-1", "team-3", "Only those that are not well"},
		"/clusters?q=k8s-1&only=unwell":   {"1</strong> found", `value="k8s-1"`, " checked"},
		"/clusters?q=nobody":              {"No cluster fits", "Show all 4"},
		"/clusters/magnum-00000001/k8s-1": {"no-valid-host", "choose a smaller flavor", "slipway why k8s-1 --namespace magnum-00000001 --env prod", "slipway cluster describe k8s-1 --namespace magnum-00000001 --env prod", "WaitingForInfrastructure"},
		"/causes":                         {"server k8s-1-w2", "Cluster k8s-1</bdi> → <bdi>Machine", "Not seen", "the cloud gives none", "slipway why --env prod", `href="/clusters/magnum-00000001/k8s-1"`},
		"/backups":                        {"made every 60m", "overdue", "its signature is not of a known writer", "3.0 MiB", "slipway backup drill --env prod"},
		"/plan":                           {"No plan is read beside a run.", "slipway up --yes=true", "slipway plan --env prod", `href="/up?run=` + consoletest.RunGoing},
		"/capacity":                       {"2 missing", "nearly used up", "no limit", "m1.medium", "it needs 4, but only 2 of 20 are free", "Fix: ask the cloud", "slipway preflight --env prod"},
		"/certificates":                   {"2 of 4</strong> last for more than 21 days", "ended 2d ago", "ends soon", "k3s when it starts, from", "API server of magnum-00000002/k8s-2", "no answer within 10s", "slipway certs --env prod", "slipway certs renew CLUSTER --env prod"},
		"/certificates?only=unwell":       {"2</strong> found", " checked", "Secret k8s-1-hook"},
		"/certificates?q=nobody+has+it":   {"No certificate fits", "Show all 4"},
		"/log":                            {"ada@laptop", "succeeded", "running", "server prod-seed"},
		"/log/" + consoletest.RunFailed:   {"exit code 4", "sha256:0000", "network: created", "slipway log " + consoletest.RunFailed},
		"/log/" + consoletest.RunGoing:    {"at work", "so far"},
	}
}

func TestPagesShowWhatIsKnownWithItsCommand(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.Whole()))
	for _, path := range paths() {
		status, body := b.get(t, path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, want := range wants()[path] {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %q:\n%.9000s", path, want, body[strings.Index(body, "<main"):])
			}
		}
	}
	for _, path := range []string{"/nowhere", "/up?run=none", "/log/none", "/clusters/a/b", "/assets/none.js"} {
		if status, _ := b.get(t, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestAFileOfEventsHasItsCommand, which is not one of the log.
func TestAFileOfEventsHasItsCommand(t *testing.T) {
	t.Parallel()
	world := consoletest.World{Runs: []console.Run{{ID: "events-file", Command: "events of my file.jsonl", Outcome: console.OutcomeEvents, EventFile: "runs/my file.jsonl"}}, Events: map[string][]event.Event{"events-file": consoletest.Failed(consoletest.Begin())}}
	b := enter(t, consoletest.New(world))
	for path, times := range map[string]int{"/up": 2, "/up?run=events-file&at=3": 2, "/log/events-file": 2, "/": 1} { // the page, and watching again
		_, body := b.get(t, path)
		if n := strings.Count(body, "slipway console serve --events &#39;runs/my file.jsonl&#39; --env prod"); n != times || strings.Contains(body, "slipway log events-file") {
			t.Errorf("%s has its command %d times:\n%s", path, n, body)
		}
	}
}

var (
	inline  = regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>\s*[^<\s]|<style|\sstyle=|\son[a-z]+=|javascript:`)
	linked  = regexp.MustCompile(`(?:href|src|action|hx-sse:connect)="([^"]*)"`)
	posting = regexp.MustCompile(`(?s)<form[^>]*method="post".*?</form>`)
	tokenIn = regexp.MustCompile(`name="csrf" value="([^"]{20,})"`)
	turning = regexp.MustCompile(`[\x{202A}-\x{202E}\x{2066}-\x{2069}\x{200E}\x{200F}\x00]`)
)

// TestPagesKeepTheirOwnRules: nothing inline, nothing from elsewhere, a token in each form.
func TestPagesKeepTheirOwnRules(t *testing.T) {
	t.Parallel()
	for name, world := range map[string]consoletest.World{"whole": consoletest.Whole(), "hostile": consoletest.Hostile(consoletest.Whole(), `"><script>alert(1)</script><img src=x onerror=alert(1)>' style=x`)} {
		b := enter(t, consoletest.New(world))
		for _, path := range paths() {
			_, body := b.get(t, path)
			if found := inline.FindString(body); found != "" && name == "whole" {
				t.Errorf("%s %s has %q", name, path, found)
			}
			for _, link := range linked.FindAllStringSubmatch(body, -1) {
				if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], "#") || strings.HasPrefix(link[1], "//") {
					t.Errorf("%s %s leads to %q", name, path, link[1])
				}
			}
			for _, form := range posting.FindAllString(body, -1) {
				if !tokenIn.MatchString(form) {
					t.Errorf("%s %s has a form without a token: %s", name, path, form)
				}
			}
		}
	}
}

// TestHostileTextIsShownAsText in every field of everything.
func TestHostileTextIsShownAsText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a script": `</bdi><script>alert(1)</script>`, "an attribute": `" onmouseover="alert(1)`, "a link": `javascript:alert(1)`,
		"right to left": "\u202Eexe.\u2066gpj\u200F", "a control character": "a\x00\x1b[31mb", "10,000 characters": strings.Repeat("x", 10_000), "not UTF-8": "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := consoletest.Whole()
			ids := world.Runs
			world = consoletest.Hostile(world, text)
			for i, id := range []string{consoletest.RunGoing, consoletest.RunFailed, consoletest.RunFormer} {
				ids[i].ID = id
			}
			b := enter(t, consoletest.New(world))
			for _, path := range paths() {
				_, body := b.get(t, path)
				if strings.Contains(body, "<script>alert") || strings.Contains(body, `" onmouseover="`) || strings.Contains(body, `href="javascript:`) {
					t.Errorf("%s lets it out:\n%.3000s", path, body)
				}
				if found := turning.FindString(body); found != "" {
					t.Errorf("%s has %q", path, found)
				}
				if strings.Contains(linked.ReplaceAllString(body, ""), strings.Repeat("x", 2000)) || len(body) > 300_000 { // an address has to be whole
					t.Errorf("%s shows all of it, %d bytes", path, len(body))
				}
			}
		})
	}
}

// TestSigningOut ends the session, and the terminal gets the link of the next.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.Whole()))
	_, body := b.get(t, "/log")
	token := tokenIn.FindStringSubmatch(body)[1]
	post := func(path string, form url.Values) (int, string, string) {
		response, err := b.PostForm(b.base+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, response.Request.URL.RequestURI(), string(text)
	}
	for to, want := range map[string]string{"/clusters?q=a": "/clusters?q=a", "//evil.example/x": "/", "https://evil.example": "/", `/\evil.example`: "/", "": "/", "/clusters/magnum-00000001/k8s-1": "/clusters/magnum-00000001/k8s-1"} {
		if status, at, _ := post("/again", url.Values{"csrf": {token}, "page": {to}}); status != http.StatusOK || at != want {
			t.Errorf("reading again from %q: %d at %s", to, status, at)
		}
	}
	if status, _, _ := post("/leave", url.Values{}); status != http.StatusForbidden {
		t.Errorf("without a token: %d", status)
	}
	if status, _, text := post("/leave", url.Values{"csrf": {token}}); status != http.StatusOK || !strings.Contains(text, "You have signed out.") {
		t.Errorf("signing out: %d\n%s", status, text)
	}
	if status, _ := b.get(t, "/log"); status != http.StatusUnauthorized {
		t.Errorf("afterwards: %d", status)
	}
	if status, _ := b.get(t, <-b.links); status != http.StatusOK {
		t.Errorf("with the next link: %d", status)
	}
}
