package localseed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/internal/vain"
)

// fake is a runtime with at most one cluster.
type fake struct {
	cluster *Cluster
	images  []string
	did     []string
	// fails are the errors of methods, by name.
	fails map[string]error
}

func (f *fake) do(what string) error {
	f.did = append(f.did, what)
	return f.fails[what]
}

func (f *fake) Find(context.Context, string) (*Cluster, error) { return f.cluster, f.fails["find"] }

func (f *fake) Create(_ context.Context, wanted Wanted, tell func(string)) error {
	tell("creating")
	f.cluster = &Cluster{Owner: wanted.Owner}
	return f.do("create")
}

func (f *fake) Finish(context.Context, string) error {
	f.cluster.Finished = true
	return f.do("finish")
}

func (f *fake) Kubeconfig(context.Context, string) (string, error) {
	return "kubeconfig", f.fails["kubeconfig"]
}

func (f *fake) HasImage(_ context.Context, ref string) (bool, error) {
	return slices.Contains(f.images, ref), nil
}

func (f *fake) LoadImage(_ context.Context, archive io.Reader) error {
	text, err := io.ReadAll(archive)
	f.images = append(f.images, string(text))
	return errors.Join(err, f.do("load"))
}

func (f *fake) Import(context.Context, string, io.Reader) error { return f.do("import") }

func (f *fake) Delete(context.Context, string) error {
	f.cluster = nil
	return f.do("delete")
}

func seedOn(t *testing.T, f *fake) Seed {
	return Seed{Settings: Settings{Name: "slipway-demo", Owner: "demo@1", Image: "node"}, Provider: f, Dir: t.TempDir(), Tell: func(string) {},
		NodeImage: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("node")), nil },
		answers:   func(context.Context, string) error { return nil }}
}

// A run can be killed at any point; the next one adopts what is complete, replaces what is
// not, and leaves alone what is another's.
func TestASeedIsBroughtWhateverIsThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fake fake
		did  string
		err  string
	}{
		"nothing":                     {fake{}, "load create finish", ""},
		"the image is there":          {fake{images: []string{"node"}}, "create finish", ""},
		"complete":                    {fake{cluster: &Cluster{"demo@1", true}}, "", ""},
		"half made":                   {fake{cluster: &Cluster{"demo@1", false}, images: []string{"node"}}, "delete create finish", ""},
		"half made, without a mark":   {fake{cluster: &Cluster{"", false}, images: []string{"node"}}, "delete create finish", ""},
		"another's":                   {fake{cluster: &Cluster{"demo@2", true}}, "", "belongs to demo@2, not to this environment (demo@1)"},
		"another's, half made":        {fake{cluster: &Cluster{"demo@2", false}}, "", "belongs to demo@2"},
		"complete, without a mark":    {fake{cluster: &Cluster{"", true}}, "", "belongs to nobody known"},
		"it cannot be made":           {fake{images: []string{"node"}, fails: map[string]error{"create": errors.New("no space")}}, "create", "no space"},
		"it cannot be found":          {fake{fails: map[string]error{"find": errors.New("no daemon")}}, "", "no daemon"},
		"what is left cannot be gone": {fake{cluster: &Cluster{"demo@1", false}, fails: map[string]error{"delete": errors.New("busy")}}, "delete", "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := test.fake
			kubeconfig, err := seedOn(t, &f).Bring(t.Context())
			if got := strings.Join(f.did, " "); got != test.did {
				t.Errorf("did %q, want %q", got, test.did)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if err == nil && (kubeconfig != "kubeconfig" || !f.cluster.Finished) {
				t.Errorf("kubeconfig %q of %+v", kubeconfig, f.cluster)
			}
		})
	}
}

func TestAHalfMadeSeedIsNotFound(t *testing.T) {
	t.Parallel()
	for _, cluster := range []*Cluster{nil, {"demo@1", false}} {
		f := &fake{cluster: cluster}
		if kubeconfig, err := seedOn(t, f).Find(t.Context()); kubeconfig != "" || err != nil || len(f.did) > 0 {
			t.Errorf("%+v: found %q, %v, did %v", cluster, kubeconfig, err, f.did)
		}
	}
}

func TestOnlyTheOwnSeedIsRemoved(t *testing.T) {
	t.Parallel()
	for owner, gone := range map[string]bool{"demo@1": true, "demo@2": false} {
		f := &fake{cluster: &Cluster{owner, true}}
		err := seedOn(t, f).Remove(t.Context())
		if (f.cluster == nil) != gone || (err == nil) != gone {
			t.Errorf("%s: gone %t, %v", owner, f.cluster == nil, err)
		}
	}
	if err := seedOn(t, &fake{}).Remove(t.Context()); err != nil {
		t.Errorf("without a seed: %v", err)
	}
}

func TestASeedThatNeverAnswersEndsWithTheContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	s := seedOn(t, &fake{cluster: &Cluster{"demo@1", true}})
	s.answers = func(context.Context, string) error { stop(stopped); return errors.New("refused") }
	if _, err := s.Bring(ctx); !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
}

// TestAForeignServerAtTheSeedsAddressEndsTheWait; a Kubernetes that starts is waited for.
func TestAForeignServerAtTheSeedsAddressEndsTheWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		ends bool
	}{
		"another authority": {fmt.Errorf("Get: %w", &tls.CertificateVerificationError{Err: errors.New("x509: certificate signed by unknown authority")}), true},
		"it starts":         {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := seedOn(t, &fake{})
				s.answers = func(context.Context, string) error { return test.err }
				begun := time.Now()
				err := s.await(t.Context(), "kubeconfig")
				took := time.Since(begun)
				if err == nil || test.ends != (took <= 45*time.Second) || took < vain.Patience || !test.ends && took < answerTime || !strings.Contains(err.Error(), test.err.Error()) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

func TestEnvironmentsOfOneNameHaveDifferentMarks(t *testing.T) {
	t.Parallel()
	marks := map[string]bool{}
	for _, cloud := range [][2]string{{"https://a", "p"}, {"https://b", "p"}, {"https://a", "q"}} {
		marks[Owner("demo", cloud[0], cloud[1])] = true
	}
	if len(marks) != 3 || Owner("demo", "https://a", "p") != Owner("demo", "https://a", "p") {
		t.Errorf("marks %v", marks)
	}
}
