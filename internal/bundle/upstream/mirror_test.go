package upstream

import "testing"

// TestMirrorsOfRegistries: Docker Hub has another name in references than users give it.
func TestMirrorsOfRegistries(t *testing.T) {
	t.Parallel()
	given := map[string]string{
		"docker.io":             "hub.test/all",
		"docker.io/grafana":     "hub.test/grafana",
		"docker.io/library/deb": "hub.test/deb",
		"quay.io/team/":         "quay.test",
		"docker.io.test":        "other.test",
	}
	m, err := parseMirrors(given)
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]string{
		"index.docker.io/library/alpine":  "hub.test/all/library/alpine",
		"index.docker.io/grafana/loki":    "hub.test/grafana/loki",
		"index.docker.io/grafanalabs/web": "hub.test/all/grafanalabs/web",
		"index.docker.io/library/deb":     "hub.test/deb",
		"quay.io/team/app":                "quay.test/app",
		"quay.io/teams/app":               "quay.io/teams/app",
		"docker.io.test/app":              "other.test/app",
	} {
		if got := m.image(image); got != want {
			t.Errorf("%s from %s, want %s", image, got, want)
		}
	}
}
