package helm

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

func testChart(text string) *chart.Chart {
	return &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "test", Version: "1.0.0"},
		Templates: []*chart.File{{Name: "templates/map.yaml", Data: []byte(text)}}}
}

const configMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {key: {{ .Values.key | quote }}}
`

func TestSame(t *testing.T) {
	t.Parallel()
	deployed := &release.Release{Info: &release.Info{Status: release.StatusDeployed}, Chart: testChart("a"), Config: map[string]any{"n": 1.0, "m": map[string]any{"a": "b"}}}
	failed := &release.Release{Info: &release.Info{Status: release.StatusFailed}, Chart: testChart("a")}
	for name, test := range map[string]struct {
		last *release.Release
		want Wanted
		same bool
	}{
		"equal":               {deployed, Wanted{Chart: testChart("a"), Values: map[string]any{"m": map[string]any{"a": "b"}, "n": 1}}, true},
		"another value":       {deployed, Wanted{Chart: testChart("a"), Values: map[string]any{"m": map[string]any{"a": "c"}, "n": 1}}, false},
		"another template":    {deployed, Wanted{Chart: testChart("b"), Values: map[string]any{"m": map[string]any{"a": "b"}, "n": 1}}, false},
		"the last one failed": {failed, Wanted{Chart: testChart("a")}, false},
	} {
		if got := same(test.last, test.want); got != test.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	config, schemas := rest.CopyConfig(server.Config), atomic.Int64{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/openapi") {
				schemas.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	client, err := New(config, "ours", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	ensure := func(value string, revision int, changed bool) {
		t.Helper()
		r, did, err := client.Ensure(t.Context(), Wanted{Name: "test", Chart: testChart(configMap), Values: map[string]any{"key": value}})
		if err != nil {
			t.Fatal(err)
		}
		if did != changed || r.Version != revision {
			t.Errorf("%s: changed %t, revision %d; want %t, %d", value, did, r.Version, changed, revision)
		}
		m, err := typed.CoreV1().ConfigMaps("ours").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil || m.Data["key"] != value {
			t.Errorf("the object is %v, %v; want %s", m.Data, err, value)
		}
	}
	ensure("a", 1, true)
	ensure("a", 1, false)
	ensure("b", 2, true)
	// Somebody was killed in the middle of an upgrade.
	last, err := client.Last("test")
	if err != nil {
		t.Fatal(err)
	}
	last.Version, last.Info.Status = 3, release.StatusPendingUpgrade
	if err := client.config.Releases.Create(last); err != nil {
		t.Fatal(err)
	}
	ensure("c", 5, true) // 4 is the rollback
	if there, err := client.Uninstall("test", 0); err != nil || !there {
		t.Errorf("uninstalled: %t, %v", there, err)
	}
	if there, err := client.Uninstall("test", 0); err != nil || there {
		t.Errorf("uninstalled what is not there: %t, %v", there, err)
	}
	// Somebody was killed in the middle of the first installation.
	last.Version, last.Info.Status = 1, release.StatusPendingInstall
	if err := client.config.Releases.Create(last); err != nil {
		t.Fatal(err)
	}
	ensure("d", 1, true)
	if n := schemas.Load(); n > 0 {
		t.Errorf("Helm asked %d times for schemas, which it does not use", n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWhatAFailedUpgradeMadeStays if the next one continues it: objects that were changed before
// the failure refer to it by then.
func TestWhatAFailedUpgradeMadeStays(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	client, err := New(server.Config, "ours", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	const object, refused = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-%s}\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}_refused}\n"
	one, two := fmt.Sprintf(object, "one"), fmt.Sprintf(object, "two")
	for name, resume := range map[string]bool{"undone": false, "resumed": true} {
		wanted := Wanted{Name: name, Chart: testChart(one), Resume: resume}
		if _, _, err := client.Ensure(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
		wanted.Chart = testChart(one + two + refused)
		if _, _, err := client.Ensure(t.Context(), wanted); err == nil {
			t.Fatalf("%s: an object without a valid name was made", name)
		}
		_, err := typed.CoreV1().ConfigMaps("ours").Get(t.Context(), name+"-two", metav1.GetOptions{})
		if stays := err == nil; stays != resume || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%s: what the failed upgrade made stays: %t, %v", name, stays, err)
		}
		wanted.Chart = testChart(one + two)
		if r, _, err := client.Ensure(t.Context(), wanted); err != nil || r.Info.Status != release.StatusDeployed {
			t.Errorf("%s: the next upgrade: %v", name, err)
		}
	}
}

// TestResume: what an interrupted change made stays as it is until the next one.
func TestResume(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	client, err := New(server.Config, "ours", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	wanted := Wanted{Name: "test", Chart: testChart(configMap), Values: map[string]any{"key": "a"}, Resume: true}
	for revision, status := range map[int]release.Status{1: release.StatusPendingInstall, 2: release.StatusPendingUpgrade, 3: release.StatusUninstalling} {
		last, _, err := client.Ensure(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		before, err := typed.CoreV1().ConfigMaps("ours").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last.Info.Status = status
		if err := client.config.Releases.Update(last); err != nil {
			t.Fatal(err)
		}
		r, changed, err := client.Ensure(t.Context(), wanted)
		if err != nil || !changed || r.Info.Status != release.StatusDeployed {
			t.Fatalf("%d, %s: changed %t, %v", revision, status, changed, err)
		}
		after, err := typed.CoreV1().ConfigMaps("ours").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil || after.UID != before.UID {
			t.Errorf("%s: the object was made anew: %v", status, err)
		}
	}
}
