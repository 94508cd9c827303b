package location_test

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/backup/location"
)

func TestParse(t *testing.T) {
	t.Parallel()
	good := map[string]location.Location{
		"file://./backups":                 {Scheme: "file", Folder: "backups"},
		"file:///var/backups/":             {Scheme: "file", Folder: "/var/backups"},
		"swift://backups":                  {Scheme: "swift", Container: "backups"},
		"swift://backups/prod/":            {Scheme: "swift", Container: "backups", Prefix: "prod"},
		"s3://b-1/a/b?region=x":            {Scheme: "s3", Container: "b-1", Prefix: "a/b", Region: "x"},
		"s3://bb?endpoint=https://s3.x:80": {Scheme: "s3", Container: "bb", Endpoint: "https://s3.x:80"},
	}
	for text, want := range good {
		if got, err := location.Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, cause := range map[string]string{
		"": "begins with", "backups": "begins with", "ftp://x": "begins with", "file://": "folder is missing", "s3:///x": "container or bucket", "swift://UP_/../x": "prefix",
		"s3://bb?region=x&colour=red": "colour", "swift://bb?region=x": "region", "s3://bb?endpoint=here": "endpoint", "s3://bb?endpoint=https://u:p@h": "endpoint", "s3://bb?pathStyle=maybe": "pathStyle",
	} {
		if _, err := location.Parse(text); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := good["file://./backups"].In("/env"); got.Folder != "/env/backups" {
		t.Errorf("%+v", got)
	}
}
