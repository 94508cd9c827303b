package console_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/words/wordstest"
)

// wanting gets a page in the language that the browser asks for.
func (b *browser) wanting(t *testing.T, language, path string) string {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+path, nil)
	r.Header.Set("Accept-Language", language)
	response, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if vary := strings.Join(response.Header.Values("Vary"), ", "); response.StatusCode == http.StatusOK && path != "/nowhere" && !strings.Contains(vary, "Accept-Language") {
		t.Errorf("%s varies by %q", path, vary)
	}
	return string(body)
}

// TestPagesInGerman: the browser asks for it, or somebody chooses it, which is kept.
func TestPagesInGerman(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.Whole()))
	for path, wants := range map[string][]string{
		"/":            {`<html lang="de">`, "<title>Übersicht · prod · Slipway</title>", "3 <small>von 4 bereit</small>", "4 von 6 Schritten beendet", "Zum Inhalt springen", "slipway status --env prod", "Nicht alles ist in Ordnung: Machine k8s-1-w2 of cluster k8s-1 is Pending: No valid host was found. Run slipway cluster describe", `lang="en" hreflang="en">English</a>`},
		"/up":          {"310,0 MiB von 720,0 MiB", "letztes Mal 6m20s", "Noch etwa ", "wartet darauf seit <time", "nach <bdi>k3s, node-image</bdi>", "0 of 3 machines"},
		"/clusters":    {`aria-label="Seiten"`, "<strong>3 von 4</strong> bereit", "Nur jene, die nicht in Ordnung sind", "No valid host was found"},
		"/capacity":    {"2 fehlen", "fast erschöpft", "keine Grenze", "Abhilfe: ask the cloud", "Fehler"},
		"/plan":        {"Während eines Laufs wird kein Plan gelesen.", "<code><bdi>slipway up --yes=true</bdi></code> von <bdi>ada@laptop</bdi> läuft gerade"},
		"/causes":      {"no-valid-host", "choose a smaller flavor", "Belege"},
		"/nowhere":     {`<html lang="de">`, "Nicht gefunden", "Eine solche Seite hat die Konsole nicht.", "Zur Übersicht"},
		"/log/" + "x":  {"Nicht lesbar: der Lauf.", "Abhilfe: listen Sie alle"},
		"/backups":     {"beschädigt", "3,0 MiB"},
		"/environment": {"Auf dem Seed", "PENDING_UPDATE"},
	} {
		body := b.wanting(t, "de-AT,de;q=0.9,en;q=0.5", path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %q:\n%.9000s", path, want, body)
			}
		}
	}
	if body := b.wanting(t, "fr", "/"); !strings.Contains(body, `<html lang="en">`) || !strings.Contains(body, `href="/language?page=%2F&amp;to=de" lang="de" hreflang="de">Deutsch</a>`) {
		t.Errorf("in English:\n%.5000s", body)
	}
	for _, choice := range [][2]string{{"/language?to=de&page=%2Fclusters%3Fq%3Dk8s", `value="k8s"`}, {"/language?to=xx&page=/log", "<h1>Protokoll</h1>"}, {"/language?to=en&page=//evil.example", "<h1>Overview</h1>"}, {"/log", "<h1>Log</h1>"}} {
		if body := b.wanting(t, "de", choice[0]); !strings.Contains(body, choice[1]) {
			t.Errorf("%s: no %s\n%.1000s", choice[0], choice[1], body)
		}
	}
}

// TestAStreamIsInTheLanguageOfItsPage.
func TestAStreamIsInTheLanguageOfItsPage(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(consoletest.Whole()))
	b.get(t, "/language?to=de&page=/")
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/clusters", nil)
	request.Header.Set("Accept", "text/event-stream")
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && lines.Text() != "" {
		if strings.Contains(lines.Text(), "Nur jene, die nicht in Ordnung sind") {
			return
		}
	}
	t.Error("it is in another language")
}

// TestEveryTextIsOfACatalog: in a language without letters, all letters are of data, whatever
// there is to show.
func TestEveryTextIsOfACatalog(t *testing.T) {
	t.Parallel()
	large := consoletest.Large()
	atRest, going := atRest(), consoletest.Whole()
	away := going
	away.Err = consoletest.Away()
	yet := consoletest.World{Err: console.NotYet{Err: consoletest.Away()}}
	slow := consoletest.World{Delay: 1 << 40}
	for name, world := range map[string]consoletest.World{"going": going, "at rest": atRest, "large": large, "empty": {}, "away": away, "not yet": yet, "slow": slow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent := wordstest.Silent(t, "../..")
			b := serve(t, consoletest.New(world), silent)
			b.get(t, b.server.Link())
			data := append(wordstest.Strings(world), "prod", consoletest.Away().Error(), "check auth_url in clouds.yaml", "list the clusters with slipway cluster list", "cluster magnum-00000001/k8s-1: it does not exist", "magnum-00000001", "k8s-1", "none", "nobody", "seed", "capo", "v0.13.0 → v0.14.2",
				"Machine k8s-1-w2 of cluster k8s-1 is Pending: No valid host was found", "Run slipway cluster describe or slipway status --wide to see the rest", "k3s, node-image")
			all := append(paths(), "/nowhere", "/up?run=none", "/log/none")
			if name == "slow" { // each page waits a little
				all = []string{"/", "/clusters"}
			}
			for _, path := range all {
				_, body := b.get(t, path)
				for _, one := range wordstest.Letters(body, data) {
					t.Errorf("%s says %q", path, one)
				}
			}
		})
	}
}
