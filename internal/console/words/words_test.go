package words

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func load(t *testing.T, files map[string]string) *Languages {
	t.Helper()
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	all, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFormsOfWords are those of the language, by the number that it names.
func TestFormsOfWords(t *testing.T) {
	t.Parallel()
	all := load(t, map[string]string{
		"en.json": `{"name": "English", "messages": {"%d machines": {"one": "%d machine", "other": "%d machines"}}}`,
		"de.json": `{"name": "Deutsch", "messages": {"%d machines": {"one": "%d Maschine", "other": "%d Maschinen"}, "%d of %d machines": {"number": "2", "one": "%d von %d Maschine", "other": "%d von %d Maschinen"},
			"All %s of %s": "In %[2]s alle %[1]s", "%s of memory": "%s Speicher"}}`,
		"pl.json": `{"name": "polski", "messages": {"%d machines": {"one": "%d maszyna", "few": "%d maszyny", "many": "%d maszyn", "other": "%d maszyny"}}}`,
	})
	machines := func(n int) Text { return T("%d machines", n) }
	for _, test := range []struct {
		text     Text
		tag, say string
	}{
		{machines(0), "en", "0 machines"}, {machines(1), "en", "1 machine"}, {machines(1000), "en", "1000 machines"},
		{machines(0), "de", "0 Maschinen"}, {machines(1), "de", "1 Maschine"}, {machines(-1), "de", "-1 Maschine"},
		{machines(1), "pl", "1 maszyna"}, {machines(3), "pl", "3 maszyny"}, {machines(5), "pl", "5 maszyn"}, {machines(22), "pl", "22 maszyny"}, {machines(112), "pl", "112 maszyn"},
		{T("%d of %d machines", 2, 1), "de", "2 von 1 Maschine"}, {T("%d of %d machines", 1, 2), "de", "1 von 2 Maschinen"},
		{T("All %s of %s", machines(2), "shop"), "de", "In shop alle 2 Maschinen"}, {T("All %s of %s", machines(1), "shop"), "en", "All 1 machine of shop"},
		{T("%s of memory", Bytes(310<<20)), "de", "310,0 MiB Speicher"}, {T("%s of memory", Bytes(310<<20)), "en", "310.0 MiB of memory"}, {Bytes(5000 << 40), "de", "5000,0 TiB"}, {Bytes(7), "pl", "7 B"},
		{T("nobody has this"), "de", "nobody has this"}, {Said("100 %"), "de", "100 %"}, {List("; ", nil, Said("a"), machines(1)), "de", "a; 1 Maschine"},
	} {
		if got := test.text.In(all.Find(test.tag)); got != test.say {
			t.Errorf("%s: %q, want %q", test.tag, got, test.say)
		}
	}
	if Said("") != nil || List(", ") != nil || English(nil) != "" || English(T("on %s", "x")) != "on x" {
		t.Error("nothing is something")
	}
}

// TestArgumentsAreEscaped in messages of templates, and tags of the messages are not.
func TestArgumentsAreEscaped(t *testing.T) {
	t.Parallel()
	all := load(t, map[string]string{"de.json": `{"name": "Deutsch", "messages": {"by <bdi>%s</bdi> at %s": "am %[2]s von <bdi>%[1]s</bdi>"}}`})
	evil := `</bdi><script>"'&`
	for _, arg := range []any{evil, Said(evil), T("%s", evil), []string{evil}} {
		got := all.Find("de").HTML("by <bdi>%s</bdi> at %s", arg, template.HTML("<time>7</time>"))
		if strings.Contains(string(got), "<script>") || strings.Count(string(got), "<") != 4 || !strings.HasPrefix(string(got), "am <time>7</time> von <bdi>") || !strings.Contains(string(got), "&lt;script&gt;&#34;&#39;&amp;") {
			t.Errorf("%T: %s", arg, got)
		}
	}
}

// TestTheLanguageOfARequest: the choice, else what the browser asks for, else English.
func TestTheLanguageOfARequest(t *testing.T) {
	t.Parallel()
	all := load(t, map[string]string{"de.json": `{"name": "Deutsch", "messages": {}}`, "pt-BR.json": `{"name": "português", "messages": {}}`})
	for _, test := range []struct{ accept, chosen, want string }{
		{"", "", "en"}, {"de", "", "de"}, {"de-AT,en;q=0.5", "", "de"}, {"en-GB,de;q=0.9", "", "en"}, {"fr,de;q=0.8,en;q=0.7", "", "de"}, {"fr", "", "en"}, {"pt", "", "pt-BR"},
		{"*", "", "en"}, {";;;", "", "en"}, {strings.Repeat("de,", 5000), "", "en"}, {"de", "en", "en"}, {"", "de", "de"}, {"de", "xx", "de"}, {"", "<script>", "en"}, {"de;q=0", "", "en"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", test.accept)
		if test.chosen != "" {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: test.chosen})
		}
		if got := all.Of(r).Tag.String(); got != test.want {
			t.Errorf("%.40q with the choice %q: %s, want %s", test.accept, test.chosen, got, test.want)
		}
	}
	answer := httptest.NewRecorder()
	Keep(answer, all.Find("de"), true)
	cookie := answer.Result().Cookies()[0]
	if cookie.Value != "de" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.MaxAge < 3600 {
		t.Errorf("the choice is kept as %+v", cookie)
	}
}

// TestAFileThatIsWrongIsRefused, and says why.
func TestAFileThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"name": "x"`: "unexpected", `{"messages": {}}`: "no name", `{"name": "x", "mesages": {}}`: "unknown field", `{"name": "x", "messages": {"a": 1}}`: "neither a text", `{"name": "x", "messages": {"a": {"one": "b"}}}`: `"other" is missing`,
		`{"name": "x", "messages": {"a": {"some": "b", "other": "c"}}}`: "no form of a word", `{"name": "x", "messages": {"a": {"number": "first", "other": "c"}}}`: "place of an argument",
	} {
		if _, err := Load(fstest.MapFS{"fr.json": &fstest.MapFile{Data: []byte(text)}}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "fr.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Load(fstest.MapFS{"nonsense-language.json": &fstest.MapFile{Data: []byte(`{"name": "x", "messages": {}}`)}}); err == nil || !strings.Contains(err.Error(), "no language tag") {
		t.Error(err)
	}
}
