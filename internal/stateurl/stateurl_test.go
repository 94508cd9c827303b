package stateurl_test

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/stateurl"
)

func TestURLsOfHTTPServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://gitlab.example.org/api/v4/projects/12/terraform/state/prod": "",
		"http://127.0.0.1:8080/state":                                        "",
		"http://localhost/state":                                             "",
		"http://gitlab.example.org/state":                                    "the login and the state would cross the network in the clear",
		"https://u:p@gitlab.example.org/s":                                   "the URL contains a login, which does not belong in this file",
		"https://gitlab.example.org/":                                        "the URL has no path",
		"https://":                                                           "this is not a URL",
	} {
		if cause, remedy := stateurl.CheckHTTP(text); cause != want || (remedy == "") != (want == "") || !stateurl.IsHTTP(text) {
			t.Errorf("%s: %q, %q", text, cause, remedy)
		}
	}
	if stateurl.IsHTTP("s3://bucket/https://") || stateurl.IsHTTP("file://./.slipway") {
		t.Error("other places are taken for HTTP servers")
	}
}
