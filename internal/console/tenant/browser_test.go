package tenant_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/test/tenanttest"
)

// browser is one browser of a tenant.
type browser struct {
	*http.Client
	t    *testing.T
	base string
}

func open(t *testing.T, w *tenanttest.World) *browser {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	return &browser{&http.Client{Jar: jar}, t, w.Console}
}

// page is an answer that has been read.
type page struct {
	t      *testing.T
	status int
	at     string
	header http.Header
	text   string
}

func (b *browser) read(response *http.Response, err error) page {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{b.t, response.StatusCode, response.Request.URL.RequestURI(), response.Header, string(text)}
}

func (b *browser) get(path string) page {
	b.t.Helper()
	return b.read(b.Get(b.base + path))
}

// send posts fields, pairs of name and value, as the form of a page does: with all that is in
// it.
func (b *browser) send(p page, action string, fields ...string) page {
	b.t.Helper()
	form := p.form(action)
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.read(b.PostForm(b.base+action, form))
}

// fill opens the page of a form and sends it.
func (b *browser) fill(path string, fields ...string) page {
	b.t.Helper()
	return b.send(b.get(path).want(200), path, fields...)
}

var (
	forms     = regexp.MustCompile(`(?s)<form[^>]*method="post" action="([^"]*)".*?</form>`)
	inputs    = regexp.MustCompile(`<input[^>]*name="([^"]*)"[^>]*>`)
	valueOf   = regexp.MustCompile(` value="([^"]*)"`)
	areas     = regexp.MustCompile(`(?s)<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>`)
	selects   = regexp.MustCompile(`(?s)<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>`)
	chosen    = regexp.MustCompile(`<option value="([^"]*)" selected>`)
	inlined   = regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>\s*[^<\s]|<style|\sstyle=|\son[a-z]+=|javascript:`)
	errorText = regexp.MustCompile(`id="e-([a-z_]+)"><bdi>(.+?)</bdi>`)
)

// form is what a browser would send of a form if nobody touched it.
func (p page) form(action string) url.Values {
	p.t.Helper()
	for _, match := range forms.FindAllStringSubmatch(p.text, -1) {
		if html.UnescapeString(match[1]) != action {
			continue
		}
		values := url.Values{}
		for _, input := range inputs.FindAllStringSubmatch(match[0], -1) {
			value := ""
			if found := valueOf.FindStringSubmatch(input[0]); found != nil {
				value = html.UnescapeString(found[1])
			}
			values.Add(input[1], value)
		}
		for _, area := range areas.FindAllStringSubmatch(match[0], -1) {
			values.Set(area[1], html.UnescapeString(area[2]))
		}
		for _, one := range selects.FindAllStringSubmatch(match[0], -1) {
			if found := chosen.FindStringSubmatch(one[2]); found != nil {
				values.Set(one[1], html.UnescapeString(found[1]))
			}
		}
		return values
	}
	p.t.Fatalf("%s has no form for %s:\n%s", p.at, action, p.text)
	return nil
}

// want ends the test unless the page has this status and these texts.
func (p page) want(status int, texts ...string) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: %d, want %d\n%s", p.at, p.status, status, p.text)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Fatalf("%s has no %q:\n%s", p.at, text, p.text)
		}
	}
	return p
}

// wrong ends the test unless a field has this mistake.
func (p page) wrong(field, says string) page {
	p.t.Helper()
	for _, match := range errorText.FindAllStringSubmatch(p.text, -1) {
		if match[1] == field && strings.Contains(html.UnescapeString(match[2]), says) {
			return p
		}
	}
	p.t.Fatalf("%s does not say %q at %s:\n%s", p.at, says, field, p.text)
	return p
}

// enter signs in by password.
func (b *browser) enter(user, project string) *browser {
	b.t.Helper()
	p := b.send(b.get("/enter").want(200), "/enter", "how", "password", "user", user, "password", tenanttest.Password, "project", project)
	if p.status != http.StatusOK || p.at != "/clusters" {
		b.t.Fatalf("signing in: %d at %s\n%s", p.status, p.at, p.text)
	}
	return b
}

func (p page) url(b *browser) *url.URL {
	u, err := url.Parse(b.base + p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}
